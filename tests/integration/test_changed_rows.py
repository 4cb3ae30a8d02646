"""Is nothing decided or sent by what a run says whose rows are not as they were written?"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import targets.sim
from fuzzer.cli import main, memory, opening
from fuzzer.cli.common import CommonFlags
from fuzzer.finding import Finding, FindingKind
from fuzzer.store import History, RunRecord, Store
from fuzzer.store.errors import Changed
from targets.sim.world import World
from tests.integration.recorded import QUESTION, record
from tests.integration.tampering import forged, unguarded

DIGIT = "UPDATE seals SET finding_json = replace(finding_json, '\"cap\":288', '\"cap\":298') WHERE run = ?"
ACTING = (
    *("recommend {}", "recommend {} --format json", "verify --url http://127.0.0.1:9 --from-run {} --dry-run"),
    *("replay {}:3 --dry-run", "body {}:3", "resume {}", "diff {} {other}", "diff {other} {}"),
)


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


def ctxfuzz(command: str, db: Path) -> Result:
    return CliRunner().invoke(main, [*command.split(), "--db", str(db)])


@pytest.mark.parametrize("command", ACTING)
def test_a_run_of_which_one_digit_was_changed_is_not_acted_on(db: Path, command: str) -> None:
    url = "http://127.0.0.1:9"
    other, run = record(db, url=url), record(db, ending="halted", url=url)
    with unguarded(db) as opened:
        assert opened.execute(DIGIT, (run,)).rowcount == 1
    refused = ctxfuzz(command.format(run, other=other), db)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert f"is not as it was written (run {run}: row 17: its row in seals, or its link, was changed)" in refused.stderr
    assert "`ctxfuzz audit` tells all of it" in refused.stderr


@pytest.mark.parametrize(
    "how",
    [
        "UPDATE outcomes SET observation_json = replace(observation_json, '300', '299') WHERE run = ?",
        "UPDATE probes SET body_sha256 = replace(body_sha256, '0', '1') WHERE run = ?",
        "DELETE FROM deaths WHERE run = ?",
        "UPDATE chain SET hash = replace(hash, 'a', 'b') WHERE run = ? AND position = 17",
        "UPDATE runs SET url = CAST(x'ff' AS TEXT) WHERE run = ?",
    ],
)
def test_a_change_of_any_row_is_seen_and_another_run_is_none_the_worse_for_it(db: Path, how: str) -> None:
    good, bad = record(db), record(db)
    with unguarded(db) as opened:
        opened.execute(how.replace("'a', 'b'", "substr(hash, 1, 1), 'g'"), (bad,))
    with History.open(db) as history:
        with pytest.raises(Changed, match=f"run {bad}: row"):
            history.trusted(bad)
        assert history.trusted(good).run == good
    assert ctxfuzz(f"recommend {good}", db).stdout == "--max-model-len 288\n"


def test_a_run_is_read_as_it_stands_while_another_process_adds_to_it(db: Path) -> None:
    with Store.open(db) as store, History.open(db) as history:
        run = store.begin(RunRecord("bisect", ("ctxfuzz",), "http://h", "m", "vllm", "bisect", question=QUESTION))
        for at in range(20):
            store.note(run, "more", at_s=float(at))
            assert history.trusted(run).run == run


def test_a_control_that_was_changed_is_not_gone_on_with(db: Path) -> None:
    main_run = record(db)
    with Store.open(db) as store:
        kept = {"control_of": main_run, "control": "plain"}
        asked = RunRecord("control", ("ctxfuzz",), "http://127.0.0.1:9", "m", "vllm", "probe", settings=kept)
        control = store.begin(asked)
        store.note(control, "what was noted", at_s=1.0)
    with unguarded(db) as opened:
        opened.execute("UPDATE notes SET text = 'another' WHERE run = ?", (control,))
    refused = ctxfuzz(f"resume {main_run}", db)
    assert (refused.exit_code, f"is not as it was written (run {control}: row 2" in refused.stderr) == (2, True)


@pytest.mark.anyio
async def test_a_cap_that_was_changed_is_not_what_fuzz_asks_under(db: Path) -> None:
    async with (
        targets.sim.running(World.from_dict({"limit": {"tokens": 4096}})) as sim,
        opening.opened(CommonFlags(url=sim.url, db=db), sample_s=0.1) as opened,
    ):
        opened.record("bisect", Finding(FindingKind.DEATH, "dies", cap=288), {})
        assert memory.last_cap(opened) == 288
        with unguarded(db) as other:
            other.execute(DIGIT.partition(" WHERE")[0])
        with pytest.raises(Changed, match="its row in seals"):
            memory.last_cap(opened)


def test_a_record_whose_hashes_fit_is_taken_at_its_word(db: Path, tmp_path: Path) -> None:
    """Nothing inside of it can tell: what tells is a head that was kept elsewhere."""
    run = record(db)
    with History.open(db) as history:
        seal = history.get(run).seal
    copy = Path(shutil.copy(db, tmp_path / "copy.db"))
    with forged(copy) as other:
        other.execute(DIGIT, (run,))
    assert json.loads(ctxfuzz(f"recommend {run} --format json", copy).stdout)["cap"] == 298
    assert seal is not None
    assert ctxfuzz(f"audit --expect {seal.head}", copy).exit_code == 1

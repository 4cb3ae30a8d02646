"""Is a cap put in force as its engine takes it, and is the gate then asked for what is in force?"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from fuzzer.cli import main, opening
from fuzzer.cli.common import CommonFlags
from fuzzer.cli.recommend import FORMATS
from fuzzer.cli.verify import Fix, asked_of
from fuzzer.finding import Finding, FindingKind
from fuzzer.plans.verify import checks
from fuzzer.store import History, RunRecord, Store, StoreError
from targets.sim import running
from targets.sim.world import World
from tests.integration.recorded import QUESTION
from tests.integration.tampering import unguarded


def found(db: Path, finding: Finding, engine: str = "llamacpp", **settings: object) -> str:
    with Store.open(db) as store:
        record = RunRecord(
            "bisect", ("ctxfuzz",), "http://host", "sim", engine, "bisect", question=QUESTION, settings=settings
        )
        run = store.begin(record)
        store.finish(run, finding, "done", at_s=1.0)
    return run


def death(cap: int) -> Finding:
    return Finding(FindingKind.DEATH, "it dies", last_good=cap + 3, first_bad=cap + 4, cap=cap)


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize(("engine", "cap"), [("llamacpp", 255), ("llamacpp", 16), ("transformers", 2_048)])
def test_where_an_engine_cannot_be_set_so_low_nothing_is_printed(
    tmp_path: Path, kind: str, engine: str, cap: int
) -> None:
    run = found(tmp_path / "runs.db", death(cap), engine)
    told = CliRunner().invoke(main, ["recommend", run, "--format", kind, "--db", str(tmp_path / "runs.db")])
    assert (told.exit_code, told.stdout) == (3, "")
    assert f"a cap of {cap} must be kept by what is before it" in told.stderr


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("dialect", "finding", "window", "cap", "is_in_force"),
    [
        ("llamacpp", death(600), 512, 512, True),
        ("llamacpp", death(600), 768, 512, False),
        ("vllm", death(600), 600, 600, True),
        ("vllm", death(600), 512, 600, False),
        ("llamacpp", Finding(FindingKind.CLEAN_LIMIT, "safe as it is", cap=600), 768, 600, False),
    ],
)
async def test_a_gate_asks_for_what_the_engine_was_set_to(
    tmp_path: Path, dialect: str, finding: Finding, window: int, cap: int, is_in_force: bool
) -> None:
    db = tmp_path / "runs.db"
    run = found(db, finding, dialect)
    with History.open(db) as history:
        fix = Fix(600, finding.first_bad, CommonFlags(url=""), history.trusted(run))
    async with (
        running(World.from_dict({"dialect": dialect, "limit": {"tokens": window}})) as sim,
        opening.opened(CommonFlags(url=sim.url, db=db), sample_s=0.1) as opened,
    ):
        question = asked_of(fix, opened)
    assert question.cap == cap
    assert (checks(question, ())[0].result == "ok") is is_in_force


def test_a_control_that_was_changed_is_no_place_for_what_is_long(tmp_path: Path) -> None:
    db = tmp_path / "runs.db"
    main_run = found(db, death(600), "vllm", controls=[["plain", "http://plain:8001"]])
    control = found(db, Finding(FindingKind.NONE, "it passes"), "vllm", control_of=main_run, control="plain")
    recommend = ["recommend", main_run, "--db", str(db), "--format"]
    split = CliRunner().invoke(main, [*recommend, "json"])
    assert json.loads(split.stdout)["without"] == "http://plain:8001"
    with unguarded(db) as other:
        other.execute("UPDATE seals SET at_s = 2.0 WHERE run = ?", (control,))
    assert CliRunner().invoke(main, [*recommend, "litellm"]).exit_code == 2
    assert CliRunner().invoke(main, [*recommend, "flags"]).stdout == "--max-model-len 600\n"
    with History.open(db) as history, pytest.raises(StoreError, match=control):
        history.trusted(control)

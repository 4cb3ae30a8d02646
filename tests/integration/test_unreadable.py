"""Is a run that nobody can read told of by its name, and in nobody's way?"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fuzzer.cli import main
from fuzzer.store import History, Store, StoreError
from tests.integration.recorded import record
from tests.integration.tampering import unguarded

# As masks of before left them: within JSON that was encoded already.
BROKEN = {
    "a question that is no JSON": "UPDATE runs SET question_json = replace(question_json, '400', '***') WHERE run = ?",
    "settings that are no JSON": "UPDATE runs SET settings_json = replace(settings_json, '7', '***') WHERE run = ?",
    "settings that are a list": "UPDATE runs SET settings_json = '[1]' WHERE run = ?",
    "a finding of no kind": "UPDATE seals SET finding_json = replace(finding_json, 'death', '***') WHERE run = ?",
}


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


def ctxfuzz(*args: object) -> Result:
    return CliRunner().invoke(main, [str(arg) for arg in args])


def broken(db: Path, run: str, how: str) -> None:
    with unguarded(db) as other:
        assert other.execute(how, (run,)).rowcount > 0


@pytest.mark.parametrize("how", BROKEN)
def test_the_other_runs_are_listed_and_it_is_named(db: Path, how: str) -> None:
    before, bad, after = record(db), record(db), record(db)
    broken(db, bad, BROKEN[how])
    listed = ctxfuzz("runs", "--json", "--db", db)
    assert listed.exit_code == 0
    assert [one["run"] for one in json.loads(listed.stdout)] == [after, before]
    assert f"warning: Run {bad} of {db} cannot be read" in listed.stderr
    assert f"ctxfuzz export {bad}" in listed.stderr
    with History.open(db) as history:
        assert [run.run for run in history.runs(limit=1)] == [after]
        assert history.get("last").run == after
        assert {failure.run for failure in history.known_failures("http://host:8000", "tiny", "0.32.0")} >= {after}
    for command in ("show", "report"):
        refused = ctxfuzz(command, bad, "--db", db)
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert f"Run {bad} of {db} cannot be read" in refused.stderr
    exported = ctxfuzz("export", bad, "--db", db)
    assert len(exported.stdout.splitlines()) == len(ctxfuzz("export", after, "--db", db).stdout.splitlines())
    assert f"run {bad}: row" in ctxfuzz("audit", bad, "--db", db).stdout


@pytest.mark.parametrize(
    ("table", "column", "old"), [("probes", "spec_json", "search"), ("outcomes", "observation_json", "inferred")]
)
def test_a_row_of_a_probe_that_cannot_be_read_is_a_matter_of_its_run(
    db: Path, table: str, column: str, old: str
) -> None:
    good, bad = record(db), record(db)
    broken(db, bad, f"UPDATE {table} SET {column} = replace({column}, '{old}', '***') WHERE run = ?")
    with History.open(db) as history:
        assert [run.run for run in history.runs()] == [bad, good]
        with pytest.raises(StoreError, match=f"Run {bad} .* cannot be read"):
            history.observations(bad)
        assert {one.run for one in history.known_failures("http://host:8000", "tiny", "0.32.0")} == {good}
    assert ctxfuzz("show", bad, "--db", db).exit_code == 2


def test_a_merge_leaves_none_out_in_silence(db: Path, tmp_path: Path) -> None:
    broken(db, record(db), BROKEN["settings that are no JSON"])
    with Store.open(tmp_path / "ours.db") as ours:
        with pytest.raises(StoreError, match="Nothing was merged"):
            ours.merge(db, ())
        assert ours.runs() == []

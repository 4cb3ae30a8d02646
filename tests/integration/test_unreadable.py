"""Is a run that nobody can read told of by its name, and in nobody's way?"""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from sqlite_utils import Database

from fuzzer.cli import main
from fuzzer.store import History, RunRecord, Store, StoreError, audit
from fuzzer.store.migrations import migrations
from fuzzer.store.tables import LINKED, stored_columns
from tests.integration.recorded import record
from tests.integration.tampering import loosened, unguarded

NO_UTF8 = "CAST(x'ff41' AS TEXT)"
DEEP = f"'{'[' * 3000}{']' * 3000}'"
# As masks of before left them: within JSON that was encoded already.
BROKEN = {
    "a question that is no JSON": "UPDATE runs SET question_json = replace(question_json, '400', '***') WHERE run = ?",
    "settings that are no JSON": "UPDATE runs SET settings_json = replace(settings_json, '7', '***') WHERE run = ?",
    "settings that are a list": "UPDATE runs SET settings_json = '[1]' WHERE run = ?",
    "a model that is no UTF-8": f"UPDATE runs SET model = {NO_UTF8} WHERE run = ?",
    "a question that is nested deeply": f"UPDATE runs SET question_json = {DEEP} WHERE run = ?",
    "a finding of no kind": "UPDATE seals SET finding_json = replace(finding_json, 'death', '***') WHERE run = ?",
}

# As SQL, of the column's own value {0}.
VALUES = (
    *("NULL", "5", "-1", "9223372036854775807", "1e999", "''", "'x'", "x'ff'", NO_UTF8),
    *("'5'", "'null'", """'"x"'""", "'[1]'", "'{{}}'", DEEP, "substr({0}, 1, length({0}) / 2)"),
    "replace({0}, '32', '\"q\"')",
    "json_set(iif(json_valid({0}), {0}, '{{}}'), '$.runs', json('5'), '$.lo', json('[]'), '$.fail_on', json('{{}}'))",
)


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
    told = len(exported.stdout.splitlines()) + exported.stderr.count("warning: Row 1 of run")
    assert told == len(ctxfuzz("export", after, "--db", db).stdout.splitlines())
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


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A record with a row in every table, and its last run."""
    path = tmp_path_factory.mktemp("told") / "runs.db"
    record(path)
    run = record(path, ending="halted")
    with Store.open(path) as store:
        store.reopen(run, ("ctxfuzz", "resume"), at_s=7.0)
        store.finish(run, None, "interrupted", at_s=8.0)
    return path, run


def columns() -> list[tuple[str, str]]:
    with closing(sqlite3.connect(":memory:")) as other:
        db = Database(other)
        migrations.apply(db)
        return [(table, column) for table in ("chain", *LINKED) for column in stored_columns(db, table)]


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(columns()), st.sampled_from(VALUES))
@example(("deaths", "signature"), NO_UTF8)
@example(("outcomes", "observation_json"), NO_UTF8)
@example(("outcomes", "observation_json"), "x'ff'")
@example(("canaries", "run"), NO_UTF8)
@example(("runs", "at_utc"), NO_UTF8)
@example(("runs", "question_json"), "'[1]'")
@example(("runs", "settings_json"), DEEP)
@example(("chain", "kind"), "'x'")
@example(("probes", "position"), "5")
def test_any_value_in_any_cell_ends_in_a_sentence(
    told: tuple[Path, str], tmp_path: Path, cell: tuple[str, str], value: str
) -> None:
    """`audit` names the run, or says that the file is damaged; whoever shows the rest of it never falls over it."""
    (path, run), (table, column) = told, cell
    db = Path(shutil.copy(path, tmp_path / "runs.db"))
    new = value.format(column)
    with loosened(db) as other:
        last = f"run = :run AND position = (SELECT max(position) FROM {table} WHERE run = :run)"
        try:
            changed = other.execute(
                f"UPDATE {table} SET {column} = {new} WHERE {last} AND {column} IS NOT {new}", {"run": run}
            )
        except sqlite3.Error:  # the value is one that SQLite itself does not take
            assume(False)
        assume(changed.rowcount == 1)
    audited = ctxfuzz("audit", "--db", db)
    assert audited.exit_code == 1
    assert any(words in audited.stdout for words in (f"run {run}: row", "the file is damaged"))
    for command in (("runs",), ("show", run), ("report", run), ("export", run), ("recommend", run)):
        shown = ctxfuzz(*command, "--db", db)
        assert isinstance(shown.exception, SystemExit | None), shown.exception
        assert shown.exit_code == 0 or shown.stderr.startswith(("Error: ", "warning: "))
    with suppress(StoreError), History.open(db) as history:
        history.known_failures("http://host:8000", "tiny", "0.32.0")


def test_a_row_that_is_gone_and_one_of_no_table_are_named_and_the_rest_is_exported(db: Path) -> None:
    run = record(db)
    whole = ctxfuzz("export", run, "--db", db).stdout.splitlines()
    with unguarded(db) as other:
        other.execute("DELETE FROM canaries WHERE position = (SELECT min(position) FROM canaries)")
        other.execute("UPDATE chain SET kind = 'foo' WHERE position = 3")
    exported = ctxfuzz("export", run, "--db", db)
    assert (exported.exit_code, len(exported.stdout.splitlines())) == (0, len(whole) - 2)
    assert "its row in canaries is gone" in exported.stderr
    assert f"warning: Row 3 of run {run} cannot be read (ctxfuzz has no table 'foo')" in exported.stderr


@pytest.mark.parametrize("taken", ['{"runs": 5}', '{"runs": [{}, [1], 5]}', "[", DEEP.strip("'")])
def test_a_merge_that_says_nonsense_is_in_nobodys_way(db: Path, taken: str) -> None:
    run = record(db)
    with unguarded(db) as other:
        other.execute("UPDATE runs SET plan = 'merge', question_json = ?", (taken,))
    after = record(db)
    assert audit(db).problems[0].run == run
    assert f"{after} " in ctxfuzz("runs", "--db", db).stdout
    with History.open(db) as history:
        assert history.get("last").run == after


def test_a_run_of_another_target_that_cannot_be_read_hides_no_failure(db: Path) -> None:
    good, bad, elsewhere = record(db), record(db), record(db)
    broken(
        db, bad, f"UPDATE outcomes SET observation_json = replace(observation_json, 'line', {NO_UTF8}) WHERE run = ?"
    )
    broken(db, elsewhere, "UPDATE runs SET url = 'http://[nowhere' WHERE run = ?")
    broken(db, bad, f"UPDATE runs SET url = {NO_UTF8} WHERE run = ?")
    with History.open(db) as history:
        assert {one.run for one in history.known_failures("http://host:8000", "tiny", "0.32.0")} == {good}


def test_what_fails_over_a_record_that_nobody_changed_is_a_bug_and_stays_one(db: Path) -> None:
    with Store.open(db) as store:
        store.begin(RunRecord("bisect", ("ctxfuzz",), "http://host:8000", "tiny", "vllm", "bisect"))
    with pytest.raises(KeyError), History.open(db) as history:
        history.get("last").record.question["lo"]
    broken(db, record(db), "UPDATE runs SET question_json = '{}' WHERE run = ?")
    with pytest.raises(StoreError, match=r"KeyError.*is not as it was written .*row 1"), History.open(db) as history:
        history.get("last").record.question["lo"]


def test_a_killed_run_whose_last_hash_is_damaged_is_gone_on_with_and_named(db: Path) -> None:
    with Store.open(db) as store:
        run = store.begin(RunRecord("bisect", ("ctxfuzz",), "http://host:8000", "tiny", "vllm", "bisect"))
        store.note(run, "the last that was heard of it", at_s=1.0)
    damaged = "CAST(x'ff' AS TEXT) || substr(hash, 2)"
    broken(db, run, f"UPDATE chain SET hash = {damaged} WHERE run = ? AND position = 2")
    with Store.open(db) as store:
        store.reopen(run, ("ctxfuzz", "resume"), at_s=1.0)
    assert "is damaged: it holds what is no UTF-8" in audit(db).problems[0].what


@pytest.mark.parametrize("command", ["resume {}", "replay {}:3", "body {}:3"])
def test_what_a_changed_run_was_driven_with_is_not_gone_on_with(db: Path, command: str) -> None:
    run = record(db, ending="halted", url="http://127.0.0.1:9")
    broken(db, run, "UPDATE runs SET settings_json = json_set(settings_json, '$.fail_on', 5) WHERE run = ?")
    refused = ctxfuzz(*command.format(run).split(), "--db", db)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert f"is not as it was written (run {run}: row 1" in refused.stderr

"""Is it found where a table, a view, a trigger or an index is not as ctxfuzz makes it, and is nothing shown so?"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from sqlite_utils import Database

from fuzzer.finding import Finding, FindingKind
from fuzzer.model import Outcome, ProbeSpec, Role
from fuzzer.observation import Observation
from fuzzer.store import History, Intent, RunRecord, Store, StoreError, audit
from tests.integration.recorded import record
from tests.integration.tampering import unguarded

RECORD = RunRecord(command="bisect", argv=("ctxfuzz",), url="http://h:1", model="m", engine="vllm", plan="bisect")
SPEC = ProbeSpec(length=1000, output_tokens=32, role=Role.SEARCH, reason="halfway")
SLIPPED_IN = """
INSERT INTO outcomes (run, position, at_utc, seq, observation_json, evidence_json)
VALUES (NEW.run, NEW.position, NEW.at_utc, NEW.seq, replace(NEW.observation_json, 'death', 'pass'), '{}')
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database with three runs in it."""
    for _ in range(3):
        record(tmp_path / "runs.db")
    return tmp_path / "runs.db"


def rewritten(path: Path, name: str, old: str, new: str) -> None:
    """One of ours with other words in it, as its own SQL says it."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA writable_schema = on")
        changed = other.execute(
            "UPDATE sqlite_master SET sql = replace(sql, ?, ?) WHERE name = ? AND instr(sql, ?)", (old, new, name, old)
        )
        assert changed.rowcount == 1


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("standing_seals", "s.*,", "s.*, 999999 AS cap,"),
        ("run_states", "s.cap_tokens", "999999 AS cap_tokens"),
        ("timeline", "probe", "no probe"),
        ("seals", "finding_json ->> '$.cap'", "999999"),  # a column that no hash covers
        ("seals_never_change", "BEFORE UPDATE ON seals", "BEFORE UPDATE ON seals WHEN 0"),
        ("runs_by_time", "at_utc", "run"),
    ],
)
def test_a_view_or_a_trigger_that_is_not_ours_is_found_and_nothing_is_shown_through_it(
    path: Path, name: str, old: str, new: str
) -> None:
    with History.open(path) as history:
        seal = history.get("last").seal
    assert seal is not None
    rewritten(path, name, old, new)
    for expect in (None, seal.head):
        assert f"{name} is not the one that ctxfuzz makes" in audit(path, expect).problems[0].what
    for open_it in (History.open, Store.open):
        with pytest.raises(StoreError, match=rf"{name} is not.*ctxfuzz audit"):
            open_it(path)
    with closing(sqlite3.connect(path)) as other:
        other.execute("PRAGMA user_version = 0")  # as if it had nothing yet
    for open_it in (History.open, Store.open):
        with pytest.raises(StoreError):
            open_it(path)


@pytest.mark.parametrize("gone", ["TRIGGER runs_never_go", "VIEW boundaries", "INDEX runs_of_build"])
def test_what_is_gone_of_ours_is_found(path: Path, gone: str) -> None:
    with closing(sqlite3.connect(path)) as other:
        other.execute(f"DROP {gone}")
    assert [problem.what for problem in audit(path).problems] == [f"the {gone.lower()} is gone"]
    with pytest.raises(StoreError, match="is gone"):
        History.open(path)


@pytest.mark.parametrize(
    "strange",
    [
        "CREATE TRIGGER theirs BEFORE INSERT ON outcomes BEGIN SELECT RAISE(IGNORE); END",
        "CREATE TRIGGER theirs AFTER INSERT ON Chain BEGIN SELECT 1; END",
        "CREATE TRIGGER theirs INSTEAD OF INSERT ON run_states BEGIN SELECT 1; END",
        "CREATE TRIGGER theirs AFTER INSERT ON _sqlite_migrations BEGIN SELECT 1; END",
        "CREATE INDEX theirs ON outcomes (run, seq, observation_json)",
        "CREATE INDEX theirs ON seals (cap_tokens) WHERE cap_tokens > 5",
    ],
)
def test_what_others_put_on_ours_is_found_and_nothing_is_shown_or_recorded_through_it(path: Path, strange: str) -> None:
    """A trigger may change a row before it is hashed, an index give back what no row holds."""
    with closing(sqlite3.connect(path)) as other:
        other.execute(strange)
    assert [problem.what.endswith("is none that ctxfuzz makes") for problem in audit(path).problems] == [True]
    for open_it in (History.open, Store.open):
        with pytest.raises(StoreError, match=r"theirs on \w+ is none that ctxfuzz makes"):
            open_it(path)


@pytest.mark.parametrize("instead", ["SELECT RAISE(IGNORE)", f"{SLIPPED_IN}; SELECT RAISE(IGNORE)"])
def test_a_trigger_that_comes_while_we_record_changes_no_row_in_silence(path: Path, instead: str) -> None:
    with Store.open(path) as store:
        run = store.begin(RECORD)
        store.intend(run, Intent(1, SPEC, 1.0, 1000, "0" * 64, 5000))
        died = "NEW.observation_json LIKE '%death%'"
        with closing(sqlite3.connect(path)) as other:
            other.execute(f"CREATE TRIGGER theirs BEFORE INSERT ON outcomes WHEN {died} BEGIN {instead}; END")
        with pytest.raises(StoreError, match="keeps another row than was written"):
            store.complete(run, Observation(1, SPEC, Outcome.DEATH, 1000, "inferred", deaths=1), {})
        assert store.observations(run) == []


def test_an_index_of_ours_with_other_rows_in_it_is_found(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        rows = other.execute("SELECT rowid, at_utc FROM runs").fetchall()
        row = other.execute("SELECT * FROM sqlite_master WHERE name = 'runs_by_time'").fetchone()
    with unguarded(path) as other:
        other.execute("UPDATE runs SET at_utc = '2020'")
    without = "DELETE FROM sqlite_master WHERE name = 'runs_by_time'"
    edited_schema(path, without, ())
    with unguarded(path) as other:
        other.executemany("UPDATE runs SET at_utc = ?2 WHERE rowid = ?1", rows)
    edited_schema(path, "INSERT INTO sqlite_master VALUES (?, ?, ?, ?, ?)", row)
    with closing(sqlite3.connect(path)) as other:
        assert other.execute("SELECT count(*) FROM runs WHERE at_utc < '2021'").fetchone() == (3,), "it lies"
    assert "missing from index runs_by_time" in audit(path).problems[0].what


@pytest.mark.parametrize("table", ["runs", "resumes", "seals"])
def test_an_index_that_hides_the_newest_rows_of_how_runs_ended_is_refused_by_everybody(path: Path, table: str) -> None:
    """What the newest seal took back would be shown: rows and hashes are as they were."""
    with Store.open(path) as store:
        run = store.begin(RECORD)
        store.finish(run, Finding(FindingKind.DEATH, "so far", cap=300_000), "halted", at_s=1.0)
        store.reopen(run, ("ctxfuzz", "resume"), at_s=1.0)
        store.finish(run, Finding(FindingKind.DEATH, "in the end", cap=262_144), "done", at_s=2.0)
    with closing(sqlite3.connect(path)) as other:
        index = f"SELECT rootpage FROM sqlite_master WHERE name = 'sqlite_autoindex_{table}_1'"
        (page,), (size,) = other.execute(index).fetchone(), other.execute("PRAGMA page_size").fetchone()
    pages = bytearray(path.read_bytes())
    cells = slice((page - 1) * size + 3, (page - 1) * size + 5)  # how many entries the index's only page has
    pages[cells] = (int.from_bytes(pages[cells]) - 1).to_bytes(2)
    path.write_bytes(pages)
    assert "the file is damaged" in audit(path).problems[0].what
    for open_it in (History.open, Store.open):
        with pytest.raises(StoreError, match="was changed by another program"):
            open_it(path)


def edited_schema(path: Path, statement: str, values: Sequence[object]) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        (version,) = other.execute("PRAGMA schema_version").fetchone()
        other.execute("PRAGMA writable_schema = on")
        assert other.execute(statement, values).rowcount == 1
        other.execute(f"PRAGMA schema_version = {version + 1}")


def test_a_table_in_another_place_of_ours_is_told_and_not_read(path: Path) -> None:
    with closing(sqlite3.connect(path)) as other:
        other.execute("ALTER TABLE seals RENAME TO mine")
        other.execute("CREATE VIEW seals AS SELECT * FROM mine")
    assert "the table seals is not the one" in " ".join(problem.what for problem in audit(path).problems)


def test_what_others_put_beside_ours_is_no_concern_of_ours(path: Path) -> None:
    with closing(sqlite3.connect(path)) as other:
        db = Database(other)
        db.table("theirs").insert({"run": "one", "text": "words"}, pk="run")
        db.table("theirs").enable_fts(["text"], create_triggers=True)
        db.create_view("their_view", "SELECT * FROM runs")
        other.execute("ANALYZE")
        other.execute("VACUUM")
    assert audit(path).problems == []
    record(path)
    assert audit(path).runs == 4

"""Does a database of every earlier version come up to date with all that is in it, and does its chain still check?

`data/runs-vN.sql` is a small real database of version N. When a migration is added, one more is made of the version
before: `python -m tests.integration.test_store_migrations`, at the commit before the change.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import pytest

from fuzzer.model import Outcome
from fuzzer.store import History, Store, audit
from fuzzer.store.migrations import APPLICATION_ID, VERSION
from tests.integration.recorded import FOUND, record

DATA = Path(__file__).parent / "data"
VERSIONS = range(1, VERSION + 1)


def dumped(path: Path) -> str:
    """A database as SQL, with the stamps that a dump leaves out."""
    with closing(sqlite3.connect(path)) as conn:
        (version,) = conn.execute("PRAGMA user_version").fetchone()
        stamps = [f"PRAGMA application_id = {APPLICATION_ID};", f"PRAGMA user_version = {version};"]
        return "\n".join([*stamps, *conn.iterdump()]) + "\n"


@pytest.fixture(params=VERSIONS)
def golden(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A database as that version wrote it."""
    path = tmp_path / "runs.db"
    with closing(sqlite3.connect(path)) as conn:
        conn.executescript((DATA / f"runs-v{request.param}.sql").read_text(encoding="utf-8"))
    return path


def test_it_comes_up_to_date_with_all_that_is_in_it(golden: Path) -> None:
    with Store.open(golden) as store:
        (run,) = store.runs()
        assert run.finding == FOUND
        assert [seen.outcome for seen in store.observations(run.run)] == [Outcome.PASS, Outcome.PASS, Outcome.DEATH]
        assert store.deaths(run.run)[0].last_words.startswith("line one\n")
        before = audit(golden)
        assert (before.sound, before.runs, before.unsealed) == (True, 1, [])
        seal = store.finish(store.begin(run.record), FOUND, "done", at_s=8.0)
    after = audit(golden, expect=seal.head)
    assert after.sound
    assert before.heads.items() < after.heads.items()


def test_its_schema_is_then_that_of_a_new_one(golden: Path, tmp_path: Path) -> None:
    Store.open(golden).close()
    Store.open(tmp_path / "new.db").close()
    assert schema(golden) == schema(tmp_path / "new.db")


def test_an_older_one_is_not_changed_by_reading_it(golden: Path) -> None:
    before = golden.read_bytes()
    with History.open(golden) as history:
        assert history.runs()[0].finding == FOUND
    assert audit(golden).sound
    assert golden.read_bytes() == before


def schema(path: Path) -> list[tuple[str, str, str]]:
    with closing(sqlite3.connect(path)) as conn:
        return conn.execute("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name").fetchall()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        record(Path(name, "runs.db"))
        into = DATA / f"runs-v{VERSION}.sql"
        into.write_text(dumped(Path(name, "runs.db")), encoding="utf-8")
        sys.stdout.write(f"{into}\n")

"""How does an older runs.db become today's, and which are read as they are?

A migration that has been released is history: never edit one, append another.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Final

from sqlite_utils import Migrations

from fuzzer.store.tables import LINKED, TABLES, guards
from fuzzer.store.views import COVERAGE, LATEST, VIEWS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlite_utils import Database

APPLICATION_ID: Final = 0x63747866  # "ctxf": SQLite keeps it in the file's header
VERSION: Final = 4  # how many migrations there are: the header's user_version
READABLE: Final = 1  # the oldest version that is read as it is: what came since are views, and columns at the end

migrations = Migrations("ctxfuzz")


def _statements(script: str) -> Iterator[str]:
    """The script's statements, one by one: `executescript` would commit what the migration has begun."""
    statement = ""
    for line in script.splitlines():
        statement += line + "\n"
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


@migrations(name="0001_runs")
def _runs(db: Database) -> None:
    for statement in _statements(TABLES + "".join(guards(table) for table in ("chain", *LINKED)) + VIEWS):
        db.execute(statement)


@migrations(name="0002_coverage")
def _coverage(db: Database) -> None:
    db.execute(COVERAGE)


@migrations(name="0003_relapses")
def _relapses(db: Database) -> None:
    db.execute("ALTER TABLE revivals ADD COLUMN relapses INTEGER")


@migrations(name="0004_order")
def _order(db: Database) -> None:
    for statement in _statements(LATEST):
        db.execute(statement)

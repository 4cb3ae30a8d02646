"""Are the tables, views, triggers and indexes of a runs.db the very ones that ctxfuzz makes?

Hashes cover rows. Who reads them reads through these: a view, or a generated column, can show what no row says. What
other programs have put beside ours is no concern of ours.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import cache
from typing import TYPE_CHECKING

from sqlite_utils import Database

from fuzzer.store.schema import READABLE, migrations

if TYPE_CHECKING:
    from collections.abc import Mapping

Shape = dict[str, tuple[str, str]]
"""Name: (whether it is a table, a view, .., its SQL)."""

_OURS = """
SELECT user_version, name, type, sql
FROM pragma_user_version LEFT JOIN sqlite_master ON sql IS NOT NULL AND tbl_name <> ?
"""


def changed(conn: sqlite3.Connection) -> Mapping[str, str]:
    """What is wrong with ours, by name: all that is gone, or reads otherwise than its version of ctxfuzz wrote it."""
    version, there = _read(conn)
    return {
        name: f"the {kind} {name} is " + ("not the one that ctxfuzz makes" if name in there else "gone")
        for name, (kind, sql) in _made(max(version, READABLE)).items()
        if there.get(name) != (kind, sql)
    }


@cache
def _made(version: int) -> Shape:
    """What a new database of that version holds."""
    with closing(sqlite3.connect(":memory:")) as conn:
        db = Database(conn, execute_plugins=False)
        migrations.apply(db, stop_before=[later.name for later in migrations.pending(db)[version:]])
        return _read(conn)[1]


def _read(conn: sqlite3.Connection) -> tuple[int, Shape]:
    """Version and shape of one moment, without SQLite's own, and without the list of migrations (sqlite-utils')."""
    rows = conn.execute(_OURS, (migrations.migrations_table,)).fetchall()
    return rows[0][0], {name: (kind, sql) for _, name, kind, sql in rows}

"""Are the tables, views, triggers and indexes of a runs.db the very ones that ctxfuzz makes?

Hashes cover rows. Who reads them reads through these: a view, a generated column or an index can show what no row says,
and a trigger can change a row before it is hashed. So on what is ours there is nothing of others'. What they have put
beside it is no concern of ours.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import cache
from typing import TYPE_CHECKING

from sqlite_utils import Database

from fuzzer.store.migrations import READABLE, migrations

if TYPE_CHECKING:
    from collections.abc import Mapping

Shape = dict[str, tuple[str, str, str]]
"""Name: (whether it is a table, a view, .., its SQL, the table or view that it is on)."""

_THERE = """
SELECT user_version, name, type, sql, tbl_name
FROM pragma_user_version LEFT JOIN sqlite_master ON sql IS NOT NULL AND name <> ?
"""


def changed(conn: sqlite3.Connection) -> Mapping[str, str]:
    """What is wrong, by name: all of ours that is gone or reads otherwise than its version of ctxfuzz wrote it, and all
    on ours that is a stranger's.
    """
    version, there = _read(conn)
    made = _made(max(version, READABLE))
    ours = {place.lower() for _, _, place in made.values()} | {migrations.migrations_table}
    wrong = {
        name: f"the {kind} {name} is " + ("not the one that ctxfuzz makes" if name in there else "gone")
        for name, (kind, *rest) in made.items()
        if there.get(name) != (kind, *rest)
    }
    strange = {
        name: f"the {kind} {name} on {place} is none that ctxfuzz makes"
        for name, (kind, _, place) in there.items()
        if name not in made and place.lower() in ours
    }
    return wrong | strange


@cache
def _made(version: int) -> Shape:
    """What a new database of that version holds."""
    with closing(sqlite3.connect(":memory:")) as conn:
        db = Database(conn, execute_plugins=False)
        migrations.apply(db, stop_before=[later.name for later in migrations.pending(db)[version:]])
        return _read(conn)[1]


def _read(conn: sqlite3.Connection) -> tuple[int, Shape]:
    """Version and shape of one moment, without SQLite's own, and without the list of migrations (sqlite-utils')."""
    rows = conn.execute(_THERE, (migrations.migrations_table,)).fetchall()
    return rows[0][0], {name: (kind, sql, place) for _, name, kind, sql, place in rows}

"""How do tests change what was recorded, as somebody would who knows SQLite well?"""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from sqlite_utils import Database

from fuzzer.store.chain import GENESIS, link
from fuzzer.store.tables import stored_columns

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def unguarded(path: Path) -> Iterator[sqlite3.Connection]:
    """The database without its triggers, which are put back at the end, word for word."""
    with closing(sqlite3.connect(path)) as other:
        other.execute("PRAGMA synchronous = off")
        triggers = other.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            other.execute(f"DROP TRIGGER {name}")
        yield other
        for _, sql in triggers:
            other.execute(sql)
        other.commit()


@contextmanager
def loosened(path: Path) -> Iterator[sqlite3.Connection]:
    """The same, and while it is open any column takes any value, as a page takes that is edited as bytes."""
    with unguarded(path) as other:
        tables = other.execute("SELECT name, sql FROM sqlite_master WHERE sql LIKE '%STRICT'").fetchall()
        loose = "replace(replace(replace(sql, ' STRICT', ''), ', STRICT', ''), 'NOT NULL', '')"
        other.execute("PRAGMA writable_schema = on")
        other.execute(f"UPDATE sqlite_master SET sql = {loose} WHERE sql LIKE '%STRICT'")
        other.commit()
        with closing(sqlite3.connect(path)) as loosely:
            loosely.execute("PRAGMA ignore_check_constraints = on")
            yield loosely
            loosely.commit()
        for name, sql in tables:
            other.execute("UPDATE sqlite_master SET sql = ? WHERE name = ?", (sql, name))
        other.commit()


@contextmanager
def forged(path: Path) -> Iterator[sqlite3.Connection]:
    """The same as `unguarded`, and all hashes are made anew at the end: what was changed is as sound as the rest."""
    with unguarded(path) as other:
        yield other
        heads: dict[str, str] = {}
        for run, position, kind, old in other.execute("SELECT * FROM chain ORDER BY run, position").fetchall():
            columns = ", ".join(stored_columns(Database(other, execute_plugins=False), kind))
            at = "WHERE run = ? AND position = ?"
            row = other.execute(f"SELECT {columns} FROM {kind} {at}", (run, position)).fetchone()
            heads[run] = link(heads.get(run, GENESIS), kind, row)
            other.execute(f"UPDATE chain SET hash = ? {at}", (heads[run], run, position))
            naming = "UPDATE seals SET previous_heads_json = replace(previous_heads_json, ?, ?)"
            other.execute(naming, (old, heads[run]))

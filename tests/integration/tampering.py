"""How do tests change what was recorded, as somebody would who knows SQLite well?"""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def unguarded(path: Path) -> Iterator[sqlite3.Connection]:
    """The database without its triggers, which are put back at the end, word for word."""
    with closing(sqlite3.connect(path)) as other:
        triggers = other.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            other.execute(f"DROP TRIGGER {name}")
        yield other
        for _, sql in triggers:
            other.execute(sql)
        other.commit()

"""What makes a row unforgeable? Its hash covers its table, everything in it, and the hash of the row before.

Pure. The hash is taken over what the database gives back, so that anybody can compute it again with a few lines of
code: SHA-256 over the previous hash (64 hex digits; empty for a run's first row), a newline, the table's name, a
newline, and the row's stored columns in the table's order as a JSON array (ASCII, no spaces). NULLs at its end are
left out, so that a column that a later version adds changes no hash.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Final

GENESIS: Final = ""

Value = str | int | float | None

_array = json.JSONEncoder(separators=(",", ":"), ensure_ascii=True).encode


def link(previous: str, table: str, row: Sequence[Value]) -> str:
    """The hash of `row` in `table`, after a row whose hash is `previous`: 64 hex digits."""
    end = len(row)
    while end and row[end - 1] is None:
        end -= 1
    return hashlib.sha256(f"{previous}\n{table}\n{_array(row[:end])}".encode(errors="surrogateescape")).hexdigest()

"""Which file does the name of a database mean, and may it be one?"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

from fuzzer.store.errors import StoreError

_NOWHERE: Final = ":memory:"  # SQLite's own word for a database that no file keeps


def place_of(path: Path) -> Path:
    """The file itself, behind every link, for SQLite keeps its log beside that one; it need not be there yet.

    Raises StoreError where the name is that of no file at all, or of something that is no regular file.
    """
    if str(path) == _NOWHERE:
        raise StoreError(f"{path} is kept nowhere, and a record is to last. Name a file with --db.")
    real = Path(os.path.realpath(path))
    try:
        kind = real.stat().st_mode
    except OSError:  # not there, or not for us: whoever opens it says so
        return real
    if stat.S_ISDIR(kind):
        raise StoreError(f"{path} is a folder. Name a file in it with --db.")
    if not stat.S_ISREG(kind):
        raise StoreError(f"{path} is no regular file, and was left untouched. Name another one with --db.")
    return real

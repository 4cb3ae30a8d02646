"""Why can runs.db not be used, and what helps? One sentence and one next step a trouble."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING, Never

from fuzzer.store.clock import is_run_id

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class StoreError(Exception):
    """runs.db cannot be read or written. Nothing that was committed is lost, nothing is half-written."""


class NoSuchRun(StoreError):
    """No run, or more than one, goes by that name."""


class NothingRecorded(StoreError):
    """The file is there, and no run has been begun in it yet: whoever began one was killed right then."""


class Unreadable(StoreError):
    """A row says what no ctxfuzz can mean: it is no JSON, or not what its column holds."""


class Changed(StoreError):
    """A run is not as it was written, so nothing is decided or sent by what it says."""


class TargetLocked(StoreError):
    """Another run is at work on the same target with the same database."""


_TROUBLES = {
    sqlite3.SQLITE_BUSY: "is locked by another program. End that program, or wait until it is done, and try again.",
    sqlite3.SQLITE_LOCKED: "is locked by another program. End that program, or wait until it is done, and try again.",
    sqlite3.SQLITE_FULL: "cannot grow: the disk, or its quota, is full. Free some space and `ctxfuzz resume` the run.",
    sqlite3.SQLITE_READONLY: "cannot be written: it, or its folder, is read-only. Choose another place with --db.",
    sqlite3.SQLITE_PERM: "may not be opened: permission denied. Fix its permissions, or choose another with --db.",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened: does its folder exist, and may we write there? Choose one with --db.",
    sqlite3.SQLITE_IOERR: "could not be read or written: the disk failed. Look at the disk, then resume the run.",
    sqlite3.SQLITE_NOTADB: "is not a database. It was left untouched; choose another file with --db.",
    sqlite3.SQLITE_CORRUPT: "is damaged. Keep a copy, then save what is left with `sqlite3 FILE .recover`.",
}


ILLEGIBLE = (ValueError, TypeError, RecursionError)  # what reading such a row raises


def primary_code(error: sqlite3.Error) -> int:
    """SQLite's extended codes carry the primary one in their low byte; 0 where the error is not SQLite's own."""
    code: int = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF


@contextmanager
def troubles_told(path: Path) -> Iterator[None]:
    """What the file, the disk or another program does becomes a StoreError. What is our own bug stays what it is."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        if "JSON" in str(error):
            raise Unreadable(f"{path} holds a row that is no JSON") from error
        trouble = _TROUBLES.get(primary_code(error))
        if trouble is None:
            raise
        raise StoreError(f"{path} {trouble} ({error})") from error


def raised(why: Unreadable) -> Never:
    """Whoever asks can do without none of them."""
    raise why


@contextmanager
def legible(path: Path, run: str) -> Iterator[None]:
    """What cannot be read of a run becomes an Unreadable that names it."""
    try:
        yield
    except (Unreadable, *ILLEGIBLE) as error:
        export = f", `ctxfuzz export {run}` writes its rows as they are" if is_run_id(run) else ""
        raise Unreadable(
            f"Run {run} of {path} cannot be read ({error}). `ctxfuzz audit` says whether anybody changed it{export}."
        ) from error

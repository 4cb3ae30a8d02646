"""Is this file ours, and how is it opened so that what is committed stays?

WAL (readers never wait for the writer), `synchronous=FULL` (a commit has reached the disk when it returns), foreign
keys, a busy timeout. A foreign or a newer database is recognised over a read-only connection and never touched.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from sqlite_utils import Database
from tenacity import retry, retry_if_exception, stop_after_delay, wait_fixed

from fuzzer.store.errors import NothingRecorded, StoreError, primary_code, troubles_told
from fuzzer.store.migrations import APPLICATION_ID, READABLE, VERSION, migrations
from fuzzer.store.order import after_their_answer, misplaced
from fuzzer.store.place import place_of
from fuzzer.store.shape import changed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BUSY_TIMEOUT_S: Final = 10.0
_LARGEST_PAGE: Final = 65_536  # bytes
_OF_ENDINGS: Final = ("runs", "resumes", "seals")  # few rows, however many probes there are


def writable(path: Path) -> Database:
    """The database at `path`, created or brought up to date where it must be. Raises StoreError."""
    real = place_of(path)
    with troubles_told(path):
        if os.path.lexists(real):
            _recognise(real, path)
        with _closed_on_error(_connected(real, "mode=rwc")) as conn:
            db = _prepared(conn)
            with immediate(db):
                _refuse_strangers(conn, path)  # again: it may have been born since
                _refuse_changed(conn, path)
                _bring_up_to_date(db)
            return db


def readable(path: Path) -> Database:
    """The database at `path` for reading alone, also from a read-only folder. Raises StoreError."""
    db = auditable(path)
    with troubles_told(path), _closed_on_error(db.conn):
        _refuse_changed(db.conn, path)
    return db


def auditable(path: Path) -> Database:
    """The same, whatever became of its tables and views: whoever reads it is not to trust them."""
    real = place_of(path)
    if not os.path.lexists(real):
        raise StoreError(f"{path} is no file. Name the database with --db, or make a run first.")
    with troubles_told(path), _closed_on_error(_for_reading(real, path)) as conn:
        _refuse_unfinished(conn, path)
        conn.execute("PRAGMA query_only = on")
        return _database(conn)


def _recognise(real: Path, path: Path) -> None:
    """Refuse a stranger's database over a connection that cannot change it."""
    try:
        with closing(_connected(real, "mode=ro")) as conn:
            _refuse_strangers(conn, path)
    except sqlite3.OperationalError as error:
        # A rollback journal waits. We use one only until our first page is written: then it is our own half-born file.
        if error.sqlite_errorcode != sqlite3.SQLITE_READONLY_ROLLBACK or real.stat().st_size > _LARGEST_PAGE:
            raise


@contextmanager
def immediate(db: Database) -> Iterator[None]:
    """One durable transaction that holds the write lock from its start, so that what it reads stays true."""
    db.conn.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.conn.execute("COMMIT")
    except BaseException:
        db.rollback()
        raise


def _connected(real: Path, query: str) -> sqlite3.Connection:
    uri = f"file://{quote(os.fsencode(real))}?{query}"  # what stands before the path is no host, whatever its bytes are
    return sqlite3.connect(uri, uri=True, timeout=BUSY_TIMEOUT_S, check_same_thread=False)


def _for_reading(real: Path, path: Path) -> sqlite3.Connection:
    """WAL writes beside the database even to read it. Where nobody may, and no log waits, the file itself is all."""
    try:
        with _closed_on_error(_connected(real, "mode=ro")) as conn:
            _refuse_strangers(conn, path)
            return conn
    except sqlite3.OperationalError as error:
        if primary_code(error) not in {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}:
            raise
    wal = real.with_name(real.name + "-wal")
    if wal.exists() and wal.stat().st_size:
        raise StoreError(f"{path} has a log beside it, and its folder is read-only. Copy both to where we may write.")
    with _closed_on_error(_connected(real, "mode=ro&immutable=1")) as conn:
        _refuse_strangers(conn, path)
        return conn


@contextmanager
def _closed_on_error(conn: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    try:
        yield conn
    except BaseException:
        conn.close()
        raise


def _prepared(conn: sqlite3.Connection) -> Database:
    db = _database(conn)
    conn.execute("PRAGMA foreign_keys = on")
    conn.execute("PRAGMA synchronous = full")
    _into_wal(conn)
    return db


def _is_busy(error: BaseException) -> bool:
    return isinstance(error, sqlite3.OperationalError) and primary_code(error) == sqlite3.SQLITE_BUSY


@retry(retry=retry_if_exception(_is_busy), wait=wait_fixed(0.01), stop=stop_after_delay(BUSY_TIMEOUT_S), reraise=True)
def _into_wal(conn: sqlite3.Connection) -> None:
    """Only a newborn database is not in WAL yet. Two that make it at once collide here, and SQLite does not wait."""
    if conn.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        conn.execute("PRAGMA journal_mode = wal")


def _database(conn: sqlite3.Connection) -> Database:
    conn.row_factory = sqlite3.Row
    conn.text_factory = _text
    return Database(conn, strict=True, execute_plugins=False)


def _text(stored: bytes) -> str:
    """A text as it is stored; each byte that is no UTF-8 becomes a lone surrogate, which `rows.whole` finds."""
    return stored.decode(errors="surrogateescape")


def _bring_up_to_date(db: Database) -> None:
    if not migrations.pending(db):
        return
    migrations.apply(db)
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.execute(f"PRAGMA user_version = {VERSION}")


def _refuse_strangers(conn: sqlite3.Connection, path: Path) -> None:
    """Raise StoreError unless the database is empty, or ours and not newer than we are."""
    owner, version, tables = _stamps(conn)
    if owner != APPLICATION_ID and (owner or version or tables):
        raise StoreError(f"{path} belongs to another program. It was left untouched; choose another file with --db.")
    if version > VERSION:
        raise StoreError(f"{path} was written by a newer ctxfuzz. It was left untouched; upgrade ctxfuzz to use it.")


def _refuse_unfinished(conn: sqlite3.Connection, path: Path) -> None:
    """Raise StoreError where reading alone is not enough: somebody must first make its tables, or renew them."""
    owner, version, _ = _stamps(conn)
    if not owner:
        raise NothingRecorded(f"{path} holds no runs yet. Name another database with --db, or make a run first.")
    if version < READABLE:
        raise StoreError(f"{path} is of an older ctxfuzz. Any command that probes brings it up to date.")


def _refuse_changed(conn: sqlite3.Connection, path: Path) -> None:
    """Raise StoreError where rows would be read through views that are not ours or in another order, or written without
    our triggers.
    """
    if not _stamps(conn)[0]:
        return
    what = next(iter(changed(conn).values()), None) or next(_strange(conn), None)
    if what is not None:
        raise StoreError(
            f"{path} was changed by another program: {what}, so what it shows is not what was recorded. "
            f"`ctxfuzz audit` tells all of it; go on with a copy that nobody changed, or choose another with --db."
        )


def _strange(conn: sqlite3.Connection) -> Iterator[str]:
    """Rows that no ctxfuzz writes in that place, and that readers would believe."""
    for table in _OF_ENDINGS:  # an index that leaves the newest seal out shows the cap of the one before
        yield from (said for (said,) in conn.execute(f"PRAGMA integrity_check({table})") if said != "ok")
    yield from misplaced(conn)
    yield from (f"run {run} goes on after it was done" for run, _ in after_their_answer(conn))


def _stamps(conn: sqlite3.Connection) -> tuple[int, int, int]:
    """Whose file it is, of which version, and how many tables and the like it has: one moment of it."""
    stamps: tuple[int, int, int] = conn.execute(
        "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master) "
        "FROM pragma_application_id, pragma_user_version"
    ).fetchone()
    return stamps

"""Has anybody changed runs.db since it was written? Every row is hashed again, in the order of its run's chain.

Found: an edited, deleted, reordered or slipped-in row, a link that is gone, a sealed run or its end that is gone
although a later seal names it; a run that goes on after it was done, or is named as ctxfuzz names none; runs in another
order (`store.order`); a table, view, trigger or index of ours that is gone or another one, and one on ours that is a
stranger's (`store.shape`). Not found without a copy of a head (`expect`): the last seal of all cut off, or everything
written anew; and rows cut off a run that was never sealed. An unsealed run is no problem: its process was killed, or is
still at work.
"""

from __future__ import annotations

import json
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fuzzer.store import connect
from fuzzer.store.chain import GENESIS, link
from fuzzer.store.clock import is_run_id
from fuzzer.store.errors import ILLEGIBLE, troubles_told
from fuzzer.store.order import misplaced
from fuzzer.store.rows import is_text
from fuzzer.store.shape import changed
from fuzzer.store.tables import LINKED, stored_columns

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from concurrent.futures import Future
    from pathlib import Path

    from sqlite_utils import Database

Place = tuple[str, int]  # a run and a position in it
Row = tuple[Any, ...]

END: Row = (None, 0)  # no row is left


@dataclass(frozen=True, slots=True)
class AuditProblem:
    """The first thing that is wrong with a run; without a run, with the file. `position` 0: not with one row."""

    run: str
    position: int
    what: str

    def __str__(self) -> str:
        where = f"run {self.run}: " if self.run else ""
        row = f"row {self.position}: " if self.position else ""
        return f"{where}{row}{self.what}"


@dataclass(slots=True)
class Audit:
    """What an audit found.

    `heads` are the hashes of all seals and whose each is, `named` those that a later seal names, `standing` the last
    ones of the runs that ended with one; `unsealed` are the runs still open.
    """

    problems: list[AuditProblem] = field(default_factory=list)
    unsealed: list[str] = field(default_factory=list)
    heads: dict[str, str] = field(default_factory=dict)
    standing: dict[str, str] = field(default_factory=dict)
    named: set[str] = field(default_factory=set)
    runs: int = 0
    rows: int = 0

    @property
    def sound(self) -> bool:
        return not self.problems

    @staticmethod
    def head(told: str) -> str:
        """A head as it is written here, however somebody gives it."""
        return told.strip().lower()

    @property
    def unnamed(self) -> set[str]:
        """The last heads: a copy of them, kept elsewhere, is what shows that the end of the trail is gone."""
        return self.heads.keys() - self.named


def audit(path: Path, expect: str | None = None) -> Audit:
    """Check every run, and that some seal's head is `expect`. Raises StoreError where the file cannot be read.

    Whether that seal stands, or its run went on after it, `heads` and `standing` tell.
    """
    with troubles_told(path), ThreadPoolExecutor(1) as meanwhile:
        damage = meanwhile.submit(_damage, path)
        found = _of_file(path, damage)
    if expect is not None and found.head(expect) not in found.heads:
        what = f"no seal has the head {expect}: the end of the trail is gone, or all of it was written anew"
        found.problems.append(AuditProblem("", 0, what))
    return found


def audit_run(db: Database, run: str) -> AuditProblem | None:
    """The first thing that is wrong with the rows of one run, inside the transaction that is open: what it says is not
    to be taken for what was recorded. Other runs, and its place among them, are not looked at.
    """
    tables = {name: _Rows(db, name, run) for name in LINKED}
    return _check_run(run, _Rows(db, "chain", run), tables, Audit(), {}) or _misnamed(run)


def _of_file(path: Path, damage: Future[list[str]]) -> Audit:
    """What the chains say; of a damaged file, only that it is one, and what is strange in it."""
    found = Audit()
    strange: Mapping[str, str] = {}
    try:
        with closing(connect.auditable(path)) as db:
            db.conn.execute("BEGIN")  # one moment of a database that may be growing
            strange = changed(db.conn)
            found.problems += _of_whole(strange.values())
            if strange.keys().isdisjoint(("chain", *LINKED)):  # else rows are not to be read at all
                _check_chains(db, found)
                found.problems += _of_whole(misplaced(db.conn))
    except (sqlite3.DatabaseError, TypeError):  # TypeError: bytes where a page says that there is a text
        if not damage.result():
            raise
    if damage.result():
        return Audit(_of_whole([*strange.values(), *(f"the file is damaged: {said}" for said in damage.result())]))
    return found


def _of_whole(wrong: Iterable[str]) -> list[AuditProblem]:
    return [AuditProblem("", 0, what) for what in wrong]


def _damage(path: Path) -> list[str]:
    """What SQLite finds wrong with the pages of the file, while another thread reads its rows."""
    with closing(connect.auditable(path)) as db:
        return [said for (said,) in db.conn.execute("PRAGMA integrity_check(1)") if said != "ok"]


def _check_chains(db: Database, found: Audit) -> None:
    tables = {name: _Rows(db, name) for name in LINKED}
    links = _Rows(db, "chain")
    named: dict[str, Place] = {}
    while (
        run := min((rows.run for rows in (links, *tables.values()) if rows.run is not None), default=None)
    ) is not None:
        found.runs += 1
        problem = _check_run(run, links, tables, found, named) or _misnamed(run)
        if problem is not None:
            found.problems.append(problem)
        for rows in (links, *tables.values()):
            rows.skip(run)
    found.named |= named.keys()
    for head, (run, position) in named.items():
        if head not in found.heads:
            what = f"it names a sealed run whose head was {head}: that run, or its end, is gone"
            found.problems.append(AuditProblem(run, position, what))


def _misnamed(run: str) -> AuditProblem | None:
    return None if is_run_id(run) else AuditProblem(run, 0, "ctxfuzz names no run so")


def _check_run(
    run: str, links: _Rows, tables: dict[str, _Rows], found: Audit, named: dict[str, Place]
) -> AuditProblem | None:
    """Walk one run along its chain, and stop at its first bad row."""
    previous, before, position, is_done = GENESIS, "", 0, False
    while links.run == run:
        position += 1
        _, at, kind, head = links.take()
        if at != position:
            return AuditProblem(run, position, "its link is gone")
        rows = tables.get(kind)
        if rows is None or rows.run != run or rows.position != position:
            return AuditProblem(run, position, f"its row in {kind} is gone")
        row = rows.take()
        if link(previous, kind, row) != head:
            what = "was changed" if all(map(is_text, (*row, head))) else "is damaged: it holds what is no UTF-8"
            return AuditProblem(run, position, f"its row in {kind}, or its link, {what}")
        if is_done or (kind == "runs") != (position == 1) or (before == "seals" and kind != "resumes"):
            why = ": the run was done, and no such run goes on" if is_done else ""
            return AuditProblem(run, position, f"a row of {kind} cannot stand here{why}")
        if kind == "seals":
            found.heads[head] = run
            is_done = row[rows.columns.index("status")] == "done"
            named |= dict.fromkeys(_heads(row[rows.columns.index("previous_heads_json")]), (run, position))
        previous, before = head, kind
        found.rows += 1
    for name, rows in tables.items():
        if rows.run == run:
            return AuditProblem(run, rows.position, f"its link is gone, and its row in {name} is not")
    if before == "seals":
        found.standing[run] = previous
    else:
        found.unsealed.append(run)
    return None


def _heads(named: str) -> list[str]:
    """The heads that a seal names; none where its row, though its hash fits, is none of ctxfuzz's."""
    try:
        return [head for head in json.loads(named) if isinstance(head, str)]
    except ILLEGIBLE:
        return []


class _Rows:
    """The rows of one table, or of one run in it, by run and position, without generated columns; `run` and `position`
    are the next one's.

    `run` is None where no row is left. Plain attributes, and raw tuples: an audit asks for them once a row.
    """

    __slots__ = ("_next", "_rows", "columns", "position", "run")

    run: str | None
    position: int

    def __init__(self, db: Database, table: str, only: str | None = None) -> None:
        self.columns = stored_columns(db, table)
        cursor = db.conn.cursor()
        cursor.row_factory = None
        which, values = ("", ()) if only is None else ("WHERE run = ?", (only,))
        chosen = f"SELECT {', '.join(self.columns)} FROM {table} {which} ORDER BY run, position"  # noqa: S608  (our own)
        self._rows: Iterator[Row] = cursor.execute(chosen, values)
        self._next = END
        self.take()

    def take(self) -> Row:
        """The next row; the one after it comes into sight."""
        taken, self._next = self._next, next(self._rows, END)
        self.run, self.position = self._next[:2]
        return taken

    def skip(self, run: str) -> None:
        while self.run == run:
            self.take()

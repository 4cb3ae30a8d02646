"""Has anybody changed runs.db since it was written? Every row is hashed again, in the order of its run's chain.

Found: an edited, deleted, reordered or slipped-in row, a link that is gone, a sealed run or its end that is gone
although a later seal names it. Not found without a copy of a head (`expect`): the last seal of all cut off, or
everything written anew; and rows cut off a run that was never sealed. An unsealed run is no problem: its process was
killed, or is still at work.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fuzzer.store import connect
from fuzzer.store.chain import GENESIS, link
from fuzzer.store.errors import troubles_told
from fuzzer.store.schema import LINKED, stored_columns

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sqlite_utils import Database

Place = tuple[str, int]  # a run and a position in it
Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class AuditProblem:
    """The first thing that is wrong with a run. `position` 0: not with one row."""

    run: str
    position: int
    what: str


@dataclass(slots=True)
class Audit:
    """What an audit found.

    `heads` are the hashes of all seals, `named` those that a later seal names; `unsealed` are the runs still open.
    """

    problems: list[AuditProblem] = field(default_factory=list)
    unsealed: list[str] = field(default_factory=list)
    heads: set[str] = field(default_factory=set)
    named: set[str] = field(default_factory=set)
    runs: int = 0
    rows: int = 0

    @property
    def sound(self) -> bool:
        return not self.problems

    @property
    def unnamed(self) -> set[str]:
        """The last heads: a copy of them, kept elsewhere, is what shows that the end of the trail is gone."""
        return self.heads - self.named


def audit(path: Path, expect: str | None = None) -> Audit:
    """Check every run, and that some seal's head is `expect`. Raises StoreError where the file cannot be read."""
    found = Audit()
    with troubles_told(path):
        db = connect.readable(path)
        try:
            db.conn.execute("BEGIN")  # one moment of a database that may be growing
            _check_file(db, found)
            if found.sound:
                _check_chains(db, found)
        finally:
            db.close()
    if expect is not None and expect.strip().lower() not in found.heads:
        what = f"no seal has the head {expect}: the end of the trail is gone, or all of it was written anew"
        found.problems.append(AuditProblem("", 0, what))
    return found


def _check_file(db: Database, found: Audit) -> None:
    for (said,) in db.conn.execute("PRAGMA quick_check(1)"):
        if said != "ok":
            found.problems.append(AuditProblem("", 0, f"the file is damaged: {said}"))


def _check_chains(db: Database, found: Audit) -> None:
    tables = {name: _Rows(db, name) for name in LINKED}
    links = _Rows(db, "chain")
    named: dict[str, Place] = {}
    while (run := min((rows.run for rows in (links, *tables.values()) if rows.run), default=None)) is not None:
        found.runs += 1
        problem = _check_run(run, links, tables, found, named)
        if problem is not None:
            found.problems.append(problem)
        for rows in (links, *tables.values()):
            rows.skip(run)
    found.named |= named.keys()
    for head, (run, position) in named.items():
        if head not in found.heads:
            what = f"it names a sealed run whose head was {head}: that run, or its end, is gone"
            found.problems.append(AuditProblem(run, position, what))


def _check_run(
    run: str, links: _Rows, tables: dict[str, _Rows], found: Audit, named: dict[str, Place]
) -> AuditProblem | None:
    """Walk one run along its chain, and stop at its first bad row."""
    previous, before, position = GENESIS, "", 0
    while links.run == run:
        position += 1
        _, at, kind, head = links.take()
        if at != position:
            return AuditProblem(run, position, "its link is gone")
        row = _row_at(tables, kind, (run, position))
        if row is None:
            return AuditProblem(run, position, f"its row in {kind} is gone")
        if link(previous, kind, row) != head:
            return AuditProblem(run, position, f"its row in {kind}, or its link, was changed")
        if (kind == "runs") != (position == 1) or (before == "seals" and kind != "resumes"):
            return AuditProblem(run, position, f"a row of {kind} cannot stand here")
        if kind == "seals":
            found.heads.add(head)
            heads = row[tables[kind].columns.index("previous_heads_json")]
            named |= dict.fromkeys(json.loads(heads), (run, position))
        previous, before = head, kind
        found.rows += 1
    for name, rows in tables.items():
        if rows.run == run:
            return AuditProblem(run, rows.take()[1], f"its link is gone, and its row in {name} is not")
    if before != "seals":
        found.unsealed.append(run)
    return None


def _row_at(tables: dict[str, _Rows], kind: str, place: Place) -> Row | None:
    rows = tables.get(kind)
    return rows.take() if rows is not None and rows.place == place else None


class _Rows:
    """The rows of one table by run and position, one at a time, without generated columns. The first two are these."""

    def __init__(self, db: Database, table: str) -> None:
        self.columns = stored_columns(db, table)
        cursor = db.conn.cursor()
        cursor.row_factory = None
        chosen = f"SELECT {', '.join(self.columns)} FROM {table} ORDER BY run, position"  # noqa: S608  (our own names)
        self._rows: Iterator[Row] = cursor.execute(chosen)
        self._next: Row | None = next(self._rows, None)

    @property
    def place(self) -> Place | None:
        return None if self._next is None else (self._next[0], self._next[1])

    @property
    def run(self) -> str | None:
        return None if self._next is None else str(self._next[0])

    def take(self) -> Row:
        """The next row, which must be there."""
        assert self._next is not None
        taken, self._next = self._next, next(self._rows, None)
        return taken

    def skip(self, run: str) -> None:
        while self.run == run:
            self.take()

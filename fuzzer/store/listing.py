"""Which runs are recorded, how did each go, and which one is meant?"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from fuzzer.finding import Finding
from fuzzer.store import codec, connect
from fuzzer.store.clock import is_run_id, utc_text
from fuzzer.store.errors import ILLEGIBLE, NoSuchRun, Unreadable, legible, troubles_told
from fuzzer.store.lock import holder
from fuzzer.store.records import Run, Seal, Status
from fuzzer.store.rows import record_of, whole
from fuzzer.store.views import in_order

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator
    from datetime import datetime
    from types import TracebackType

    from sqlite_utils import Database

_RUNS: Final = """
SELECT r.*, s.started_utc, s.ended_utc, s.status, s.probes, s.canaries, s.deaths, s.sealed_rows, s.chain_head,
    z.finding_json
FROM runs r JOIN run_states s USING (run) LEFT JOIN standing_seals z USING (run)
"""
# A run may hold what is no JSON: then it is no merge.
_IN_ORDER: Final = f"JOIN ({in_order('iif(json_valid(m.question_json), m.question_json, NULL)')}) o ON o.run = r.run"
_WANTED: Final = """
(:url IS NULL OR instr(r.url, :url)) AND (:model IS NULL OR instr(r.model, :model))
    AND (:finding IS NULL OR s.finding = :finding) AND (:since IS NULL OR r.at_utc >= :since)
"""
_OWN: Final = """
r.plan <> 'merge'
    AND CASE WHEN json_valid(r.settings_json) THEN r.settings_json ->> '$.control_of' END IS NULL
"""


def _left_out(_: Unreadable) -> None:
    """Whoever asks can do without."""


def _recorded(part: str | None) -> str | None:
    """How a row has it: what no row can hold is in none as it stands."""
    return None if part is None else codec.clean(part)


class Listing:
    """The runs of a runs.db, for reading. Safe to use from several threads, one at a time inside."""

    def __init__(self, path: Path, db: Database) -> None:
        self.path = path
        self._db = db
        self._turn = threading.RLock()

    @classmethod
    def open(cls, path: Path | str) -> Self:
        """Open for reading alone. Raises StoreError where there is no such file, or none that is ours."""
        path = Path(path)
        return cls(path, connect.readable(path))

    def close(self) -> None:
        with self._turn:
            self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def named(self, name: str) -> str:
        """The run of that id, of that unique beginning of an id, or `last`, which no control is. Raises NoSuchRun."""
        name = codec.clean(name)
        if name == "last":
            rows = self._rows(f"SELECT r.run FROM runs r {_IN_ORDER} WHERE {_OWN} ORDER BY o.nth DESC LIMIT 1")  # noqa: S608
        else:
            begins = "SELECT run FROM runs WHERE substr(run, 1, ?) = ? ORDER BY run LIMIT 2"
            rows = self._rows(begins, len(name), name)
        found = [str(row["run"]) for row in rows]
        if not found:
            raise NoSuchRun(f"{self.path} holds no run {name}. `ctxfuzz runs` lists those that it holds.")
        if len(found) > 1 and found[0] != name:
            raise NoSuchRun(f"More than one run begins with {name}. Type more of it; `ctxfuzz runs` lists them.")
        return found[0]

    def get(self, name: str) -> Run:
        """The run that is `named` so. Raises NoSuchRun, and Unreadable where its rows cannot be read."""
        run = self.named(name)
        with legible(self.path, run):
            return self._runs("WHERE r.run = ?", run)[0]

    def runs(
        self,
        *,
        url: str | None = None,
        model: str | None = None,
        finding: str | None = None,
        since: datetime | None = None,
        limit: int = -1,
        unreadable: Callable[[Unreadable], None] = _left_out,
    ) -> list[Run]:
        """The runs, newest first, whatever the clock said; `url` and `model` need only be part of theirs.

        `unreadable` is told of each that cannot be read: it is not among them.
        """
        wanted = {
            "url": _recorded(url),
            "model": _recorded(model),
            "finding": _recorded(finding),
            "since": None if since is None else utc_text(since),
        }
        try:
            return self._runs(f"{_IN_ORDER} WHERE {_WANTED} ORDER BY o.nth DESC LIMIT :limit", **wanted, limit=limit)
        except (Unreadable, *ILLEGIBLE):
            found = list(self._one_by_one(wanted, unreadable))
            return found if limit < 0 else found[:limit]

    def _one_by_one(self, wanted: dict[str, str | None], unreadable: Callable[[Unreadable], None]) -> Iterator[Run]:
        for row in self._rows(f"SELECT r.run FROM runs r {_IN_ORDER} ORDER BY o.nth DESC"):  # noqa: S608  (our own)
            try:
                with legible(self.path, row["run"]):
                    found = self._runs(f"WHERE r.run = :run AND {_WANTED}", **wanted, run=row["run"])
            except Unreadable as why:
                unreadable(why)
            else:
                yield from found

    def _runs(self, tail: str, *values: object, **named: object) -> list[Run]:
        return [self._run(row) for row in self._rows(_RUNS + tail, *values, **named)]

    def _run(self, row: sqlite3.Row) -> Run:
        """Raises ValueError where it cannot be read, or is named as no run is: a name goes into command lines."""
        if not is_run_id(whole(row)["run"]):
            raise ValueError("ctxfuzz names no run so")
        return Run(
            run=row["run"],
            record=record_of(row),
            started_utc=row["started_utc"],
            user=row["user"],
            host=row["host"],
            ctxfuzz_version=row["ctxfuzz_version"],
            status=self._status(row),
            ended_utc=row["ended_utc"],
            finding=None if row["finding_json"] is None else codec.loads(Finding, row["finding_json"]),
            seal=None if row["chain_head"] is None else Seal(row["sealed_rows"], row["chain_head"]),
            probes=row["probes"],
            canaries=row["canaries"],
            deaths=row["deaths"],
        )

    def _status(self, row: sqlite3.Row) -> Status:
        if row["status"] != "open":
            status: Status = row["status"]
            return status
        at_work = holder(self.path, row["url"])
        return "running" if at_work is not None and at_work.run == row["run"] else "interrupted"

    def _rows(self, sql: str, *values: object, **named: object) -> list[sqlite3.Row]:
        with self._told():
            return self._db.execute(sql, named or values).fetchall()

    @contextmanager
    def _told(self) -> Iterator[None]:
        with self._turn, troubles_told(self.path):
            yield

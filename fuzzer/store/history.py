"""What has been recorded? Reading runs.db, also while a run writes it, also where nobody may write."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from fuzzer.finding import Finding
from fuzzer.model import FAIL_ON_DEFAULT, Corroboration, Observation, Outcome, Side, side_of
from fuzzer.store import codec, connect
from fuzzer.store.clock import utc_text
from fuzzer.store.errors import NoSuchRun, troubles_told
from fuzzer.store.lock import holder, target_key
from fuzzer.store.records import Death, Failure, Intent, Run, Seal, Status
from fuzzer.store.rows import after_revival, intent_of, observation_of, record_of
from fuzzer.store.schema import LINKED, stored_columns
from fuzzer.store.views import IN_ORDER

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator
    from datetime import datetime
    from types import TracebackType

    from sqlite_utils import Database

    from fuzzer.store.chain import Value

_RUNS = """
SELECT r.*, s.started_utc, s.ended_utc, s.status, s.probes, s.canaries, s.deaths, s.sealed_rows, s.chain_head,
    z.finding_json
FROM runs r JOIN run_states s USING (run) LEFT JOIN standing_seals z USING (run)
"""
_IN_ORDER = f"JOIN ({IN_ORDER}) o ON o.run = r.run"


class History:
    """runs.db, for reading. Safe to use from several threads, one at a time inside."""

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

    def get(self, name: str) -> Run:
        """The run of that id, of that unique beginning of an id, or `last`, which no control is. Raises NoSuchRun."""
        if name == "last":
            own = "r.plan <> 'merge' AND r.settings_json ->> '$.control_of' IS NULL"
            found = self._runs(f"{_IN_ORDER} WHERE {own} ORDER BY o.nth DESC LIMIT 1")
        else:
            found = self._runs("WHERE substr(r.run, 1, ?) = ? ORDER BY r.run LIMIT 2", len(name), name)
        if not found:
            raise NoSuchRun(f"{self.path} holds no run {name}. `ctxfuzz runs` lists those that it holds.")
        if len(found) > 1 and found[0].run != name:
            raise NoSuchRun(f"More than one run begins with {name}. Type more of it; `ctxfuzz runs` lists them.")
        return found[0]

    def runs(
        self,
        *,
        url: str | None = None,
        model: str | None = None,
        finding: str | None = None,
        since: datetime | None = None,
        limit: int = -1,
    ) -> list[Run]:
        """The runs, newest first, whatever the clock said; `url` and `model` need only be part of theirs."""
        return self._runs(
            f"""
            {_IN_ORDER}
            WHERE (:url IS NULL OR instr(r.url, :url)) AND (:model IS NULL OR instr(r.model, :model))
              AND (:finding IS NULL OR s.finding = :finding) AND (:since IS NULL OR r.at_utc >= :since)
            ORDER BY o.nth DESC LIMIT :limit
            """,
            url=url,
            model=model,
            finding=finding,
            since=None if since is None else utc_text(since),
            limit=limit,
        )

    def observations(self, run: str) -> list[Observation]:
        """What each answered probe showed, in order, exactly as it was recorded; with its revival, if that is known,
        and marked where a later session went on after it.
        """
        rows = self._rows(
            """
            SELECT seq, observation_json, spec_json FROM outcomes JOIN probes USING (run, seq)
            WHERE run = ? ORDER BY seq
            """,
            run,
        )
        seen = {row["seq"]: observation_of(row) for row in rows}
        for row in self._rows("SELECT * FROM revivals WHERE run = ? AND seq IS NOT NULL ORDER BY position", run):
            if (before := seen.get(row["seq"])) is not None:
                seen[row["seq"]] = after_revival(before, row)
        for seq in self._resumed_after(run):
            seen[seq] = replace(seen[seq], resumed_after=True)
        return list(seen.values())

    def _resumed_after(self, run: str) -> list[int]:
        """The probes that were the last ones of their sessions."""
        rows = self._rows(
            """
            SELECT DISTINCT max(o.seq) AS seq
            FROM resumes s JOIN outcomes o ON o.run = s.run AND o.position < s.position
            WHERE s.run = ? GROUP BY s.position
            """,
            run,
        )
        return [row["seq"] for row in rows]

    def open_intents(self, run: str) -> list[Intent]:
        """The probes that left, or were about to, and of which nothing more is known."""
        rows = self._rows(
            """
            SELECT p.* FROM probes p LEFT JOIN outcomes o USING (run, seq)
            WHERE p.run = ? AND o.seq IS NULL ORDER BY p.seq
            """,
            run,
        )
        return [intent_of(row) for row in rows]

    def intents(self, run: str) -> list[Intent]:
        """Every probe that was asked for, in order."""
        return [intent_of(row) for row in self._rows("SELECT * FROM probes WHERE run = ? ORDER BY seq", run)]

    def deaths(self, run: str) -> list[Death]:
        """The engine's deaths in the order in which they were seen, each with its last words."""
        columns = "seq, at_utc, at_s, corroboration, signature, last_words"
        rows = self._rows(f"SELECT {columns} FROM deaths WHERE run = ? ORDER BY position", run)  # noqa: S608  (ours)
        return [Death(**{**dict(row), "corroboration": Corroboration(row["corroboration"])}) for row in rows]

    def notes(self, run: str) -> list[str]:
        """What the reader must know of the run, in the order in which it was noted."""
        return [str(row["text"]) for row in self._rows("SELECT text FROM notes WHERE run = ? ORDER BY position", run)]

    def active_s(self, run: str) -> float:
        """Active seconds of the run up to the last row that was recorded."""
        return float(self._rows("SELECT coalesce(max(at_s), 0.0) AS at_s FROM timeline WHERE run = ?", run)[0]["at_s"])

    def timeline(self, run: str) -> list[dict[str, Any]]:
        """Every row of the run in the order in which it was written: position, at_utc, at_s, kind, what."""
        return [dict(row) for row in self._rows("SELECT * FROM timeline WHERE run = ? ORDER BY position", run)]

    def columns(self) -> dict[str, list[str]]:
        """The columns of every table and view, also those that are generated."""
        rows = self._rows(
            """
            SELECT m.name, x.name AS column FROM sqlite_master m JOIN pragma_table_xinfo(m.name) x
            WHERE m.type IN ('table', 'view') ORDER BY m.name, x.cid
            """
        )
        return {name: [row["column"] for row in group] for name, group in groupby(rows, key=itemgetter("name"))}

    def links(self, run: str) -> Iterator[tuple[int, str, dict[str, Value], str]]:
        """The run's chain: position, table, the row as the hash covers it, and the hash (`store.chain` tells how)."""
        columns = {table: stored_columns(self._db, table) for table in LINKED}
        for at in self._rows("SELECT position, kind, hash FROM chain WHERE run = ? ORDER BY position", run):
            chosen = ", ".join(columns[at["kind"]])
            (row,) = self._rows(
                f"SELECT {chosen} FROM {at['kind']} WHERE run = ? AND position = ?",  # noqa: S608  (our own names)
                run,
                at["position"],
            )
            yield at["position"], at["kind"], dict(row), at["hash"]

    def known_failures(
        self, url: str, model: str, engine_version: str | None, fail_on: frozenset[Outcome] = FAIL_ON_DEFAULT
    ) -> list[Failure]:
        """Failures of this very build at this very target, shortest first; none where the version is not known.

        Conditions (output, content, cache, ...) may differ: they are in each observation's spec.
        """
        rows = self._rows(
            """
            SELECT o.run, r.url, o.at_utc, o.seq, o.observation_json, p.spec_json
            FROM runs r JOIN outcomes o USING (run) JOIN probes p USING (run, seq)
            WHERE r.model = ? AND r.engine_version = ? AND o.outcome IN (SELECT value FROM json_each(?))
            """,
            model,
            engine_version,
            codec.dumps([outcome for outcome in Outcome if side_of(outcome, fail_on) is Side.BAD]),
        )
        here = [row for row in rows if target_key(row["url"]) == target_key(url)]
        found = [Failure(row["run"], row["at_utc"], observation_of(row)) for row in here]
        return sorted(found, key=lambda failure: failure.observation.length)

    def _runs(self, tail: str, *values: object, **named: object) -> list[Run]:
        return [self._run(row) for row in self._rows(_RUNS + tail, *values, **named)]

    def _run(self, row: sqlite3.Row) -> Run:
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

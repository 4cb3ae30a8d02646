"""What has been recorded? Reading runs.db, also while a run writes it, also where nobody may write."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from fuzzer.model import FAIL_ON_DEFAULT, Corroboration, Observation, Outcome, Side, side_of
from fuzzer.store import codec
from fuzzer.store.errors import Unreadable, legible
from fuzzer.store.listing import Listing
from fuzzer.store.lock import target_key
from fuzzer.store.records import Death, Failure, Intent
from fuzzer.store.rows import after_revival, intent_of, observation_of
from fuzzer.store.schema import LINKED, stored_columns

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

    from fuzzer.store.chain import Value


class History(Listing):
    """runs.db, for reading: the runs, and all that is recorded of each. Raises Unreadable where rows cannot be read."""

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
        with legible(self.path, run):
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
        with legible(self.path, run):
            return [intent_of(row) for row in rows]

    def intents(self, run: str) -> list[Intent]:
        """Every probe that was asked for, in order."""
        rows = self._rows("SELECT * FROM probes WHERE run = ? ORDER BY seq", run)
        with legible(self.path, run):
            return [intent_of(row) for row in rows]

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

        Conditions (output, content, cache, ...) may differ: they are in each observation's spec. What cannot be read is
        left out.
        """
        rows = self._rows(
            """
            SELECT o.run, r.url, o.at_utc, o.seq, o.observation_json, p.spec_json
            FROM runs r JOIN outcomes o USING (run) JOIN probes p USING (run, seq)
            WHERE r.model = ? AND r.engine_version = ?
              AND CASE WHEN json_valid(o.observation_json) THEN o.outcome END IN (SELECT value FROM json_each(?))
            """,
            model,
            engine_version,
            codec.dumps([outcome for outcome in Outcome if side_of(outcome, fail_on) is Side.BAD]),
        )
        here = [row for row in rows if target_key(row["url"]) == target_key(url)]
        found = [failure for row in here if (failure := self._failure(row)) is not None]
        return sorted(found, key=lambda failure: failure.observation.length)

    def _failure(self, row: sqlite3.Row) -> Failure | None:
        try:
            with legible(self.path, row["run"]):
                return Failure(row["run"], row["at_utc"], observation_of(row))
        except Unreadable:
            return None

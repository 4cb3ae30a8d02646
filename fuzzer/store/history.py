"""What has been recorded? Reading runs.db, also while a run writes it, also where nobody may write."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeVar

from fuzzer.model import FAIL_ON_DEFAULT, Outcome, Side, side_of
from fuzzer.observation import Observation
from fuzzer.store import codec
from fuzzer.store.audit import audit
from fuzzer.store.errors import ILLEGIBLE, Unreadable, legible, raised
from fuzzer.store.listing import Listing
from fuzzer.store.lock import target_key
from fuzzer.store.records import Death, Failure, Intent
from fuzzer.store.rows import after_revival, death_of, intent_of, observation_of, whole
from fuzzer.store.schema import LINKED, stored_columns

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator, Mapping
    from types import TracebackType

    from fuzzer.store.chain import Value

    Link = tuple[int, str, dict[str, Value], str]

T = TypeVar("T")
_MISREAD = (*ILLEGIBLE, LookupError, AttributeError, ArithmeticError)  # what misplaced values lead to


class History(Listing):
    """runs.db, for reading: the runs, and all that is recorded of each. Raises Unreadable where rows cannot be read.

    So does leaving it by an error, where the record is not as it was written: else the error is a bug of ours.
    """

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        if isinstance(error, _MISREAD) and (wrong := next(iter(audit(self.path).problems), None)) is not None:
            raise Unreadable(
                f"{self.path} holds what cannot be read ({error!r:.200}), and is not as it was written "
                f"({wrong}). `ctxfuzz audit` tells all of it."
            ) from error

    def observations(self, run: str) -> list[Observation]:
        """What each answered probe showed, in order, exactly as it was recorded; with its revival, if that is known,
        and marked where a later session went on after it.
        """
        observed = self._read(
            run,
            """
            SELECT seq, observation_json, spec_json FROM outcomes JOIN probes USING (run, seq)
            WHERE run = ? ORDER BY seq
            """,
            observation_of,
        )
        seen = {one.seq: one for one in observed}
        waits = "SELECT * FROM revivals WHERE run = ? AND seq IS NOT NULL ORDER BY position"
        for row in self._read(run, waits, dict):
            if (before := seen.get(row["seq"])) is not None:
                seen[row["seq"]] = after_revival(before, row)
        for death in self.deaths(run):
            hung = None if death.seq is None else seen.get(death.seq)
            if hung is not None and hung.ends_late:
                seen[hung.seq] = hung.ended_by(death.signature)
        for seq in self._resumed_after(run):
            seen[seq] = replace(seen[seq], resumed_after=True)
        return list(seen.values())

    def _resumed_after(self, run: str) -> list[int]:
        """The probes that were the last ones of their sessions."""
        return self._read(
            run,
            """
            SELECT DISTINCT max(o.seq) AS seq
            FROM resumes s JOIN outcomes o ON o.run = s.run AND o.position < s.position
            WHERE s.run = ? GROUP BY s.position
            """,
            itemgetter("seq"),
        )

    def open_intents(self, run: str) -> list[Intent]:
        """The probes that left, or were about to, and of which nothing more is known."""
        return self._read(
            run,
            """
            SELECT p.* FROM probes p LEFT JOIN outcomes o USING (run, seq)
            WHERE p.run = ? AND o.seq IS NULL ORDER BY p.seq
            """,
            intent_of,
        )

    def intents(self, run: str) -> list[Intent]:
        """Every probe that was asked for, in order."""
        return self._read(run, "SELECT * FROM probes WHERE run = ? ORDER BY seq", intent_of)

    def deaths(self, run: str) -> list[Death]:
        """The engine's deaths in the order in which they were seen, each with its last words."""
        columns = "seq, at_utc, at_s, corroboration, signature, last_words"
        return self._read(run, f"SELECT {columns} FROM deaths WHERE run = ? ORDER BY position", death_of)  # noqa: S608

    def notes(self, run: str) -> list[str]:
        """What the reader must know of the run, in the order in which it was noted."""
        return self._read(run, "SELECT text FROM notes WHERE run = ? ORDER BY position", itemgetter("text"))

    def active_s(self, run: str) -> float:
        """Active seconds of the run up to the last row that was recorded."""
        last = "SELECT coalesce(max(at_s), 0.0) AS at_s FROM timeline WHERE run = ?"
        (active_s,) = self._read(run, last, lambda row: float(row["at_s"]))
        return active_s

    def timeline(self, run: str) -> list[dict[str, Any]]:
        """Every row of the run in the order in which it was written: position, at_utc, at_s, kind, what."""
        return self._read(run, "SELECT * FROM timeline WHERE run = ? ORDER BY position", dict)

    def _read(self, run: str, sql: str, read: Callable[[sqlite3.Row], T]) -> list[T]:
        """What the rows of a run say. Raises Unreadable where one of them says nothing that can be read."""
        with legible(self.path, run):
            return [read(whole(row)) for row in self._rows(sql, run)]

    def columns(self) -> dict[str, list[str]]:
        """The columns of every table and view, also those that are generated."""
        rows = self._rows(
            """
            SELECT m.name, x.name AS column FROM sqlite_master m JOIN pragma_table_xinfo(m.name) x
            WHERE m.type IN ('table', 'view') ORDER BY m.name, x.cid
            """
        )
        return {name: [row["column"] for row in group] for name, group in groupby(rows, key=itemgetter("name"))}

    def links(self, run: str, unreadable: Callable[[Unreadable], None] = raised) -> Iterator[Link]:
        """The run's chain: position, table, the row as the hash covers it, and the hash (`store.chain` tells how).

        `unreadable` is told of each row that cannot be read, or is gone: it is not among them.
        """
        columns = {table: ", ".join(stored_columns(self._db, table)) for table in LINKED}
        for at in self._rows("SELECT position, kind, hash FROM chain WHERE run = ? ORDER BY position", run):
            try:
                row = self._linked(run, whole(at), columns)
            except (Unreadable, *ILLEGIBLE) as error:
                why = f"Row {at['position']} of run {run} cannot be read ({error}): `ctxfuzz audit` says whether "
                unreadable(Unreadable(f"{why}anybody changed it."))
            else:
                yield at["position"], at["kind"], row, at["hash"]

    def _linked(self, run: str, at: sqlite3.Row, columns: Mapping[str, str]) -> dict[str, Value]:
        """The row that a link covers. Raises ValueError where there is none."""
        kind, position = at["kind"], at["position"]
        if kind not in columns:
            raise ValueError(f"ctxfuzz has no table {kind!r:.80}")
        found = self._rows(f"SELECT {columns[kind]} FROM {kind} WHERE run = ? AND position = ?", run, position)  # noqa: S608
        if not found:
            raise ValueError(f"its row in {kind} is gone")
        return dict(whole(found[0]))

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
        target = target_key(url)
        found = [failure for row in rows if (failure := self._failure(row, target)) is not None]
        return sorted(found, key=lambda failure: failure.observation.length)

    def _failure(self, row: sqlite3.Row, target: str) -> Failure | None:
        """None of another target, and where it cannot be read."""
        try:
            if target_key(whole(row)["url"]) == target:
                return Failure(row["run"], row["at_utc"], observation_of(row))
        except ILLEGIBLE:
            pass
        return None

"""What has been recorded? Reading runs.db, also while a run writes it, also where nobody may write."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any, TypeVar

from fuzzer.observation import Observation
from fuzzer.store.audit import audit, audit_run
from fuzzer.store.errors import ILLEGIBLE, Changed, Unreadable, legible, raised
from fuzzer.store.known import Known
from fuzzer.store.records import Death, Intent
from fuzzer.store.rows import as_it_ended, death_of, grouped, intent_of, observation_of, whole
from fuzzer.store.tables import LINKED, stored_columns

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator, Mapping
    from types import TracebackType

    from fuzzer.store.chain import Value
    from fuzzer.store.records import Run

    Link = tuple[int, str, dict[str, Value], str]

T = TypeVar("T")
_MISREAD = (*ILLEGIBLE, LookupError, AttributeError, ArithmeticError)  # what misplaced values lead to


class History(Known):
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

    def trusted(self, name: str) -> Run:
        """The run that is `named` so, for whoever acts on what it says: each of its rows is hashed again first.

        Raises NoSuchRun, Changed where a row is not as it was written, and Unreadable.
        """
        run = self.named(name)
        with self._told(), legible(self.path, run), self._moment():
            wrong = audit_run(self._db, run)
        if wrong is not None:
            raise Changed(
                f"{self.path} is not as it was written ({wrong}), so what that run says is not what was recorded. "
                f"`ctxfuzz audit` tells all of it; go on with a copy that nobody changed, or make a new run."
            )
        return self.get(run)

    @contextmanager
    def _moment(self) -> Iterator[None]:
        """All that is read inside is of one moment of a record that may be growing."""
        self._db.conn.execute("BEGIN")
        try:
            yield
        finally:
            self._db.conn.rollback()

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
        rows = self._read(run, "SELECT * FROM revivals WHERE run = ? AND seq IS NOT NULL ORDER BY position", dict)
        waits = grouped(rows, itemgetter("seq"))
        deaths = grouped(self.deaths(run), attrgetter("seq"))
        seen = {
            one.seq: as_it_ended(one, waits.get(one.seq, []), (each.signature for each in deaths.get(one.seq, [])))
            for one in observed
        }
        for seq in self._resumed_after(run):
            seen[seq] = replace(seen[seq], resumed_after=True)
        return list(seen.values())

    def _resumed_after(self, run: str) -> list[int]:
        """The probes that were the last ones of their sessions: none was even about to leave after them."""
        return self._read(
            run,
            """
            SELECT DISTINCT max(o.seq) AS seq
            FROM resumes s JOIN outcomes o ON o.run = s.run AND o.position < s.position
            WHERE s.run = ? GROUP BY s.position
            HAVING max(o.seq) = (SELECT max(p.seq) FROM probes p WHERE p.run = s.run AND p.position < s.position)
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

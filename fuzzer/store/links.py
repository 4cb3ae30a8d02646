"""How does a row become the next link of its run's chain? Masked, written, read back and linked in one transaction."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, cast

from fuzzer.store import codec, connect
from fuzzer.store.chain import GENESIS, Value, link
from fuzzer.store.clock import utc_now
from fuzzer.store.errors import StoreError
from fuzzer.store.history import History
from fuzzer.store.records import Seal
from fuzzer.store.tables import LINKED, stored_columns

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sqlite_utils import Database

    from fuzzer.store.masking import Secrets

_TEXT_CHARS: Final = 8192


class Links(History):
    """A record to which rows are added, and in which none is ever changed. No secret is written."""

    def __init__(self, path: Path, db: Database, secrets: Secrets) -> None:
        super().__init__(path, db)
        self._secrets = secrets
        self._columns = {table: ", ".join(stored_columns(db, table)) for table in LINKED}

    def _append(self, table: str, run: str, **values: object) -> Seal:
        with self._transaction():
            position, previous = self._end_of(run, table)
            row: dict[str, Value] = {"run": run, "position": position + 1, "at_utc": utc_now()}
            row |= {name: self._fit(name, value) for name, value in values.items()}
            names = ", ".join(row)
            marks = ", ".join(f":{name}" for name in row)
            self._db.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", row)  # noqa: S608  (our own names)
            stored = f"SELECT {self._columns[table]} FROM {table} WHERE run = ? AND position = ?"  # noqa: S608
            written = self._db.execute(stored, (run, position + 1)).fetchone()
            if written is None or any(written[name] != value for name, value in row.items()):
                raise StoreError(f"{self.path} keeps another row than was written: somebody put a trigger on it.")
            head = link(previous, table, tuple(written))
            self._db.execute("INSERT INTO chain VALUES (?, ?, ?, ?)", (run, position + 1, table, head))
            return Seal(position + 1, head)

    def _end_of(self, run: str, table: str) -> tuple[int, str]:
        """Position and hash of the run's last row, after which a row of `table` comes."""
        last = "SELECT position, hash, kind FROM chain WHERE run = ? ORDER BY position DESC LIMIT 1"
        found = self._db.execute(last, (run,)).fetchone()
        if found is None:
            assert table == "runs", f"run {run} was never begun"
            return 0, GENESIS
        assert found["kind"] != "seals" or table == "resumes", f"run {run} is sealed: reopen it first"
        return found["position"], found["hash"]

    def _fit(self, name: str, value: object) -> Value:
        """What the column takes: text without secrets; of one that ends in `_json`, any value as JSON."""
        if value is None or not (isinstance(value, str) or name.endswith("_json")):
            return cast("Value", value)
        fit = self._secrets.out_of_json(codec.encode(value), name.removesuffix("_json"))
        return codec.text_of(fit) if name.endswith("_json") else str(fit)[:_TEXT_CHARS]

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._told():
            if self._db.conn.in_transaction:
                yield
                return
            with connect.immediate(self._db):
                yield

"""How do the runs of another runs.db come into this one? Whole, link by link, with the hashes that they have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Never

from fuzzer.store.audit import audit
from fuzzer.store.errors import StoreError, Unreadable

if TYPE_CHECKING:
    from sqlite_utils import Database

    from fuzzer.store.history import History
    from fuzzer.store.records import Run

_CHAIN = "SELECT hash FROM chain WHERE run = ? ORDER BY position"


@dataclass(frozen=True, slots=True)
class Merged:
    """Which runs came, oldest first, and which were here already. `heads` are the seals among them that none names."""

    added: tuple[str, ...]
    known: tuple[str, ...]
    heads: tuple[str, ...]


def take_runs(ours: Database, theirs: History) -> Merged:
    """Add every run of theirs that ours lacks, inside the transaction that is open. Raises StoreError."""
    found = audit(theirs.path)
    if not found.sound:
        raise StoreError(f"{theirs.path} does not check ({found.problems[0]}). Nothing was merged.")
    added: list[str] = []
    known: list[str] = []
    for run in reversed(theirs.runs(unreadable=_refuse)):
        (known if _is_here(ours, theirs, run) else added).append(run.run)
    for name in added:
        for position, kind, row, head in theirs.links(name):
            marks = ", ".join("?" * len(row))
            ours.execute(f"INSERT INTO {kind} ({', '.join(row)}) VALUES ({marks})", tuple(row.values()))  # noqa: S608
            ours.execute("INSERT INTO chain VALUES (?, ?, ?, ?)", (name, position, kind, head))
    return Merged(tuple(added), tuple(known), tuple(sorted(found.unnamed)))


def _refuse(why: Unreadable) -> Never:
    raise StoreError(f"{why} Nothing was merged.") from why


def _is_here(ours: Database, theirs: History, run: Run) -> bool:
    """Whether ours holds the very same run. Raises StoreError where it holds another one, or where it still grows."""
    if run.status == "running":
        raise StoreError(f"Run {run.run} of {theirs.path} is still at work. Wait for it to end; nothing was merged.")
    here = [head for (head,) in ours.execute(_CHAIN, (run.run,))]
    if here and here != [head for _, _, _, head in theirs.links(run.run)]:
        raise StoreError(
            f"Both databases hold a run {run.run}, and they are not the same. Nothing was merged; "
            f"see which one you trust with `ctxfuzz audit {run.run}`."
        )
    return bool(here)

"""How does it read whether two engines generate the same? PURE: tables, and `ctxfuzz.same/1`.

What engines generated is shown here, on purpose: some words around a divergence, bounded, without control characters.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from fuzzer.measure.sameness import Sameness, Verdict
from fuzzer.report.plain import plain
from fuzzer.report.tables import aligned
from fuzzer.report.words import plural, tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fuzzer.measure.evals import Evals, Row
    from fuzzer.measure.sameness import Cell, Divergence

SCHEMA: Final = "ctxfuzz.same/1"
COLUMNS: Final = ("length", "content", "compared", "needles", "result")
EVAL_COLUMNS: Final = ("task", "metric", "target", "control", "points", "p", "p (Holm)", "sees from", "test")
WORDS_CHARS: Final = 60


@dataclass(frozen=True, slots=True)
class Control:
    """Whom a target was compared with; `run` is None where it could not be asked."""

    name: str
    url: str
    run: str | None


def same_object(told: Sameness, control: Control) -> dict[str, Any]:
    """What comparing came to, as plain JSON types; the keys of the run come before."""
    return {
        "schema": SCHEMA,
        "control": asdict(control),
        "verdict": told.verdict.value,
        "words": told.words,
        "noise": {"contradicted": told.noisy, "repeated": told.repeated, "p": told.p},
        "cells": [_cell_object(cell) for cell in told.cells],
    }


def same_text(told: Sameness) -> str:
    """The table, each divergence in its words, and what it comes to."""
    rows = [
        (tokens(cell.length), cell.content, _compared(cell), _needles(cell), plain(cell.words, 120))
        for cell in told.cells
    ]
    lines = [aligned([COLUMNS, *rows], left=(1, 2, 3, 4))]
    for cell in told.cells:
        if cell.divergence is not None and cell.divergence.char is not None:
            lines += _parting(cell, cell.divergence)
    return "\n".join([*lines, f"{told.verdict}: {told.words}"])


def evals_object(told: Evals) -> dict[str, Any]:
    """The object of `same --eval --json`."""
    return {
        "schema": SCHEMA,
        "verdict": told.verdict.value,
        "words": evals_words(told),
        "tasks": [_row_object(row) for row in told.rows],
        "notes": [plain(note, 400) for note in told.notes],
    }


def evals_text(told: Evals) -> str:
    """The table of differences, what a reader must know before, and what it comes to."""
    rows = [
        (
            plain(row.task, 60),
            plain(row.metric, 30),
            _share(row.target.right, row.target.items),
            _share(row.control.right, row.control.items),
            f"{row.difference * 100:+.2f}",
            f"{row.p:.3g}",
            f"{row.p_holm:.3g}",
            f"{row.smallest * 100:.1f} points",
            row.test.value if row.discordant is None else f"{row.test.value} ({row.discordant[0]}:{row.discordant[1]})",
        )
        for row in told.rows
    ]
    table = [aligned([EVAL_COLUMNS, *rows], left=(0, 1, 8))] if rows else []
    return "\n".join([*(f"note: {plain(note, 400)}" for note in told.notes), *table, evals_words(told)])


def evals_words(told: Evals) -> str:
    """What the table comes to, in one sentence."""
    if not told.rows:
        return "undecidable: the two results have no task in common whose right answers can be counted"
    blind = max(told.rows, key=lambda row: row.smallest)
    items = min(blind.target.items, blind.control.items)
    limits = (
        f"{tokens(items)} items of {plain(blind.task, 60)} cannot see under about {blind.smallest * 100:.1f} points"
    )
    differ = [row for row in told.rows if row.verdict is Verdict.DIFFERENT]
    if differ:
        named = ", ".join(f"{plain(row.task, 60)} {row.difference * 100:+.2f} points" for row in differ)
        return f"different: {named}; {limits}"
    return f"same: no significant difference in {plural(len(told.rows), 'comparison')}; {limits}"


def _cell_object(cell: Cell) -> dict[str, Any]:
    parted = cell.divergence
    told = None if parted is None else {**asdict(parted), **_words(parted)}
    return {
        "length": cell.length,
        "content": cell.content,
        "verdict": cell.verdict.value,
        "words": cell.words,
        "compared": cell.compared,
        "by": cell.by,
        "divergence": told,
        "needles": None if cell.needles is None else asdict(cell.needles),
    }


def _row_object(row: Row) -> dict[str, Any]:
    return {
        **asdict(row),
        "task": plain(row.task, 200),
        "metric": plain(row.metric, 100),
        "test": row.test.value,
        "difference": row.difference,
        "verdict": row.verdict.value,
    }


def _words(parted: Divergence) -> dict[str, str]:
    return {
        "before": plain(parted.before, WORDS_CHARS),
        "one": plain(parted.one, WORDS_CHARS),
        "other": plain(parted.other, WORDS_CHARS),
    }


def _parting(cell: Cell, parted: Divergence) -> Iterator[str]:
    """A divergence in three lines; between an answer and its repetition where the engine contradicts itself."""
    words = _words(parted)
    one, other = ("target", "control") if cell.verdict is Verdict.DIFFERENT else ("first", "again")
    yield f"{tokens(cell.length)} {cell.content}, {parted.where}: ...{words['before']}"
    yield f"  {one:<8} ...{words['one']}"
    yield f"  {other:<8} ...{words['other']}"


def _compared(cell: Cell) -> str:
    if cell.by is None:
        return "-"
    return plural(cell.compared, "token" if cell.by == "ids" else "character")


def _needles(cell: Cell) -> str:
    return "-" if cell.needles is None else f"head: {cell.needles.head}, tail: {cell.needles.tail}"


def _share(right: int, items: int) -> str:
    return f"{right / items:.2%} of {tokens(items)}"

"""How does a table read? PURE: as CSV in which nothing is a formula, and as lines with aligned columns."""

from __future__ import annotations

import csv as rfc4180
import io
from typing import TYPE_CHECKING, Final

from fuzzer.report.plain import plain

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from fuzzer.observation import Observation

Cell = str | int | float | bool | None

PROBES: Final = tuple(
    """
    seq role asked_tokens length_tokens length_source output_tokens content mode outcome corroboration deaths started_s
    duration_s ttft_s cost_s revival_s completion_tokens mean_acceptance_length signature reason
    """.split()  # noqa: SIM905  (a list of columns reads like one)
)
FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


def csv(columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """CSV with a heading. A text that a spreadsheet would compute is given an apostrophe in front."""
    written = io.StringIO()
    writer = rfc4180.writer(written, lineterminator="\r\n")
    writer.writerow(columns)
    writer.writerows([_inert(cell) for cell in row] for row in rows)
    return written.getvalue()


def _inert(cell: Cell) -> Cell:
    if not isinstance(cell, str):
        return cell
    text = plain(cell, 1000)
    return f"'{text}" if text.startswith(FORMULA) else text


def aligned(lines: Sequence[Sequence[str]], left: Collection[int] = ()) -> str:
    """Plain lines with aligned columns, the heading first; figures to the right, the columns of `left` to the left."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if at in left else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def probe_row(seen: Observation) -> tuple[Cell, ...]:
    """One probe, in the order of `PROBES`."""
    return (
        seen.seq,
        seen.spec.role,
        seen.spec.length,
        seen.length,
        seen.length_source,
        seen.spec.output_tokens,
        seen.spec.content,
        seen.spec.mode,
        seen.outcome,
        seen.corroboration,
        seen.deaths,
        round(seen.started_s, 3),
        round(seen.duration_s, 3),
        None if seen.ttft_s is None else round(seen.ttft_s, 3),
        round(seen.cost_s, 3),
        None if seen.revival_s is None else round(seen.revival_s, 3),
        seen.completion_tokens,
        None if seen.draft is None else seen.draft.mean_acceptance_length,
        seen.signature,
        seen.reason,
    )

"""How is a bracket drawn as a line? PURE: cells of one character and what each stands for."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Ground(StrEnum):
    """What is known of the lengths under one cell."""

    GOOD = "good"
    OPEN = "open"
    BAD = "bad"
    SENT = "sent"  # the length that is out just now


GLYPHS = {Ground.GOOD: "━", Ground.OPEN: "┄", Ground.BAD: "x", Ground.SENT: "◆"}
ASCII_GLYPHS = {Ground.GOOD: "=", Ground.OPEN: ".", Ground.BAD: "x", Ground.SENT: "#"}


@dataclass(frozen=True, slots=True)
class Axis:
    """The lengths from `low` to `high` on `width` cells."""

    low: int
    high: int
    width: int

    def cell(self, length: int) -> int:
        """The cell that `length` falls into; outside of the axis the nearest one."""
        reach = max(self.high - self.low, 1)
        return max(0, min((length - self.low) * (self.width - 1) // reach, self.width - 1))


def ground(axis: Axis, last_good: int | None, first_bad: int | None, sent: int | None) -> list[Ground]:
    """One `Ground` a cell. The cell of last_good is good, the one of first_bad is bad, and bad wins a shared cell."""
    good_to = -1 if last_good is None or last_good < axis.low else axis.cell(last_good)
    bad_from = axis.width if first_bad is None or first_bad > axis.high else axis.cell(first_bad)
    cells = [
        Ground.BAD if at >= bad_from else Ground.GOOD if at <= good_to else Ground.OPEN for at in range(axis.width)
    ]
    if sent is not None:
        cells[axis.cell(sent)] = Ground.SENT
    return cells


def zoom(axis: Axis, last_good: int | None, first_bad: int | None) -> Axis | None:
    """A closer look at the open stretch, once it is too short to be seen on `axis`; None while it is not."""
    low = axis.low if last_good is None else last_good
    high = axis.high if first_bad is None else first_bad
    if axis.cell(high) - axis.cell(low) > axis.width // 4:
        return None
    margin = max((high - low) // 2, 1)
    closer = Axis(max(axis.low, low - margin), min(axis.high, high + margin), axis.width)
    return closer if (closer.low, closer.high) != (axis.low, axis.high) else None

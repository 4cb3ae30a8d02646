"""Do these figures lie in two heaps? PURE.

The logarithms are cut where the halves are tightest, and the distance of the halves is held against their own width
(Ashman's D). The best cut of a single heap already has a D of 3 to 4, and of a flat one up to 6, so the 2 of the
textbooks calls everything bimodal; what 7 calls and misses in 15 figures is told in docs/measures.md. A heap that comes
and goes once is a burst, or a step: something that happened meanwhile, and no mode.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

APART: Final = 7.0  # Ashman's D
LEAST: Final = 2  # figures in a mode: one alone is an accident
NEAREST: Final = 1.05  # modes that are nearer than this are no fact of an operation
CHANGES: Final = 3  # from one to the other and back: with so many, each has come back after it had gone


@dataclass(frozen=True, slots=True)
class Modes:
    """Two modes, each with its geometric mean and how many figures lie in it."""

    low: float
    high: float
    low_count: int
    high_count: int


def two_modes(figures: Sequence[float]) -> Modes | None:
    """The modes of positive figures, in the order in which they were taken; None where there are not two."""
    taken = [math.log(figure) for figure in figures]
    logs = sorted(taken)
    cuts = range(LEAST, len(logs) - LEAST + 1)
    if not cuts:
        return None
    cut = min(cuts, key=lambda at: _width(logs[:at]) + _width(logs[at:]))
    low, high = logs[:cut], logs[cut:]
    distance = _centre(high) - _centre(low)
    width = math.sqrt((_width(low) + _width(high)) / (len(logs) - 2))
    if distance < math.log(NEAREST) or distance <= APART * width or _changes(taken, low[-1]) < CHANGES:
        return None
    return Modes(math.exp(_centre(low)), math.exp(_centre(high)), len(low), len(high))


def _changes(taken: Sequence[float], low: float) -> int:
    """How many times figures change from up to `low` to above it, or back."""
    return sum(one != other for one, other in pairwise(log <= low for log in taken))


def _centre(logs: Sequence[float]) -> float:
    return math.fsum(logs) / len(logs)


def _width(logs: Sequence[float]) -> float:
    """The sum of squares about the centre."""
    centre = _centre(logs)
    return math.fsum((value - centre) ** 2 for value in logs)

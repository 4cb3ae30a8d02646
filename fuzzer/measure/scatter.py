"""Are these figures one figure, two, or noise? PURE.

Scatter is max / min: 1.00 where all agree. Repeats that agree need no test. Where they do not, three times as many are
taken, and only if these do not agree either is it asked whether there are two modes.
"""

from __future__ import annotations

import math
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from fuzzer.measure.modes import two_modes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fuzzer.measure.modes import Modes

STEADY: Final = 1.05  # a scatter up to this is one figure
TIMES: Final = 3  # so many times the repeats, where those asked for scatter


class Spread(StrEnum):
    """How figures lie."""

    OPEN = "open"  # none yet, or they scatter and more were not to be had
    STEADY = "steady"
    SETTLED = "settled"  # only the first ones were odd: they are left out
    BIMODAL = "bimodal"
    NOISY = "noisy"


def scatter(figures: Sequence[float]) -> float | None:
    """max / min; None where there is nothing to compare."""
    return max(figures) / min(figures) if figures else None


def mean(figures: Sequence[float]) -> float | None:
    """The geometric mean: that of ratios is then the ratio of means, and factors multiply to their total."""
    return math.exp(math.fsum(map(math.log, figures)) / len(figures)) if figures else None


def wanted(figures: Sequence[float], repeats: int) -> int:
    """How many figures are to be taken in all, as far as the first ones tell."""
    return repeats if (scatter(figures[:repeats]) or 1.0) <= STEADY else TIMES * repeats


def spread(figures: Sequence[float], repeats: int) -> tuple[Spread, Modes | None]:
    """What so many figures, in the order in which they were taken, come to."""
    span = scatter(figures)
    if span is None:
        return Spread.OPEN, None
    if span <= STEADY:
        return Spread.STEADY, None
    if len(figures) < TIMES * repeats:
        return Spread.OPEN, None
    if (scatter(figures[repeats:]) or span) <= STEADY:
        return Spread.SETTLED, None
    modes = two_modes(figures)
    return (Spread.NOISY, None) if modes is None else (Spread.BIMODAL, modes)

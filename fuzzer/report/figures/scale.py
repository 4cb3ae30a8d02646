"""How is a value laid on an axis? PURE.

Coordinates are units of the drawing, 960 wide; the template knows colours and shapes, and nothing of lengths.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fuzzer.report.words import tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fuzzer.observation import Observation

LEFT: Final = 150.0


@dataclass(frozen=True, slots=True)
class Mark:
    """One probe. `tip` is what a reader learns who points at it."""

    x: float
    y: float
    kind: str  # the outcome, as the style sheet names it
    tip: str


@dataclass(frozen=True, slots=True)
class Tick:
    x: float
    label: str


def tip(seen: Observation) -> str:
    """What a reader learns who points at a probe."""
    return f"#{seen.seq} {seen.spec.role}: {tokens(seen.length)} + {seen.spec.output_tokens}, {seen.outcome}"


def linear(top: float, left: float, right: float) -> Callable[[float], float]:
    """Where a value stands between `left` (0) and `right` (`top`)."""
    return lambda value: round(left + (right - left) * value / top, 1) if top else left


def round_steps(top: float) -> Sequence[int]:
    """0, and three to six round numbers up to `top`."""
    step = 10 ** math.floor(math.log10(max(top, 1)))
    while top / step < 3:
        step = step // 2 if step % 2 == 0 else max(1, step // 5)
        if step == 1:
            break
    while top / step > 6:
        step *= 2
    return range(0, int(top) + 1, step)

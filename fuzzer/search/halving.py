"""Which length is worth asking next, if all that we do is halve? PURE."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fuzzer.search.costs import Price


@dataclass(frozen=True, slots=True)
class Halving:
    """Plain bisection: fewest probes, and a death at every second of them.

    Below `start` (a `lo` that failed) nothing is known of the scale, so there it halves the logarithm. `top` is the
    highest length that may be asked: while nothing is known to be bad it goes first, since it may settle everything.
    """

    start: int
    top: int

    def next(self, low: int, high: int, price: Price) -> int:  # noqa: ARG002  (halving does not look at costs)
        if high > self.top:
            return self.top
        if high <= self.start and low > 0:
            return min(max(math.isqrt(low * high), low + 1), high - 1)
        return (low + high) // 2

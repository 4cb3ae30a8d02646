"""Which length is worth asking next? PURE.

The unknown is the edge: the highest length that is still good. Between `low` (known good) and `high` (known bad) it is
one of low .. high - 1. A failure of a monotone target tells nothing but that bracket, so a Search is a prior and the
bracket is all that it is asked with: the posterior is the prior, cut.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from fuzzer.search.belief import Belief
from fuzzer.search.costs import Costs
from fuzzer.search.halving import Halving
from fuzzer.search.suspects import Suspect, cause_of, suspects_within

if TYPE_CHECKING:
    from fuzzer.search.costs import Price

__all__ = ["Belief", "Costs", "Halving", "Search", "Suspect", "cause_of", "suspects_within"]


class Search(Protocol):
    """A way to choose lengths."""

    def next(self, low: int, high: int, price: Price) -> int:
        """The length to ask next: low < length < high. `high - low` must be at least 2.

        Where nothing is known to be bad, `high` is one above the highest length that may be asked.
        """
        ...

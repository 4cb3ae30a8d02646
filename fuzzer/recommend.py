"""Which cap do the observations carry, how surely, and on what does it rest? PURE."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

from fuzzer.finding import Confidence, Flaky

if TYPE_CHECKING:
    from collections.abc import Callable

ALPHA = 0.05


def passes_needed(confidence: float, tolerate: float) -> int:
    """How many passes without a failure show, with `confidence`, that the rate of failures is at most `tolerate`."""
    return max(1, math.ceil(math.log(1 - confidence) / math.log(1 - tolerate) - 1e-9))


@lru_cache(maxsize=4096)
def is_sound(passes: int, failures: int, *, confidence: float, tolerate: float) -> bool:
    """Do so many passes outweigh so many failures?

    True where a rate above `tolerate` shows as few failures by luck with a probability of at most 1 - confidence.
    Without failures that takes `passes_needed`.
    """
    return passes > 0 and _at_most(failures, passes + failures, tolerate) <= 1 - confidence + 1e-12


def upper_rate(passes: int, failures: int = 0, alpha: float = ALPHA) -> float | None:
    """The highest failure rate that such counts leave possible: one-sided Clopper-Pearson; None without a probe."""
    trials = passes + failures
    if trials == 0:
        return None
    if failures == 0:
        return 1.0 - float(alpha ** (1 / trials))
    if passes == 0:
        return 1.0
    return _root(lambda rate: _at_most(failures, trials, rate) - alpha)


def flaky(passes: int, failures: int) -> Flaky:
    """The rate of failures and its two-sided 95 % interval (Clopper-Pearson). At least one probe."""
    high = upper_rate(passes, failures, ALPHA / 2)
    low = upper_rate(failures, passes, ALPHA / 2)
    assert high is not None
    assert low is not None
    return Flaky(failures / (passes + failures), 1 - low, high)


def confidence_of(last_good_passes: int, last_good_failures: int, first_bad_failures: int) -> Confidence:
    """How surely the two ends of a boundary are known."""
    rate = upper_rate(last_good_passes, last_good_failures)
    return Confidence(last_good_passes, first_bad_failures, None if rate is None else round(rate, 3))


def cap_below(last_good: int, *, round_to: int, margin: int = 0) -> int | None:
    """The cap that a boundary leaves: last_good, less a margin, rounded down; None where nothing is left."""
    cap = (last_good - margin) // max(round_to, 1) * max(round_to, 1)
    return cap if cap > 0 else None


def _at_most(failures: int, trials: int, rate: float) -> float:
    """The probability of at most so many failures among so many trials."""
    if rate <= 0 or rate >= 1:
        return 1.0 if rate <= 0 or failures >= trials else 0.0
    odds = math.log(rate) - math.log1p(-rate)
    term = trials * math.log1p(-rate)  # logarithms: counts may be in the thousands
    total = math.exp(term)
    for count in range(1, failures + 1):
        term += math.log((trials - count + 1) / count) + odds
        total += math.exp(term)
    return total


def _root(falling: Callable[[float], float]) -> float:
    """Where a function that falls over 0 .. 1 crosses zero."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if falling(middle) > 0:
            low = middle
        else:
            high = middle
    return high

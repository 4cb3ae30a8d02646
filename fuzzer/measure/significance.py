"""Could luck alone part two counts of right answers, and which difference would have been seen? PURE: p-values.

Textbook tests: two proportions (z), pairs of answers to the same items (McNemar, exact), and Holm's for many at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

ALPHA: Final = 0.05
POWER: Final = 0.8
Z_ALPHA: Final = NormalDist().inv_cdf(1 - ALPHA / 2)
Z_POWER: Final = NormalDist().inv_cdf(POWER)


@dataclass(frozen=True, slots=True)
class Paired:
    """Items that both answered: how many are right only in one of the two."""

    items: int
    only_target: int
    only_control: int


@dataclass(frozen=True, slots=True)
class Score:
    """One metric of one task in one result: `right` of `items`."""

    right: int
    items: int

    @property
    def share(self) -> float:
        return self.right / self.items


def two_proportions(one: Score, other: Score) -> float:
    """Two-sided p-value of the pooled z-test; 1 where all answers of both are right, or all wrong."""
    pooled = (one.right + other.right) / (one.items + other.items)
    deviation = math.sqrt(pooled * (1 - pooled) * (1 / one.items + 1 / other.items))
    return 1.0 if deviation == 0 else math.erfc(abs(one.share - other.share) / deviation / math.sqrt(2))


def mcnemar(pairs: Paired) -> float:
    """Two-sided exact p-value: of the items that only one got right, is either side's share more than luck?"""
    from scipy.stats import binomtest  # noqa: PLC0415  (a second to load)

    discordant = pairs.only_target + pairs.only_control
    return 1.0 if discordant == 0 else float(binomtest(pairs.only_target, discordant, 0.5).pvalue)


def smallest_unpaired(one: Score, other: Score) -> float:
    """The least drop of a share that two independent samples of these sizes show with 80 % power at 5 %."""
    pooled = (one.right + other.right) / (one.items + other.items)
    base = max(pooled, 1 - pooled)  # the same in either direction; from the end with room to fall

    def shortfall(effect: float) -> float:
        low = base - effect
        middle = (base * one.items + low * other.items) / (one.items + other.items)
        under_null = math.sqrt(middle * (1 - middle) * (1 / one.items + 1 / other.items))
        under_effect = math.sqrt(base * (1 - base) / one.items + low * (1 - low) / other.items)
        return Z_ALPHA * under_null + Z_POWER * under_effect - effect

    return _root(shortfall, base)


def smallest_paired(pairs: Paired) -> float:
    """The least difference of shares that McNemar's test shows with 80 % power at 5 %, at the discordance seen.

    Never less than what six items that all go one way can show: fewer are never significant.
    """
    from scipy.stats import binom  # noqa: PLC0415

    rate = (pairs.only_target + pairs.only_control) / pairs.items
    needed = 1 + math.floor(math.log2(2 / ALPHA))
    floor = _root(lambda effect: POWER - float(binom.sf(needed - 1, pairs.items, effect)), 1.0)

    def shortfall(effect: float) -> float:
        spread = max(0.0, rate - effect**2)
        return (Z_ALPHA * math.sqrt(rate) + Z_POWER * math.sqrt(spread)) / math.sqrt(pairs.items) - effect

    return max(floor, _root(shortfall, 1.0))


def holm(ps: Sequence[float]) -> list[float]:
    """p-values for as many tests at once, in the order given (Holm's step-down)."""
    adjusted, running = [1.0] * len(ps), 0.0
    for rank, at in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        running = max(running, min(1.0, (len(ps) - rank) * ps[at]))
        adjusted[at] = running
    return adjusted


def _root(falling: Callable[[float], float], most: float) -> float:
    """Where a function that falls on [0, most] crosses 0; `most` where it does not."""
    low, high = 0.0, most
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    return high

"""How many times as fast is one arm as another, and how sure is that? PURE: seeded, so that a report repeats itself.

Arms are measured repeat by repeat, there and back again; figures that stood next to each other are compared with each
other, so that what drifts, drifts out.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

RESAMPLES: Final = 2_000
FEWEST: Final = 5  # figures, for an interval: fewer cannot reach as far as they should
TAIL: Final = 0.025
SEED: Final = 0x5EED


@dataclass(frozen=True, slots=True)
class Ratio:
    """A quotient of geometric means with its 95 % interval; None where there are too few figures for one.

    `pairs`: how many turns it rests on in which both arms were measured next to each other; 0 where these were too
    few, and it is a quotient of all figures, whose drift has not cancelled.
    """

    value: float
    low: float | None
    high: float | None
    pairs: int


@dataclass(frozen=True, slots=True)
class Ratios:
    """The first arm over the last, and each over the next one: these are its factors."""

    total: Ratio
    factors: tuple[Ratio, ...]


def ratios_of(arms: Sequence[Mapping[int, float]]) -> Ratios | None:
    """The ratios of two arms and more, from their figures by turn; None where one of them has none."""
    if not all(arms):
        return None
    shared = sorted(set.intersection(*(set(arm) for arm in arms)))
    if len(shared) >= FEWEST or all(len(arm) == len(shared) for arm in arms):
        logs = [[math.log(arm[turn]) for turn in shared] for arm in arms]
        compare = _paired
    else:
        logs = [list(map(math.log, arm.values())) for arm in arms]
        compare = _apart
    return Ratios(compare(logs[0], logs[-1]), tuple(compare(above, below) for above, below in pairwise(logs)))


def _paired(above: Sequence[float], below: Sequence[float]) -> Ratio:
    differences = [one - other for one, other in zip(above, below, strict=True)]
    size = len(differences)
    return _ratio(_mean(differences), lambda draw: _mean(draw.choices(differences, k=size)), size, size)


def _apart(above: Sequence[float], below: Sequence[float]) -> Ratio:
    def resampled(draw: random.Random) -> float:
        return _mean(draw.choices(above, k=len(above))) - _mean(draw.choices(below, k=len(below)))

    return _ratio(_mean(above) - _mean(below), resampled, min(len(above), len(below)), 0)


def _ratio(value: float, resampled: Callable[[random.Random], float], size: int, pairs: int) -> Ratio:
    """With a percentile bootstrap, its tail drawn further out as few figures ask for (Hesterberg, 2015)."""
    if size < FEWEST:
        return Ratio(math.exp(value), None, None, pairs)
    draw = random.Random(SEED)  # noqa: S311  (no secret)
    means = sorted(resampled(draw) for _ in range(RESAMPLES))
    beyond = int(_tail(size) * RESAMPLES)
    return Ratio(math.exp(value), math.exp(means[beyond]), math.exp(means[-1 - beyond]), pairs)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _tail(size: int) -> float:
    """The share to cut off at either end, so that `size` figures cover as often as many do."""
    widen = math.sqrt(size / (size - 1)) * _student(size - 1)
    return NormalDist().cdf(-widen)


def _student(freedom: int) -> float:
    """Student's quantile at 1 - TAIL, by Cornish and Fisher's expansion: within 3 % from 2 degrees of freedom on."""
    z = NormalDist().inv_cdf(1 - TAIL)
    return (
        z
        + (z**3 + z) / (4 * freedom)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * freedom**3)
    )

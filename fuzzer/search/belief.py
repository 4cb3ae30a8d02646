"""Where is the edge likely to be, and which length tells most about it for what it costs? PURE."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from fuzzer.search.suspects import edges_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fuzzer.search.costs import Price
    from fuzzer.search.suspects import Suspect

ON_SUSPECTS = 0.5
OPEN = 0.1  # nothing fails up to the top
BELOW_START = 0.02  # a `lo` that failed leaves nothing but this
PIECES_PER_DOUBLING = 4


@dataclass(frozen=True, slots=True)
class Segment:
    """Edges first .. stop - 1, alike likely, with `mass` in all."""

    first: int
    stop: int
    mass: float

    def between(self, low: int, high: int) -> Segment:
        """The part of it from `low` on and below `high`."""
        first, stop = max(self.first, low), min(self.stop, high)
        return Segment(first, stop, self.mass * (stop - first) / (self.stop - self.first))


@dataclass(frozen=True)  # no slots: what follows from it is worked out once
class Belief:
    """A piecewise-constant prior over the edge: segments in order that do not overlap. Masses need not add up to 1."""

    segments: tuple[Segment, ...]

    @classmethod
    def over(
        cls,
        start: int,
        top: int,
        *,
        suspects: Sequence[Suspect] = (),
        output_tokens: int = 1,
        draft_tokens: int | None = 0,
        trusted: bool = False,
        floor: int = 0,
    ) -> Belief:
        """Edges start .. top - 1 uniform, floor .. start - 1 log-uniform, half of each mass on the suspects in it.

        `trusted`: top is known to fail. Else the edge may lie at (or above) the top, with the probability OPEN.
        """
        likely = [edge for suspect in suspects for edge in edges_of(suspect, output_tokens, draft_tokens)]
        spans = [
            *_region(_logarithmic(floor, start), likely, BELOW_START),
            *_region([Segment(start, top, 1.0)] if top > start else [], likely, 1.0),
        ]
        if not trusted:
            spans.append(Segment(top, top + 1, OPEN / (1 - OPEN)))
        return cls(_flattened(spans))

    def next(self, low: int, high: int, price: Price) -> int:
        """The length with the most information per expected cost.

        Information against cost has one peak over the chance of a pass, so only the lengths around the peak and the
        borders of segments can be best: O(segments).
        """
        segments = self.within(low, high)
        total = math.fsum(segment.mass for segment in segments)
        peak = best_chance(*price((low + high) // 2))
        best, best_score = high - 1, -1.0
        above = 0.0  # mass of the edges at or above the segment's stop
        for segment in reversed(segments):
            size = segment.stop - segment.first
            for length in _candidates(segment, above, peak * total):
                if low < length < high:
                    chance = (above + segment.mass * (segment.stop - length) / size) / total
                    score = _score(chance, price(length))
                    if score > best_score:
                        best, best_score = length, score
            above += segment.mass
        return best

    def within(self, low: int, high: int) -> list[Segment]:
        """The belief after `low` was good and `high` was bad."""
        begin, end = bisect_right(self._stops, low), bisect_left(self._firsts, high)
        if begin >= end or low >= high:
            return [Segment(low, high, 1.0)]
        cut = list(self._uncut[begin:end])
        for at in {begin, end - 1}:
            cut[at - begin] = self.segments[at].between(low, high)
        return cut

    @cached_property
    def _uncut(self) -> tuple[Segment, ...]:
        """The segments as `between` leaves those that no bracket cuts."""
        return tuple(segment.between(segment.first, segment.stop) for segment in self.segments)

    @cached_property
    def _firsts(self) -> list[int]:
        return [segment.first for segment in self.segments]

    @cached_property
    def _stops(self) -> list[int]:
        return [segment.stop for segment in self.segments]

    def chance(self, low: int, high: int, edge: int) -> float:
        """The probability of one edge, given the bracket."""
        segments = self.within(low, high)
        total = math.fsum(segment.mass for segment in segments)
        for segment in segments:
            if segment.first <= edge < segment.stop:
                return segment.mass / (segment.stop - segment.first) / total
        return 0.0

    def survival(self, low: int, high: int, length: int) -> float:
        """The probability that the edge is at this length or above it, given the bracket: that the length passes."""
        segments = self.within(low, high)
        above = math.fsum(
            segment.mass * (segment.stop - max(segment.first, length)) / (segment.stop - segment.first)
            for segment in segments
            if segment.stop > length
        )
        return above / math.fsum(segment.mass for segment in segments)

    def quantiles(self, low: int, high: int, count: int) -> list[int]:
        """`count` edges that stand for the belief, given the bracket: the middles of slices of equal mass."""
        segments = self.within(low, high)
        total = math.fsum(segment.mass for segment in segments)
        edges, at, below = [], 0, 0.0
        for number in range(count):
            wanted = (number + 0.5) / count * total
            while at < len(segments) - 1 and below + segments[at].mass < wanted:
                below += segments[at].mass
                at += 1
            segment = segments[at]
            size = segment.stop - segment.first
            inside = int((wanted - below) / segment.mass * size)
            edges.append(segment.first + min(max(inside, 0), size - 1))
        return edges

    def entropy(self, low: int, high: int) -> float:
        """What is left to learn, in nats, given the bracket."""
        segments = self.within(low, high)
        total = math.fsum(segment.mass for segment in segments)
        return -math.fsum(
            segment.mass / total * math.log(segment.mass / total / (segment.stop - segment.first))
            for segment in segments
        )


def best_chance(good: float, bad: float) -> float:
    """The chance of a pass that buys most information per cost: q with q = e^(-h good), 1 - q = e^(-h bad).

    That h, nats per cost, is also the most that any question can buy: entropy / h is the lower bound of every search.
    """
    return math.exp(-best_rate(good, bad) * good)


@lru_cache(maxsize=4096)
def best_rate(good: float, bad: float) -> float:
    """The most nats that a cost of one can buy: the root h of e^(-h good) + e^(-h bad) = 1."""
    low, high = 0.0, math.log(2) / min(good, bad)
    for _ in range(40):
        middle = (low + high) / 2
        if math.exp(-middle * good) + math.exp(-middle * bad) > 1:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _score(chance: float, cost: tuple[float, float]) -> float:
    if not 0 < chance < 1:
        return 0.0
    information = -chance * math.log(chance) - (1 - chance) * math.log(1 - chance)
    return information / (chance * cost[0] + (1 - chance) * cost[1])


def _candidates(segment: Segment, above: float, wanted: float) -> Iterable[int]:
    """Lengths in the segment that can be best: its first, and the two between which the mass above is `wanted`."""
    yield segment.first
    if segment.stop - segment.first > 1 and above < wanted < above + segment.mass:
        size = segment.stop - segment.first
        crossing = segment.stop - int((wanted - above) / segment.mass * size)
        yield crossing
        yield crossing - 1


def _logarithmic(first: int, stop: int) -> list[Segment]:
    """Log-uniform edges first .. stop - 1, in pieces."""
    pieces = []
    upper = stop
    while upper > first:
        lower = max(min(upper - 1, int(upper / 2 ** (1 / PIECES_PER_DOUBLING))), first)
        pieces.append(Segment(lower, upper, math.log(upper / max(lower, 1)) or 1.0))
        upper = lower
    return pieces


def _region(smooth: list[Segment], likely: list[tuple[int, int, float]], mass: float) -> list[Segment]:
    """The smooth segments with half of the mass moved to the likely edges among them, `mass` in all."""
    if not smooth:
        return []
    first, stop = min(piece.first for piece in smooth), max(piece.stop for piece in smooth)
    points = [
        Segment(max(begin, first), min(end, stop), weight * (min(end, stop) - max(begin, first)) / (end - begin))
        for begin, end, weight in likely
        if max(begin, first) < min(end, stop)
    ]
    share = ON_SUSPECTS if points else 0.0
    return _scaled(smooth, mass * (1 - share)) + _scaled(points, mass * share)


def _scaled(segments: list[Segment], mass: float) -> list[Segment]:
    total = math.fsum(segment.mass for segment in segments)
    return [Segment(segment.first, segment.stop, segment.mass / total * mass) for segment in segments]


def _flattened(spans: list[Segment]) -> tuple[Segment, ...]:
    """The same belief in segments that do not overlap."""
    borders = sorted({span.first for span in spans} | {span.stop for span in spans})
    density = [0.0] * len(borders)
    index = {border: at for at, border in enumerate(borders)}
    for span in spans:
        each = span.mass / (span.stop - span.first)
        for at in range(index[span.first], index[span.stop]):
            density[at] += each
    return tuple(
        Segment(first, stop, each * (stop - first))
        for first, stop, each in zip(borders, borders[1:], density, strict=False)
        if each > 0
    )

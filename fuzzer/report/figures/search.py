"""How did the search close in on the edge: every probe on its line, and the bracket after each? PURE."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fuzzer.model import Role, Side
from fuzzer.report.figures.scale import LEFT, Mark, Tick, linear, round_steps, tip
from fuzzer.report.figures.searched import searched
from fuzzer.report.words import span, tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fuzzer.report.dossier import Dossier
    from fuzzer.report.figures.searched import Searched

RIGHT: Final = 700.0
ROW: Final = 22.0
GAP: Final = 0.35  # half the room that the bracket itself is given, in decades
BAR: Final = 80.0
ON_THE_AXIS: Final = 54.0
ABOVE_IT: Final = 40.0
OFF_THE_LINE: Final = frozenset({Role.CORNER, Role.AXIS, Role.SCAN})  # they asked something else than where the edge is


@dataclass(frozen=True, slots=True)
class Strip:
    """All probes on one linear axis, those that did not pass above it; `flags` name points on it. `unit`: of what."""

    unit: str
    marks: tuple[Mark, ...]
    ticks: tuple[Tick, ...]
    flags: tuple[Tick, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """One probe of the narrowing: the bracket after it (from, to), its mark, and how long it took as a bar."""

    mark: Mark
    low: float | None
    high: float
    name: str
    length: str
    took: str
    bar: float


@dataclass(frozen=True, slots=True)
class Narrowing:
    """The probes in their order, each at its distance from the edge (a decade has the same width everywhere)."""

    steps: tuple[Step, ...]
    ticks: tuple[Tick, ...]
    edge: float | None
    height: float


def strip(of: Dossier) -> Strip:
    """The axis of what was searched, from 0 to the longest probe."""
    line = searched(of)
    top = max((place.at for place in line.places), default=1)
    at = linear(top, 40, 920)
    named = (("last good", line.good), ("first bad", line.bad))
    flags = [(word, value) for word, value in named if value is not None]
    if len(flags) == 2 and at(flags[1][1]) - at(flags[0][1]) < 110:
        flags = [(f"edge {tokens(flags[0][1])} | {tokens(flags[1][1])}", flags[0][1])]
    else:
        flags = [(f"{word} {tokens(value)}", value) for word, value in flags]
    return Strip(
        line.unit,
        tuple(
            Mark(at(one.at), ON_THE_AXIS if one.side is Side.GOOD else ABOVE_IT, one.seen.outcome, tip(one.seen))
            for one in line.places
        ),
        tuple(Tick(at(value), tokens(value)) for value in round_steps(top)),
        tuple(Tick(at(value), label) for label, value in flags),
    )


def narrowing(of: Dossier) -> Narrowing:
    """The search, probe by probe. Without an edge, distances are from the longest length that passed."""
    line = searched(of)
    good, bad = line.good, line.bad
    centre = good or max((place.at for place in line.places if place.side is Side.GOOD), default=1)
    apart = _apart(centre, bad if bad is not None and bad > centre else centre + 1)
    places = [apart(place.at) for place in line.places] or [0.0]
    low, high = min(*places, -1.0), max(*places, 1.0)
    decade = (RIGHT - LEFT) / (high - low)

    def x(length: int) -> float:
        return round(LEFT + (apart(length) - low) * decade, 1)

    longest = max((place.seen.duration_s for place in line.places), default=0.0) or 1.0
    steps = tuple(
        Step(
            mark=Mark(x(one.at), 40 + number * ROW, one.seen.outcome, tip(one.seen)),
            low=None if bracket[0] is None else x(bracket[0]),
            high=RIGHT if bracket[1] is None else x(bracket[1]),
            name=f"#{one.seen.seq} {one.seen.spec.role}",
            length=f"{tokens(one.seen.length)} + {one.seen.spec.output_tokens}",
            took=span(one.seen.duration_s),
            bar=round(BAR * one.seen.duration_s / longest, 1),
        )
        for number, (one, bracket) in enumerate(zip(line.places, _brackets(line), strict=True))
    )
    edge = round(LEFT - low * decade, 1) if good is not None and bad is not None else None
    return Narrowing(steps, tuple(_distances(low, high, decade)), edge, 40 + len(steps) * ROW + 8)


def _apart(good: int, bad: int) -> Callable[[int], float]:
    """The signed distance from the edge in decades; a length inside the bracket stands in its middle."""

    def apart(length: int) -> float:
        if length <= good:
            return -GAP - math.log10(1 + good - length)
        return GAP + math.log10(1 + length - bad) if length >= bad else 0.0

    return apart


def _distances(low: float, high: float, decade: float) -> Iterator[Tick]:
    for power in range(7):
        for place, sign in (
            (-GAP - math.log10(1 + 10**power), "\N{MINUS SIGN}"),
            (GAP + math.log10(1 + 10**power), "+"),
        ):
            if low <= place <= high:
                yield Tick(round(LEFT + (place - low) * decade, 1), f"{sign}{_short(10**power)}")


def _brackets(line: Searched) -> list[tuple[int | None, int | None]]:
    """The longest good and the shortest not good length after each probe, where they make sense together."""
    low: int | None = None
    high: int | None = None
    found = []
    for place in line.places:
        match Side.NOTHING if place.seen.spec.role in OFF_THE_LINE else place.side:
            case Side.GOOD:
                low = max(low or 0, place.at)
            case Side.BAD | Side.LIMIT:
                high = min(high or place.at, place.at)
            case Side.NOTHING:
                pass
        sound = low is None or high is None or low < high
        found.append((low, high) if sound else (None, None))
    return found


def _short(count: int) -> str:
    return f"{count // 1_000_000}M" if count >= 1_000_000 else f"{count // 1000}k" if count >= 1000 else str(count)

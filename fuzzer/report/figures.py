"""Where does each mark of a report's figures stand? PURE: geometry for the SVG that the template draws.

Coordinates are units of the drawing, 960 wide; the template knows colours and shapes, and nothing of lengths.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fuzzer.model import Observation, Side
from fuzzer.report.words import span, tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from fuzzer.report.dossier import Dossier

LEFT: Final = 150.0
RIGHT: Final = 700.0
ROW: Final = 22.0
GAP: Final = 0.35  # half the room that the bracket itself is given, in decades
BAR: Final = 80.0
ON_THE_AXIS: Final = 54.0
ABOVE_IT: Final = 40.0


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


@dataclass(frozen=True, slots=True)
class Strip:
    """All probes on one linear axis of lengths, those that did not pass above it; `flags` name points on it."""

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


@dataclass(frozen=True, slots=True)
class Block:
    """A span of time, from `x` on, `width` wide."""

    x: float
    width: float
    kind: str
    tip: str


@dataclass(frozen=True, slots=True)
class Lifeline:
    """The run in active seconds: what was sent, when the engine was down, what health said."""

    probes: tuple[Block, ...]
    downs: tuple[Block, ...]
    health: tuple[Block, ...]
    ticks: tuple[Tick, ...]


@dataclass(frozen=True, slots=True)
class Acceptance:
    """Tokens per verification step by length, and where the cap lies, if it is within reach."""

    marks: tuple[Mark, ...]
    ticks: tuple[Tick, ...]
    levels: tuple[Tick, ...]  # `x` is a height here
    cap: Tick | None


@dataclass(frozen=True, slots=True)
class Lane:
    """What one arm decodes with one content at one concurrency. `number` chooses the colour: that of the arm."""

    name: str
    number: int
    marks: tuple[Mark, ...]

    @property
    def path(self) -> str:
        return " ".join(f"{mark.x},{mark.y}" for mark in self.marks)


@dataclass(frozen=True, slots=True)
class Speeds:
    """Output tokens a second by length."""

    lanes: tuple[Lane, ...]
    ticks: tuple[Tick, ...]
    levels: tuple[Tick, ...]  # `x` is a height here
    cap: Tick | None


def _tip(seen: Observation) -> str:
    return f"#{seen.seq} {seen.spec.role}: {tokens(seen.length)} + {seen.spec.output_tokens}, {seen.outcome}"


def strip(of: Dossier) -> Strip:
    """The length axis, from 0 to the longest probe."""
    top = max((seen.length for seen in of.seen), default=1)
    at = _linear(top, 40, 920)
    finding = of.run.finding
    named = [] if finding is None else [("last good", finding.last_good), ("first bad", finding.first_bad)]
    flags = [(word, value) for word, value in named if value is not None]
    if len(flags) == 2 and at(flags[1][1]) - at(flags[0][1]) < 110:
        flags = [(f"edge {tokens(flags[0][1])} | {tokens(flags[1][1])}", flags[0][1])]
    else:
        flags = [(f"{word} {tokens(value)}", value) for word, value in flags]
    return Strip(
        tuple(
            Mark(at(seen.length), ON_THE_AXIS if of.side(seen) is Side.GOOD else ABOVE_IT, seen.outcome, _tip(seen))
            for seen in of.seen
        ),
        tuple(Tick(at(value), tokens(value)) for value in _round_steps(top)),
        tuple(Tick(at(value), label) for label, value in flags),
    )


def narrowing(of: Dossier) -> Narrowing:
    """The search, probe by probe. Without an edge, distances are from the longest length that passed."""
    finding = of.run.finding
    good, bad = (finding.last_good, finding.first_bad) if finding is not None else (None, None)
    centre = good or max((seen.length for seen in of.seen if of.side(seen) is Side.GOOD), default=1)
    apart = _apart(centre, bad if bad is not None and bad > centre else centre + 1)
    places = [apart(seen.length) for seen in of.seen] or [0.0]
    low, high = min(*places, -1.0), max(*places, 1.0)
    decade = (RIGHT - LEFT) / (high - low)

    def x(length: int) -> float:
        return round(LEFT + (apart(length) - low) * decade, 1)

    longest = max((seen.duration_s for seen in of.seen), default=0.0) or 1.0
    brackets = _brackets(of)
    steps = tuple(
        Step(
            mark=Mark(x(seen.length), 40 + number * ROW, seen.outcome, _tip(seen)),
            low=None if bracket[0] is None else x(bracket[0]),
            high=RIGHT if bracket[1] is None else x(bracket[1]),
            name=f"#{seen.seq} {seen.spec.role}",
            length=f"{tokens(seen.length)} + {seen.spec.output_tokens}",
            took=span(seen.duration_s),
            bar=round(BAR * seen.duration_s / longest, 1),
        )
        for number, (seen, bracket) in enumerate(zip(of.seen, brackets, strict=True))
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


def _brackets(of: Dossier) -> list[tuple[int | None, int | None]]:
    """The longest good and the shortest not good length after each probe, where they make sense together."""
    low: int | None = None
    high: int | None = None
    found = []
    for seen in of.seen:
        match of.side(seen):
            case Side.GOOD:
                low = max(low or 0, seen.length)
            case Side.BAD | Side.LIMIT:
                high = min(high or seen.length, seen.length)
            case Side.NOTHING:
                pass
        sound = low is None or high is None or low < high
        found.append((low, high) if sound else (None, None))
    return found


def lifeline(of: Dossier) -> Lifeline:
    """What happened when, in active seconds."""
    end = max([of.elapsed_s, *(seen.ended_s for seen in of.seen)]) or 1.0
    at = _linear(end, LEFT, 940)
    probes = [_block(at, seen.started_s, seen.duration_s, seen.outcome, _tip(seen)) for seen in of.seen]
    downs = [
        _block(at, seen.ended_s, seen.revival_s or 0.0, "down", f"down for {span(seen.revival_s or 0.0)}")
        for seen in of.seen
        if seen.deaths
    ]
    changes = [(row["at_s"], row["what"].strip()) for row in of.timeline if row["kind"] == "health"]
    ends = [at_s for at_s, _ in changes[1:]] + [end]
    health = [
        _block(at, since, until - since, "up" if what.startswith("2") else "sick", f"health {what}")
        for (since, what), until in zip(changes, ends, strict=False)
    ]
    return Lifeline(
        tuple(probes), tuple(downs), tuple(health), tuple(Tick(at(value), span(value)) for value in _round_steps(end))
    )


def _block(at: Callable[[float], float], since: float, took: float, kind: str, tip: str) -> Block:
    return Block(at(since), max(2.0, round(at(since + took) - at(since), 1)), kind, tip)


def acceptance(of: Dossier) -> Acceptance | None:
    """How well drafts were accepted; None where nothing was drafted."""
    drafted = [
        (seen, seen.draft.mean_acceptance_length)
        for seen in of.seen
        if seen.draft is not None and seen.draft.mean_acceptance_length is not None
    ]
    if not drafted:
        return None
    top = _reach(of, [seen.length for seen, _ in drafted])
    best = max(2, math.ceil(max(value for _, value in drafted)))
    at, up = _linear(top, LEFT, 920), _linear(best - 1, 150, 20)
    return Acceptance(
        tuple(
            Mark(at(seen.length), up(value - 1), seen.outcome, f"{_tip(seen)}: {value:.2f}") for seen, value in drafted
        ),
        tuple(Tick(at(value), tokens(value)) for value in _round_steps(top)),
        tuple(Tick(up(level - 1), str(level)) for level in range(1, best + 1)),
        _cap(of, top, at),
    )


def speeds(of: Dossier) -> Speeds | None:
    """How fast each arm decodes; None where no speed was measured."""
    found = [
        (number, arm, cell, one.speed, one.reliable)
        for number, arm in enumerate(of.arms)
        for cell, one in arm.cells.items()
        if one.speed is not None
    ]
    if not found:
        return None
    top = _reach(of, [cell.length for _, _, cell, _, _ in found])
    best = max(speed for _, _, _, speed, _ in found)
    at, up = _linear(top, LEFT, 780), _linear(best, 190, 20)
    lanes: dict[tuple[int, str], list[Mark]] = {}
    for number, arm, cell, speed, reliable in found:
        company = f" x {cell.concurrency}" if cell.concurrency > 1 else ""
        name = f"{arm.name}, {cell.content}{company}"
        kind = "reliable" if reliable else "provisional"
        tip = f"{name}: {tokens(cell.length)}, {speed:,.1f} tok/s, {kind}"
        lanes.setdefault((number, name), []).append(Mark(at(cell.length), up(speed), kind, tip))
    return Speeds(
        tuple(Lane(name, number % 4, tuple(marks)) for (number, name), marks in lanes.items()),
        tuple(Tick(at(value), tokens(value)) for value in _round_steps(top)),
        tuple(Tick(up(value), tokens(value)) for value in _round_steps(best)),
        _cap(of, top, at),
    )


def _reach(of: Dossier, lengths: Sequence[int]) -> int:
    """How far the axis goes: to the cap, unless that is so far that it would push all else into a corner."""
    longest = max(lengths)
    return longest if of.cap is None or of.cap > 4 * longest else max(longest, of.cap)


def _cap(of: Dossier, top: int, at: Callable[[float], float]) -> Tick | None:
    return None if of.cap is None or of.cap > top else Tick(at(of.cap), f"cap {tokens(of.cap)}")


def _linear(top: float, left: float, right: float) -> Callable[[float], float]:
    return lambda value: round(left + (right - left) * value / top, 1) if top else left


def _round_steps(top: float) -> Sequence[int]:
    """0, and three to six round numbers up to `top`."""
    step = 10 ** math.floor(math.log10(max(top, 1)))
    while top / step < 3:
        step = step // 2 if step % 2 == 0 else max(1, step // 5)
        if step == 1:
            break
    while top / step > 6:
        step *= 2
    return range(0, int(top) + 1, step)


def _short(count: int) -> str:
    return f"{count // 1_000_000}M" if count >= 1_000_000 else f"{count // 1000}k" if count >= 1000 else str(count)

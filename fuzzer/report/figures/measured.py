"""What was measured by length: how well drafts were accepted, how fast each arm decodes? PURE."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fuzzer.report.figures.scale import LEFT, Mark, Tick, linear, round_steps, tip
from fuzzer.report.figures.searched import searched
from fuzzer.report.words import tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fuzzer.report.dossier import Dossier


@dataclass(frozen=True, slots=True)
class Acceptance:
    """Tokens per verification step by length, and where the cap lies, if it is within reach. `unit`: of what length."""

    unit: str
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


def acceptance(of: Dossier) -> Acceptance | None:
    """How well drafts were accepted; None where nothing was drafted."""
    line = searched(of)
    drafted = [
        (place.at, place.seen, place.seen.draft.mean_acceptance_length)
        for place in line.places
        if place.seen.draft is not None and place.seen.draft.mean_acceptance_length is not None
    ]
    if not drafted:
        return None
    cap = of.cap if line.unit == "prompt" else None
    top = _reach(cap, [length for length, _, _ in drafted])
    best = max(2, math.ceil(max(value for _, _, value in drafted)))
    at, up = linear(top, LEFT, 920), linear(best - 1, 150, 20)
    return Acceptance(
        line.unit,
        tuple(
            Mark(at(length), up(value - 1), seen.outcome, f"{tip(seen)}: {value:.2f}")
            for length, seen, value in drafted
        ),
        tuple(Tick(at(value), tokens(value)) for value in round_steps(top)),
        tuple(Tick(up(level - 1), str(level)) for level in range(1, best + 1)),
        _cap(cap, top, at),
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
    top = _reach(of.cap, [cell.length for _, _, cell, _, _ in found])
    best = max(speed for _, _, _, speed, _ in found)
    at, up = linear(top, LEFT, 780), linear(best, 190, 20)
    lanes: dict[tuple[int, str], list[Mark]] = {}
    for number, arm, cell, speed, reliable in found:
        company = f" x {cell.concurrency}" if cell.concurrency > 1 else ""
        name = f"{arm.name}, {cell.content}{company}"
        kind = "reliable" if reliable else "provisional"
        tip = f"{name}: {tokens(cell.length)}, {speed:,.1f} tok/s, {kind}"
        lanes.setdefault((number, name), []).append(Mark(at(cell.length), up(speed), kind, tip))
    return Speeds(
        tuple(Lane(name, number % 4, tuple(marks)) for (number, name), marks in lanes.items()),
        tuple(Tick(at(value), tokens(value)) for value in round_steps(top)),
        tuple(Tick(up(value), tokens(value)) for value in round_steps(best)),
        _cap(of.cap, top, at),
    )


def _reach(cap: int | None, lengths: Sequence[int]) -> int:
    """How far the axis goes: to the cap, unless that is so far that it would push all else into a corner."""
    longest = max(lengths)
    return longest if cap is None or cap > 4 * longest else max(longest, cap)


def _cap(cap: int | None, top: int, at: Callable[[float], float]) -> Tick | None:
    return None if cap is None or cap > top else Tick(at(cap), f"cap {tokens(cap)}")

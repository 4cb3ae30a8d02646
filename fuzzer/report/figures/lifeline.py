"""What happened when: what was sent, when was the engine down, what did health say? PURE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fuzzer.report.figures.scale import LEFT, Tick, linear, round_steps, tip
from fuzzer.report.words import span

if TYPE_CHECKING:
    from collections.abc import Callable

    from fuzzer.report.dossier import Dossier


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


def lifeline(of: Dossier) -> Lifeline:
    """What happened when, in active seconds."""
    end = max([of.elapsed_s, *(seen.ended_s for seen in of.seen)]) or 1.0
    at = linear(end, LEFT, 940)
    probes = [_block(at, seen.started_s, seen.duration_s, seen.outcome, tip(seen)) for seen in of.seen]
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
        tuple(probes), tuple(downs), tuple(health), tuple(Tick(at(value), span(value)) for value in round_steps(end))
    )


def _block(at: Callable[[float], float], since: float, took: float, kind: str, tip: str) -> Block:
    return Block(at(since), max(2.0, round(at(since + took) - at(since), 1)), kind, tip)

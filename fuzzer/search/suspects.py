"""Which numbers is an edge likely to fall on, and which one did it fall on? PURE.

A suspect S is a number from somebody's configuration. A limit on the prompt, on prompt + output, or on prompt + output
+ draft tokens shows on the prompt axis at S, S - O or S - O - k, each give or take one: the shadows of S.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

SMALLEST_POWER = 512
MULTIPLES = (1, 3, 5)
UNKNOWN_DRAFT_TOKENS = 8  # how far the last shadow is widened where k is not known


class Suspect(NamedTuple):
    """A number to suspect, where it comes from, and how much it weighs against the others."""

    value: int
    name: str
    weight: float = 1.0


class Axis(StrEnum):
    """The sum on which an edge is constant."""

    PROMPT = "prompt"
    TOTAL = "total"
    TOTAL_AND_DRAFT = "total+k"


TERMS = {Axis.PROMPT: "S", Axis.TOTAL: "S - O", Axis.TOTAL_AND_DRAFT: "S - O - k"}


@dataclass(frozen=True, slots=True)
class Cause:
    """The arithmetic that an edge satisfies: last_good = suspect - shadow + delta."""

    suspect: Suspect
    axis: Axis
    delta: int

    def __str__(self) -> str:
        delta = {-1: " - 1", 0: "", 1: " + 1"}[self.delta]
        return f"{TERMS[self.axis]}{delta} with S = {self.suspect.value} (suspect: {self.suspect.name})"


def suspects_within(low: int, high: int, named: tuple[Suspect, ...] = ()) -> tuple[Suspect, ...]:
    """Every suspect with a shadow that may fall in low .. high: `named` ones, powers of two, their small multiples."""
    found = {suspect.value: suspect for suspect in _round_numbers(high)}
    for suspect in named:
        known = found.get(suspect.value)
        name = f"{known.name}; {suspect.name}" if known and known.name != suspect.name else suspect.name
        weight = suspect.weight + (known.weight if known else 0.0)
        found[suspect.value] = Suspect(suspect.value, name, weight)
    return tuple(found[value] for value in sorted(found) if value >= low)


def _round_numbers(high: int) -> list[Suspect]:
    numbers = []
    power = SMALLEST_POWER
    while power <= 2 * high:
        for multiple in MULTIPLES:
            name = "power of two" if multiple == 1 else f"{multiple} times a power of two"
            numbers.append(Suspect(multiple * power, name, 1 / multiple))
        power *= 2
    return numbers


def shadow(axis: Axis, output_tokens: int, draft_tokens: int) -> int:
    """How far below the suspect an edge on this axis lies, in prompt tokens."""
    match axis:
        case Axis.PROMPT:
            return 0
        case Axis.TOTAL:
            return output_tokens
        case Axis.TOTAL_AND_DRAFT:
            return output_tokens + draft_tokens


def edges_of(suspect: Suspect, output_tokens: int, draft_tokens: int | None) -> list[tuple[int, int, float]]:
    """The edges that a suspect makes likely, as (first, last + 1, weight): one span a shadow.

    Without drafts (k = 0) the last two shadows are one. Where k is not known the last one is widened.
    """
    axes = [Axis.PROMPT, Axis.TOTAL]
    spans = [(suspect.value - shadow(axis, output_tokens, 0), 1, 1) for axis in axes]
    if draft_tokens is None:
        spans.append((suspect.value - output_tokens - 1, UNKNOWN_DRAFT_TOKENS, 0))
    elif draft_tokens > 0:
        spans.append((suspect.value - output_tokens - draft_tokens, 1, 1))
    weight = suspect.weight / len(spans)
    return [(value - below, value + above + 1, weight) for value, below, above in spans]


def cause_of(
    last_good: int,
    suspects: tuple[Suspect, ...],
    output_tokens: int,
    draft_tokens: int | None,
    axes: frozenset[Axis] = frozenset(Axis),
) -> Cause | None:
    """The suspect on whose shadow an exact edge falls, on one of these axes: the closest, then the heaviest, if any.

    A k of one or two lets one edge fall on both sums of one suspect: where drafts were counted, they are in it.
    """
    known = [axis for axis in Axis if axis in axes and (draft_tokens or axis is not Axis.TOTAL_AND_DRAFT)]
    causes = [
        Cause(suspect, axis, delta)
        for suspect in suspects
        for axis in known
        if abs(delta := last_good - suspect.value + shadow(axis, output_tokens, draft_tokens or 0)) <= 1
    ]
    counting = {cause.suspect for cause in causes if cause.axis is Axis.TOTAL_AND_DRAFT}
    causes = [cause for cause in causes if cause.axis is not Axis.TOTAL or cause.suspect not in counting]
    return min(causes, key=lambda cause: (abs(cause.delta), -cause.suspect.weight), default=None)

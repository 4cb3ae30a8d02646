"""What is a good answer to a probe held against? PURE: what earlier good answers looked like, for each way."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fuzzer.model import Baseline, Outcome, Role

if TYPE_CHECKING:
    from fuzzer.model import ProbeSpec
    from fuzzer.observation import Observation
    from targets.base import Mode

Way = tuple["Mode", str]
"""How a prompt is sent, and what it is made of."""

Yardsticks = tuple[tuple[Way, Baseline], ...]


def likest(known: Yardsticks, mode: Mode, content: str) -> Way | None:
    """The way that tells most of this one: itself, else another content; None: not known yet."""
    ways = [way for way, _ in known if way[0] == mode]
    return (mode, content) if (mode, content) in ways else next(iter(ways), None)


def sets_one(known: Yardsticks, spec: ProbeSpec) -> bool:
    """True for a short prompt of a content that none is known of."""
    return spec.role is Role.BASELINE and (spec.mode, spec.content) not in dict(known)


def yardstick(known: Yardsticks, spec: ProbeSpec) -> Baseline | None:
    """What the answer to this probe is to look like. A short prompt of another content sets a yardstick itself."""
    way = None if sets_one(known, spec) else likest(known, spec.mode, spec.content)
    return None if way is None else dict(known)[way]


def learnt(known: Yardsticks, seen: Observation, *, is_believed: bool) -> Yardsticks:
    """Of good answers only; the first one sets the yardstick, later ones can only make it more lenient.

    That it loops by nature a model shows where nobody doubts the length (`is_believed`): an answer that breaks half way
    near the edge repeats itself too, and would let all above it pass. Which deployment it is, a first stream that pings
    kept alive does not say: the next one does.
    """
    mark, old = seen.yardstick, yardstick(known, seen.spec)
    way = (seen.spec.mode, seen.spec.content)
    if seen.outcome is not Outcome.PASS or mark is None:
        return known
    if old is not None:
        way = likest(known, *way) or way
        repeats = old.repeats or (mark.repeats and is_believed)
        silent = old.runs_out or (mark.runs_out and is_believed)
        replacement = old.has_replacement or (mark.has_replacement and is_believed)
        sings = old.canary_has_text and mark.canary_has_text
        named = old.deployment or (mark.deployment if is_believed and seen.spec.stream else "")
        mark = replace(
            old,
            repeats=repeats,
            runs_out=silent,
            has_replacement=replacement,
            canary_has_text=sings,
            deployment=named,
        )
    elif seen.spec.role not in {Role.BASELINE, Role.SINGLE}:
        return known
    at = next((at for at, (other, _) in enumerate(known) if other == way), len(known))
    return (*known[:at], (way, mark), *known[at + 1 :])

"""Did the lives of an engine end alike, from their begin on or from their first prompt above some length? PURE.

Then what passed in them says nothing of what the next request would have done: a length is safe where a life outlived
what ended the others. A life that its first prompt above every candidate ended, the fresh one of a confirmation say,
answers all of this.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fuzzer.plans.ages import CLOCKS, COUNTED, QUIET, SAME_AGE, Life, age_of_all, ended_of

if TYPE_CHECKING:
    from fuzzer.observation import Observation
    from fuzzer.plans.ages import Clock

ENOUGH_LIVES = 2  # whole ones
MANY_LIVES = 3  # so many that are alike: then it matters no more how old the life became that we met


@dataclass(frozen=True, slots=True)
class Alike:
    """How lives ended, in a sentence. What passed above so many tokens (`above`) carries nothing."""

    why: str
    above: int = 0


def alike(lives: list[Life]) -> Alike | None:
    """How all whole lives ended, where that are many; the lowest length of all that fit. The one that we met is left
    out.
    """
    ended = ended_of(lives)
    if len(ended) < MANY_LIVES:
        return None
    if any(len(life.probes) == 1 and not life.idle for life in ended):
        return None  # it died of the first that it was asked
    if (why := ages_alike(lives[1:], ended, quiet=QUIET[:1])) is not None:  # a revival is longer than a short life
        return Alike(why)
    return next((found for above in _candidates(ended) if (found := _from(above, lives[1:])) is not None), None)


def none_outlived(lives: list[Life]) -> Alike | None:
    """Whether each whole life, where they are many, died of what it had answered before: some sooner than others, and
    none lives that was asked as much. An edge kills by the first prompt above it, and chance spares some.
    """
    ended, above = ended_of(lives), max((seen.length for seen in lives[-1].probes), default=0)
    if len(ended) < MANY_LIVES or not all(_passed(life) > above and _died_of(life) <= _passed(life) for life in ended):
        return None
    return Alike(f"each of {len(ended)} lives of the engine ended at a length that it had answered before", above)


def _passed(life: Life) -> int:
    return max((seen.length for seen in life.before), default=0)


def _died_of(life: Life) -> int:
    return 0 if life.idle else life.probes[-1].length


def ages_alike(lives: list[Life], ended: list[Life], *, quiet: tuple[tuple[Clock, str], ...] = QUIET) -> str | None:
    """A sentence. What is not counted has slack, and the steps of a search make two lives as long by themselves.

    `quiet`: the clocks where one ended of a canary, or of itself.
    """
    if len(ended) < ENOUGH_LIVES:
        return None
    clocks = quiet if any(life.is_answered for life in ended) else CLOCKS
    if any(life.has_hung for life in ended):  # we waited for it to the deadline, and that is no age of its own
        clocks = tuple(clock for clock in clocks if clock[0] in COUNTED)
    ages = {clock: f"{age:.0f} {unit}" for clock, unit in clocks if (age := age_of_all(lives, clock)) is not None}
    if not ages or (len(ended) < MANY_LIVES and ages.keys().isdisjoint(COUNTED)):
        return None
    return f"each of {len(ended)} lives of the engine ended after about {' or '.join(ages.values())}"


def _candidates(ended: list[Life]) -> list[int]:
    """Lengths above which each of them was asked more than once, shortest first."""
    asked = [sorted(seen.length for seen in life.probes) for life in ended]
    most = min(lengths[-2] if len(lengths) > 1 else 0 for lengths in asked)
    return [0, *sorted({length for lengths in asked for length in lengths if length < most})]


def _from(above: int, lives: list[Life]) -> Alike | None:
    """Did they end at the same prompt above this length, counted in each life, or so long after the first one?"""
    ended = ended_of(lives)
    since = f"of more than {above} tokens" if above else "of all"
    if (count := _count_of_all(above, lives)) is not None:
        return Alike(f"each of {len(ended)} lives of the engine ended at its prompt number {count} {since}", above)
    if (delay_s := _delay_of_all(above, lives)) is not None:
        told = f"about {delay_s:.0f} s after its first prompt {since}"
        return Alike(f"each of {len(ended)} lives of the engine ended {told}", above)
    return None


def _count_of_all(above: int, lives: list[Life]) -> int | None:
    """The same number of prompts above this length in each life that ended, the last of them the one that it died of;
    fewer in those that live.
    """
    ended = ended_of(lives)
    if any(life.idle or life.probes[-1].length <= above for life in ended):
        return None
    counts = {_asked_above(above, life.probes) for life in ended}
    most = max(counts)
    living = [life for life in lives if not life.ended]
    if len(counts) > 1 or most < ENOUGH_LIVES or any(_asked_above(above, life.probes) >= most for life in living):
        return None
    return most


def _asked_above(above: int, probes: list[Observation]) -> int:
    lengths = sorted(seen.length for seen in probes)
    return len(lengths) - bisect_right(lengths, above)


def _delay_of_all(above: int, lives: list[Life]) -> float | None:
    """The seconds from the first answer above this length to the end of each life that ended; those that live have
    waited less.
    """
    ended = [_since_first(above, life) for life in ended_of(lives)]
    living = [_since_first(above, life) for life in lives if not life.ended and _asked_above(above, life.probes)]
    if any(life.has_hung for life in lives) or any(begin <= 0 for begin, _ in ended):
        return None
    delay_s = min(end for _, end in ended)
    return delay_s if max(begin for begin, _ in [*ended, *living]) <= (1 + SAME_AGE) * delay_s else None


def _since_first(above: int, life: Life) -> tuple[float, float]:
    """Seconds after the first answer above this length at which it was known to live, and to be dead: none where the
    life died of that, or was not asked for it.
    """
    first = next((seen for seen in life.before if seen.length > above), None)
    if first is None:
        return 0.0, 0.0
    answered_s, last = first.started_s + first.duration_s, life.probes[-1]
    alive_s = last.started_s if life.ended and not life.is_answered else last.started_s + last.duration_s
    return alive_s - answered_s, life.gone_s - answered_s

"""Why does one length both pass and fail: by chance, by wear, or by poison? PURE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fuzzer.model import Observation, Outcome, ProbeSpec, Role, Side, side_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from fuzzer.plans.ledger import Ledger

SHORTEST_LIFE = 5
LONGEST_LIFE = 100  # nobody waits for longer than so many requests to tell wear from chance
SAME_AGE = 0.1


def settle_noise(ledger: Ledger) -> ProbeSpec | None:
    """What a contradiction asks for first: is `lo` sound, and was first_bad's one failure a stray?"""
    bounds, question = ledger.bounds, ledger.question
    if not bounds.noisy:
        return None
    lo = ledger.at(question.start)
    if not question.trust_lo and question.start < bounds.high and (bounds.last_good or 0) < question.start:
        return question.spec(question.start, Role.LO, f"failures are noisy: lo has passed {len(lo.passes)} times")
    if bounds.first_bad is None:
        return None
    tally = ledger.at(bounds.first_bad)
    if not tally.refusals and len(tally.failures) == 1:
        reason = f"{len(tally.passes)} passes against one failure: was that failure a stray?"
        return question.spec(bounds.first_bad, Role.CONFIRM_BAD, reason)
    return None


def outlive(ledger: Ledger) -> ProbeSpec | None:
    """last_good again, until a life of the engine is longer than the one that ended at a length that passes.

    A death that does not repeat is chance, or it is wear and only waits for the same age.
    """
    bounds = ledger.bounds
    if not bounds.noisy or bounds.last_good is None:
        return None
    ages = [seen.ordinal for seen in ledger.evidence if seen.deaths and seen.length <= bounds.last_good]
    oldest = max((seen.ordinal for seen in ledger.evidence if not seen.deaths), default=0)
    if not ages or oldest >= min(max(ages), LONGEST_LIFE):
        return None
    reason = f"an engine died after {max(ages)} requests, at a length that passes: does this one outlive it?"
    return ledger.question.spec(bounds.last_good, Role.CONFIRM_GOOD, reason)


@dataclass(frozen=True, slots=True)
class OtherCause:
    """Why failures do not follow the length, and which of them say nothing about theirs, by their `seq`."""

    why: str
    discarded: frozenset[int] = frozenset()


def other_cause(ledger: Ledger) -> OtherCause | None:
    """What the failures follow instead of the length, if they do. Asked of noisy runs only."""
    if not ledger.bounds.noisy:
        return None
    return _poison(ledger) or _wear(ledger)


def _wear(ledger: Ledger) -> OtherCause | None:
    """Every life that we saw begin died at the same age, on some clock, whatever the length that was asked last."""
    lives: dict[int, list[Observation]] = {}
    for seen in ledger.seen:
        lives.setdefault(seen.incarnation, []).append(seen)
    if not any(seen.outcome is Outcome.DEATH and ledger.at(seen.length).passes for seen in ledger.evidence):
        return None
    whole = [life for number, life in lives.items() if number > 0 and life[-1].deaths]
    if len(whole) < 2 or min(len(life) for life in whole) < SHORTEST_LIFE:
        return None
    for clock, unit in _CLOCKS:
        ages = [clock(life) for life in lives.values()]
        ended = [clock(life) for life in whole]
        if min(ended) >= (1 - SAME_AGE) * max(ended) and max(ages) <= (1 + SAME_AGE) * max(ended):
            return OtherCause(f"each of {len(ended)} lives of the engine ended after about {max(ended):.0f} {unit}")
    return None


def _requests(life: list[Observation]) -> float:
    return len(life)


def _tokens(life: list[Observation]) -> float:
    return sum(seen.total for seen in life)


def _seconds(life: list[Observation]) -> float:
    return life[-1].started_s + life[-1].duration_s - life[0].started_s


_CLOCKS: tuple[tuple[Callable[[list[Observation]], float], str], ...] = (
    (_requests, "requests"),
    (_tokens, "tokens"),
    (_seconds, "seconds"),
)


def _poison(ledger: Ledger) -> OtherCause | None:
    """After its first failure this life failed everything, also what had passed before."""
    evidence, fail_on = ledger.evidence, ledger.question.fail_on
    life = evidence[-1].incarnation
    bad = [
        at
        for at, seen in enumerate(evidence)
        if seen.incarnation == life and side_of(seen.outcome, fail_on) is Side.BAD
    ]
    if not bad or len(bad) < len(evidence) - bad[0]:
        return None
    before = [seen.length for seen in evidence[: bad[0]] if side_of(seen.outcome, fail_on) is Side.GOOD]
    after = evidence[bad[0] + 1 :]
    if sum(seen.length <= max(before, default=0) for seen in after) < 2:
        return None
    first = evidence[bad[0]].length
    why = f"after its first failure, at {first} tokens, the engine failed all, also what had passed before"
    return OtherCause(why, frozenset(seen.seq for seen in after))

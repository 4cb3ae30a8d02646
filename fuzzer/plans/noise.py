"""Why does one length both pass and fail: by chance, by wear, or by poison? PURE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fuzzer.model import ProbeSpec, Role, Side, side_of
from fuzzer.plans.wear import died_alone, kills_the_old, worn

if TYPE_CHECKING:
    from fuzzer.plans.ledger import Ledger

LONGEST_LIFE = 100  # nobody waits for longer than so many requests to tell wear from chance


def settle_noise(ledger: Ledger) -> ProbeSpec | None:
    """What a contradiction asks for first: is `lo` sound, and was first_bad's one failure a stray?"""
    bounds, question = ledger.bounds, ledger.question
    if not bounds.noisy:
        return None
    lo = ledger.at(question.start)
    is_below = question.start < bounds.high and (bounds.last_good or 0) < question.start
    if not question.trust_lo and is_below and not (lo.passes and ledger.is_sound(lo)):
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
    """What the failures follow instead of the length, if they do. Only of noisy runs, but for lives that end alone."""
    if (why := died_alone(ledger)) is not None:
        return _of_lives(ledger, why)
    if not ledger.bounds.noisy:
        return None
    if (poison := _poison(ledger)) is not None:
        return poison
    why = worn(ledger) or kills_the_old(ledger)
    return None if why is None else _of_lives(ledger, why)


def _of_lives(ledger: Ledger, why: str) -> OtherCause:
    """Where lives end alike, no death says anything about the length that it came at."""
    return OtherCause(why, frozenset(seen.seq for seen in ledger.seen if seen.deaths))


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

"""One length both passed and failed: was that chance, and is there an edge all the same? PURE."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fuzzer.model import ProbeSpec, Role
from fuzzer.plans.causes import SEVERAL, failed_at_first

if TYPE_CHECKING:
    from fuzzer.plans.ledger import Ledger
    from fuzzer.plans.tally import Tally

BY_CHANCE = 0.02  # so seldom would as many of all failures come on the longer prompts, were the length nothing to them
MOST_ASKED = 20  # times, to tell a length from those below it
MOST_BELOW = 60  # probes of those below it, to that end
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
    if bounds.first_bad is None or (tally := ledger.at(bounds.first_bad)).refusals:
        return None
    if bounds.first_bad == question.baseline and tally.passes:
        reason = f"the short prompt passed {len(tally.passes)} times and failed {len(tally.failures)} times: by chance?"
        return question.spec(bounds.first_bad, Role.CONFIRM_BAD, reason)
    if len(tally.failures) == 1:
        reason = f"{len(tally.passes)} passes against one failure: was that failure a stray?"
        return question.spec(bounds.first_bad, Role.CONFIRM_BAD, reason)
    return None


def beside_a_stray(ledger: Ledger) -> ProbeSpec | None:
    """The length below the longest one that passes, where that failed at first: does each new length?"""
    bounds, question = ledger.bounds, ledger.question
    if not bounds.strayed or bounds.last_good is None or not failed_at_first(ledger.at(bounds.last_good)):
        return None
    beside = bounds.last_good - 1
    if beside <= question.baseline or ledger.has_asked(beside, question.output_at(beside)):
        return None
    reason = f"{bounds.last_good} failed at first, and passes since: does each new length?"
    return question.spec(beside, Role.SEARCH, reason)


def outlive(ledger: Ledger) -> ProbeSpec | None:
    """last_good again, until a life of the engine is longer than the one that ended at a length that passes.

    A death that does not repeat is chance, or it is wear and only waits for the same age.
    """
    bounds = ledger.bounds
    if not bounds.contradicted or bounds.last_good is None:
        return None
    ages = [seen.ordinal for seen in ledger.evidence if seen.deaths and seen.length <= bounds.last_good]
    oldest = max((seen.ordinal for seen in ledger.evidence if not seen.deaths), default=0)
    if not ages or oldest >= min(max(ages), LONGEST_LIFE):
        return None
    reason = f"an engine died after {max(ages)} requests, at a length that passes: does this one outlive it?"
    return ledger.question.spec(bounds.last_good, Role.CONFIRM_GOOD, reason)


def tell_apart(ledger: Ledger) -> ProbeSpec | None:
    """last_good or first_bad again, where failures are noisy, until longer prompts are seen to fail more often.

    Passes below cost no death: they come first where those will do that cost as much as one failure, else last.
    """
    bounds = ledger.bounds
    if bounds.first_bad is None or _is_steeper(ledger):
        return None
    tally = ledger.at(bounds.first_bad)
    is_tired = len(tally.passes) + len(tally.failures) >= MOST_ASKED
    if bounds.last_good is not None:
        good, bad = ledger.prices.of(max(1, bounds.last_good - ledger.served))
        if _passes_would_tell(ledger, bounds.first_bad, MOST_BELOW if is_tired else round(bad / good)):
            reason = f"{bounds.first_bad} failed {len(tally.failures)} times: does this pass, by more than chance?"
            return ledger.question.spec(bounds.last_good, Role.CONFIRM_GOOD, reason)
    if is_tired:
        return None
    reason = f"it failed {len(tally.failures)} times: more often than shorter prompts would by chance?"
    return ledger.question.spec(bounds.first_bad, Role.CONFIRM_BAD, reason)


def _passes_would_tell(ledger: Ledger, first_bad: int, passes: int) -> bool:
    """Would so many more passes below first_bad, or as many as there is room for, show that it fails more often?"""
    below, above = _counts(ledger, first_bad)
    more = min(passes, MOST_BELOW - below.sent)
    return more > 0 and _chance(replace(below, sent=below.sent + more), above) <= BY_CHANCE


def at_any_length(ledger: Ledger) -> str | None:
    """A sentence: prompts from first_bad on failed no more often than shorter ones did."""
    first_bad = ledger.bounds.first_bad
    if first_bad is None or _is_steeper(ledger):
        return None
    below, above = _counts(ledger, first_bad)
    return (
        f"{below.failed} of {below.sent} probes below {first_bad} tokens failed, and {above.failed} of {above.sent} "
        f"from there on ({above.found} of which the search led to, so that they tell no rate): no more than chance "
        "explains"
    )


@dataclass(frozen=True, slots=True)
class Counts:
    """Of so many probes so many failed. `found`: failures that the search had to meet before it looked closer."""

    sent: int
    failed: int
    found: int


def _counts(ledger: Ledger, first_bad: int) -> tuple[Counts, Counts]:
    """Below first_bad, but for islands, and from there on."""
    points = [(length, tally) for length, tally in ledger.line() if length not in ledger.islands]
    below, above = (
        [tally for length, tally in points if (length >= first_bad) is is_above] for is_above in (False, True)
    )
    return _counted(below), _counted(above)


def _counted(tallies: list[Tally]) -> Counts:
    failed = [len(tally.all_failures) for tally in tallies]
    return Counts(sum(len(tally.passes) for tally in tallies) + sum(failed), sum(failed), sum(map(bool, failed)))


def _is_steeper(ledger: Ledger) -> bool:
    """Do prompts from first_bad on fail clearly more often than shorter ones?

    Each length above is known by a failure that it was chosen for: that one says nothing of the rate.
    """
    first_bad = ledger.bounds.first_bad
    if (
        first_bad is None
        or not ledger.bounds.contradicted
        or ledger.at(first_bad).refusals
        or _all_fail_past(ledger, first_bad)
    ):
        return True
    return _chance(*_counts(ledger, first_bad)) <= BY_CHANCE


def _chance(below: Counts, above: Counts) -> float:
    """Fisher's exact test: how likely so many of all failures come above, were the length nothing to them."""
    from scipy.stats import hypergeom  # noqa: PLC0415  (a second to load)

    failed, sent = above.failed - above.found, above.sent - above.found
    return float(hypergeom.sf(failed - 1, sent + below.sent, failed + below.failed, sent))


def _all_fail_past(ledger: Ledger, first_bad: int) -> bool:
    """Did all prompts longer than first_bad fail, at several lengths? Then shorter ones fail of something else too."""
    past = [tally for length, tally in ledger.line() if length > first_bad]
    return len(past) >= SEVERAL and not any(tally.passes or not tally.failures for tally in past)

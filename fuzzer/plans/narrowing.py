"""Which length narrows the bracket next? PURE."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from fuzzer.model import ProbeSpec, Role
from fuzzer.plans.drafting import drafted_at_once, drafts_more
from fuzzer.plans.fresh import last_real
from fuzzer.search import Belief, Halving, Search, Suspect, suspects_within

if TYPE_CHECKING:
    from fuzzer.plans.ledger import Ledger
    from fuzzer.plans.question import BisectQuestion


@lru_cache(maxsize=16)
def search_of(question: BisectQuestion, draft_tokens: int | None) -> Search:
    """The search that the question asks for, once k is known (None: it is not)."""
    if question.strategy == "halving":
        return Halving(question.start, question.top)
    return belief_of(question, draft_tokens)


@lru_cache(maxsize=16)
def belief_of(question: BisectQuestion, draft_tokens: int | None) -> Belief:
    """What is believed of the edge before anything long was sent."""
    return Belief.over(
        question.start,
        question.top,
        suspects=suspects_of(question),
        output_tokens=question.output_tokens,
        draft_tokens=draft_tokens,
        trusted=question.top_is_trusted,
        floor=question.baseline,
    )


@lru_cache(maxsize=16)
def suspects_of(question: BisectQuestion) -> tuple[Suspect, ...]:
    """The suspects of a question: those that were named, the limit, and round numbers."""
    limit = () if question.limit is None else (Suspect(question.limit, "the advertised limit"),)
    highest = question.top + (question.output_tokens if question.is_turned else 0)
    return suspects_within(question.baseline, highest, (*question.suspects, *limit))


def is_closed(ledger: Ledger) -> bool:
    """Is the bracket as narrow as it was to become?"""
    bounds = ledger.bounds
    if bounds.first_bad is None:
        return bounds.low >= ledger.question.top
    return bounds.high - bounds.low <= max(ledger.question.resolution, 1)


def known_good(ledger: Ledger) -> int:
    """What an earlier run recorded to pass, where the engine does not draft more now than it did then; else 0."""
    question = ledger.question
    if question.known_good is None:
        return 0
    now = drafted_at_once(ledger.seen, question.draft_tokens)
    return 0 if drafts_more(now, question.known_good_drafts) else question.known_good


def narrow(ledger: Ledger) -> ProbeSpec | None:
    """The next length of the search, until the bracket is closed."""
    if is_closed(ledger):
        return None
    question, bounds = ledger.question, ledger.bounds
    if question.max_deaths == 0 and bounds.low < (ground := known_good(ledger)) < bounds.high:
        return question.spec(ground, Role.SEARCH, "an earlier run recorded that it passes")
    if bounds.noisy and (length := _repeated(ledger)) is not None:
        return question.spec(length, Role.SEARCH, _not_enough(ledger, length))
    if not bounds.noisy and (hinted := hinted_next(ledger)) is not None:
        return question.spec(
            hinted, Role.SEARCH, "an end of the edge on a warm prefix: is it one of a cold prompt too?"
        )
    length = _choice(ledger)
    while ledger.missed(length):  # prompts of this mode come in steps
        length += 1
    if length >= bounds.high:
        return None  # the bracket is one step wide
    reason = _not_enough(ledger, length) if bounds.noisy else f"the edge is in {bounds.low} .. {bounds.high - 1}"
    return question.spec(length, Role.SEARCH, reason)


def hinted_next(ledger: Ledger) -> int | None:
    """The next length of the hint that was not asked, and that may still be either good or bad."""
    bounds, output_at = ledger.bounds, ledger.question.output_at
    inside = (length for length in ledger.hint if bounds.low < length < bounds.high)
    return next((length for length in inside if not ledger.has_asked(length, output_at(length))), None)


def _choice(ledger: Ledger) -> int:
    """Where something that is counted as longer than the top failed, so does the top, most likely: it comes last.

    So does the start, while what is below it is sought.
    """
    bounds, question = ledger.bounds, ledger.question
    high = bounds.high
    if ledger.points.fails_above(question.top):
        ceiling = next((end for end in (question.start, question.top) if bounds.low < end - 1), high)
        high = min(high, ceiling)
    return search_of(question, ledger.draft_tokens).next(bounds.low, high, ledger.search_price)


def _repeated(ledger: Ledger) -> int | None:
    """On a noisy edge a length is asked until it fails, or until its passes bear the claim."""
    bounds = ledger.bounds
    last = last_real(ledger.evidence, ledger.question.fail_on)
    is_inside = last is not None and last.spec.role is Role.SEARCH and bounds.low < last.length < bounds.high
    return last.length if last is not None and is_inside else None


def _not_enough(ledger: Ledger, length: int) -> str:
    return f"a noisy edge: {length} has passed {len(ledger.at(length).passes)} times, not enough"

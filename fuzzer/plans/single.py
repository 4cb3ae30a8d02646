"""What does one length show? PURE: a plan of one probe, after a short one that tells what normal looks like.

A warm prompt that passes is sent once more: the first time there was nothing of it in the cache.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzzer.finding import Finding, FindingKind, Halt
from fuzzer.model import Outcome, ProbeSpec, Role, Side, side_of
from fuzzer.observation import Observation
from fuzzer.plans.interruption import spent, stopped, wait
from fuzzer.plans.ledger import Ledger
from fuzzer.plans.opening import baseline
from fuzzer.recommend import confidence_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fuzzer.plans import Plan
    from fuzzer.plans.question import BisectQuestion


def single(question: BisectQuestion, facts: Iterable[Observation] = ()) -> Plan:
    """Sends a prompt of `question.lo` tokens, whatever the limit is. A probe answers, so no cap is recommended."""
    ledger = Ledger(question, facts)
    while not isinstance(step := _next_step(ledger), Finding):
        ledger.take((yield step))
    return step


def _next_step(ledger: Ledger) -> ProbeSpec | Finding:
    question = ledger.question
    asked = ledger.by_role.get(Role.SINGLE, [])
    answered = asked and (len(asked) > 1 or ledger.says_enough(asked[-1]))
    if answered and asked[-1].outcome.is_evidence:
        return shown_by(asked[-1], question.fail_on)  # whether or not the engine came back from it
    if (end := stopped(ledger, question.max_deaths)) is not None:
        halt, why = end
        return Finding(FindingKind.INCONCLUSIVE, why, halt=halt)
    if answered:
        return shown_by(asked[-1], question.fail_on)
    if ledger.deaths and ledger.deaths >= question.max_deaths:
        why = spent(ledger, question.max_deaths)
        return Finding(FindingKind.INCONCLUSIVE, why, halt=Halt.DEATHS)
    reason = "once more, out of the cache" if asked else "the length that was asked for"
    spec = question.spec(question.lo, Role.SINGLE, reason, output_tokens=question.output_tokens)
    return wait(ledger) or baseline(ledger) or spec


def shown_by(seen: Observation, fail_on: frozenset[Outcome]) -> Finding:
    """The finding of one probe alone."""
    reason = f"{seen.length} prompt tokens: {seen.outcome}: {seen.reason}"
    match side_of(seen.outcome, fail_on):
        case Side.GOOD:
            confidence = confidence_of(1, 0, 0)
            return Finding(
                FindingKind.NONE,
                reason,
                last_good=seen.length,
                last_good_total=seen.total,
                verified_up_to=seen.length,
                confidence=confidence,
            )
        case Side.LIMIT:
            return Finding(FindingKind.CLEAN_LIMIT, reason, first_rejected=seen.length)
        case Side.BAD:
            confidence = confidence_of(0, 0, 1)
            return Finding(FindingKind(seen.outcome.value), reason, first_bad=seen.length, confidence=confidence)
        case Side.NOTHING:
            return Finding(FindingKind.INCONCLUSIVE, reason, halt=Halt.UNUSABLE)

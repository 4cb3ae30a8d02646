"""Is there ground to stand on: does a short prompt pass, and does `lo`? PURE."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzzer.finding import Finding, FindingKind, Halt
from fuzzer.model import ProbeSpec, Role, Side, side_of
from fuzzer.plans.narrowing import hinted_next

if TYPE_CHECKING:
    from fuzzer.plans.ledger import Ledger


def baseline(ledger: Ledger) -> ProbeSpec | Finding | None:
    """One short prompt, so that offset, text, acceptance and k are known before anything long is sent."""
    question = ledger.question
    tally = ledger.at(question.baseline)
    if tally.passes:
        return None
    if tally.refusals:
        reason = f"even {question.baseline} tokens are refused: {tally.refusals[0].reason}"
        return Finding(FindingKind.INCONCLUSIVE, reason, halt=Halt.UNUSABLE)
    if len(tally.all_failures) >= 2:
        first = tally.failures[0]
        failed = f"even {question.baseline} tokens fail twice ({first.outcome}: {first.reason})"
        return Finding(FindingKind.NOT_LENGTH, f"{failed}: it takes no long prompt", halt=Halt.NOT_LENGTH)
    again = "the short prompt failed: is it the engine, or was it chance?"
    return question.spec(question.baseline, Role.BASELINE, again if tally.all_failures else "what a short prompt shows")


def verify_lo(ledger: Ledger) -> ProbeSpec | None:
    """`lo` passes, or fails twice: then the search goes on below it. A longer prompt that passes speaks for it."""
    question = ledger.question
    tally = ledger.at(question.start)
    if question.trust_lo or tally.passes or tally.refusals or len(tally.all_failures) >= 2 or _failed_twice(ledger):
        return None
    if hinted_next(ledger) is not None or not ledger.bounds.low <= question.start <= ledger.bounds.high:
        return None
    if tally.all_failures:
        return question.spec(question.start, Role.LO, "lo failed: once more, on an engine that is well")
    return question.spec(question.start, Role.LO, "does lo pass?")


def _failed_twice(ledger: Ledger) -> bool:
    """Did what was sent for `lo` fail twice, or was it refused, whatever length that is counted as by now?

    What the server adds is learnt below it, each time a little more: to ask anew each time would kill without end.
    """
    sides = [side_of(seen.outcome, ledger.question.fail_on) for seen in ledger.by_role.get(Role.LO, ())]
    return sides.count(Side.BAD) >= 2 or Side.LIMIT in sides

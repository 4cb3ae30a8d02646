"""Is an engine that hung, and serves on in the same life, well by now? PURE.

What it keeps of a request that was given up (its KV, or the work itself) may make it hang at what it passed before. So
before another length is asked it is to pass what it passed last: a hang there is the first one's, and is waited out.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING

from fuzzer.model import WELL, Outcome, ProbeSpec, Role

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fuzzer.observation import Observation
    from fuzzer.plans.ledger import Ledger

LONGEST_NAP_S = 600.0
MOST_HANGS = 5  # in a row, the first among them: what lasts for longer may well be of the lengths themselves


def well_again(ledger: Ledger) -> ProbeSpec | None:
    """last_good, right after a hang that the engine outlived; after longer and longer waits, where that hangs too."""
    question, good, hangs = ledger.question, ledger.bounds.last_good, hangs_in_a_row(ledger.seen)
    if question.is_turned or Outcome.HANG not in question.fail_on or not 0 < len(hangs) < 2 * MOST_HANGS:
        return None
    if good is None or not ledger.at(good).passes:
        return None
    reason = f"{hangs[-1].length} tokens hung, and the engine serves on: does it still pass {good}?"
    step = question.spec(good, Role.CONFIRM_GOOD, reason)
    if len(hangs) == 1:
        return step
    return replace(step, wait_s=min(LONGEST_NAP_S, hangs[0].duration_s * 2.0 ** (len(hangs) - 2)))


def shows_health(ledger: Ledger, seen: Observation) -> bool:
    """Does the next probe, of a point that passed, show only whether the engine is well after a hang that it outlived?

    Then it is no draw at its own length, be it that it passes or hangs; but where it hangs for ever, it is.
    """
    question, hangs = ledger.question, len(hangs_in_a_row(ledger.seen))
    if question.is_turned or Outcome.HANG not in question.fail_on or hangs == 0:
        return False
    is_no_draw = seen.outcome in WELL or (seen.outcome is Outcome.HANG and hangs < MOST_HANGS - 1)
    return is_no_draw and ledger.covers(seen.length, seen.spec.output_tokens)


def hangs_in_a_row(seen: Sequence[Observation]) -> list[Observation]:
    """The last probes, as far as the engine outlived a hang at each of them, the last one first."""
    real = (one for one in reversed(seen) if one.spec.role is not Role.PRIME or one.outcome not in WELL)
    return list(takewhile(lambda one: one.outlived and not one.resumed_after, real))

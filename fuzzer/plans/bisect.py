"""Between which two lengths does the target stop surviving, and which cap is safe? PURE.

The plan has no state but the ledger of what was observed. After every observation it asks what is still lacking for a
claim; the first thing that is lacking is the next probe. So a contradiction needs no way back: what it takes away from
the claim is lacking again. And a run that is resumed stands where it stood.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzzer.model import Finding, Halt, Observation, ProbeSpec
from fuzzer.plans.conclusion import cap_of, conclude, inconclusive, not_by_length
from fuzzer.plans.confirm import confirm_bad, confirm_good, confirm_while_fresh, look_above, settle_doubt
from fuzzer.plans.corners import corner
from fuzzer.plans.interruption import stopped, wait
from fuzzer.plans.ledger import Ledger
from fuzzer.plans.limits import near_learnt_limit, near_limit, over_limit
from fuzzer.plans.narrowing import narrow
from fuzzer.plans.noise import other_cause, outlive, settle_noise
from fuzzer.plans.opening import baseline, verify_lo
from fuzzer.plans.question import BisectQuestion
from fuzzer.plans.speculation import where_speculation_ends

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fuzzer.plans import Plan

__all__ = ["BisectQuestion", "bisect"]

LACKING: tuple[Callable[[Ledger], ProbeSpec | Finding | None], ...] = (
    baseline,
    verify_lo,
    settle_doubt,
    look_above,
    settle_noise,
    confirm_while_fresh,
    narrow,
    confirm_good,
    confirm_bad,
    outlive,
    near_limit,
    near_learnt_limit,
    where_speculation_ends,
)


def bisect(question: BisectQuestion, facts: Iterable[Observation] = ()) -> Plan:
    """A plan that answers the question. `facts` are observations of an earlier session that are taken as they are."""
    ledger = Ledger(question, facts)
    while not isinstance(step := next_step(ledger), Finding):
        ledger.take((yield step))
    return step


def next_step(ledger: Ledger) -> ProbeSpec | Finding:
    """The probe that is lacking most, or the finding."""
    if (end := stopped(ledger)) is not None:
        return inconclusive(ledger, *end)
    if (other := other_cause(ledger)) is not None:
        return not_by_length(ledger.without(other.discarded), other.why)
    step = wait(ledger) or _lacking(ledger)
    question = ledger.question
    if isinstance(step, ProbeSpec) and question.max_time_s is not None and ledger.ended_s >= question.max_time_s:
        return inconclusive(ledger, Halt.TIME, f"the {question.max_time_s:.0f} s of --max-time are spent")
    return step


def _lacking(ledger: Ledger) -> ProbeSpec | Finding:
    """What is lacking and affordable. Ground that is too dear is left out, and the finding says so."""
    halted = False
    for need in LACKING:
        step = need(ledger)
        if isinstance(step, Finding):
            return step
        if step is not None:
            if _affordable(ledger, step):
                return step
            halted = True
    if (step := corner(ledger, cap_of(ledger, halted=halted))) is not None:
        return step
    if not halted and (step := over_limit(ledger)) is not None:
        if _affordable(ledger, step):
            return step
        halted = True
    if halted:
        most = ledger.question.max_deaths
        return inconclusive(ledger, Halt.DEATHS, f"{ledger.deaths} deaths, and --max-deaths is {most}")
    return conclude(ledger)


def _affordable(ledger: Ledger, step: ProbeSpec) -> bool:
    """With the deaths spent, nothing above the ground that is known to hold is sent any more."""
    question = ledger.question
    if ledger.deaths < question.max_deaths:
        return True
    ground = max(ledger.bounds.last_good or 0, question.baseline)
    if ledger.deaths == 0 and not ledger.bounds.noisy:
        ground = max(ground, question.start, question.known_good or 0)
    return step.length <= ground

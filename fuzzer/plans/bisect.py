"""Between which two lengths does the target stop surviving, and which cap is safe? PURE.

The plan has no state but the ledger of what was observed. After every observation it asks what is still lacking for a
claim; the first thing that is lacking is the next probe. So a contradiction needs no way back: what it takes away from
the claim is lacking again. And a run that is resumed stands where it stood.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzzer.finding import Finding, Halt
from fuzzer.model import ProbeSpec
from fuzzer.observation import Observation
from fuzzer.plans.axis import settle_axis
from fuzzer.plans.cap import cap_of
from fuzzer.plans.causes import other_cause
from fuzzer.plans.conclusion import conclude, everywhere, inconclusive, not_by_length
from fuzzer.plans.confirm import (
    confirm_bad,
    confirm_good,
    confirm_in_time,
    confirm_while_fresh,
    look_above,
    settle_doubt,
)
from fuzzer.plans.corners import corner, insure, insure_in_time, short_corner, unknown_corners
from fuzzer.plans.healing import well_again
from fuzzer.plans.interruption import out_of_time, spent, stopped, wait
from fuzzer.plans.ledger import Ledger
from fuzzer.plans.limits import near_learnt_limit, near_limit, over_ask, over_limit
from fuzzer.plans.narrowing import narrow
from fuzzer.plans.noise import at_any_length, beside_a_stray, outlive, settle_noise, tell_apart
from fuzzer.plans.opening import baseline, verify_lo
from fuzzer.plans.question import BisectQuestion
from fuzzer.plans.recall import recall
from fuzzer.plans.scan import firm_ground, grain_in_time, scan
from fuzzer.plans.scout import Stages, scouted_next, with_scouted
from fuzzer.plans.speculation import where_speculation_ends
from fuzzer.plans.spending import affordable, lower_ground
from fuzzer.plans.turned import corner_of_output, told_of_output, turned_spec
from fuzzer.plans.warmth import prime
from fuzzer.plans.wear import live_as_long, outlive_others

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fuzzer.plans import Plan

__all__ = ["BisectQuestion", "bisect"]

LACKING: tuple[Callable[[Ledger], ProbeSpec | Finding | None], ...] = (
    baseline,
    well_again,
    verify_lo,
    settle_doubt,
    confirm_in_time,
    insure_in_time,
    look_above,
    confirm_while_fresh,
    live_as_long,
    settle_noise,
    beside_a_stray,
    insure,
    grain_in_time,
    narrow,
    confirm_good,
    lower_ground,
    confirm_bad,
    outlive,
    tell_apart,
    outlive_others,
    settle_axis,
    recall,
    scan,
    firm_ground,
    near_limit,
    near_learnt_limit,
    where_speculation_ends,
)
# What has no meaning where output tokens are the length, and the prompt is held.
ON_THE_PROMPT = frozenset(
    {
        confirm_in_time,
        insure_in_time,
        insure,
        grain_in_time,
        settle_axis,
        recall,
        scan,
        firm_ground,
        near_limit,
        near_learnt_limit,
        where_speculation_ends,
    }
)


def bisect(question: BisectQuestion, facts: Iterable[Observation] = ()) -> Plan:
    """A plan that answers the question. `facts` are observations of an earlier session that are taken as they are."""
    stages = Stages(question, facts)
    while not isinstance(step := _next_step(stages, question), Finding):
        stages.take((yield step))
    return step


def _next_step(stages: Stages, question: BisectQuestion) -> ProbeSpec | Finding:
    """The probe that is lacking most, the scout's first, or the finding."""
    if question.is_turned:
        return _next_output(stages.search, question.output_tokens)
    if stages.scout is None:
        return next_step(stages.search)
    scouted = scouted_next(stages.scout) if stages.is_scouting else None
    step = scouted or next_step(stages.search)
    return with_scouted(step, stages.scout) if isinstance(step, Finding) else step


def _next_output(ledger: Ledger, output_tokens: int) -> ProbeSpec | Finding:
    """The same on the output axis: the edge, and then what its cap admits."""
    step = next_step(ledger)
    if isinstance(step, ProbeSpec):
        return turned_spec(step)
    is_edge = step.halt is None and step.first_bad is not None
    corner = corner_of_output(ledger, output_tokens) if is_edge else None
    if corner is None:
        return told_of_output(ledger, step, output_tokens)
    end = _no_more(ledger, corner)
    return corner if end is None else told_of_output(ledger, inconclusive(ledger, *end), output_tokens)


def _no_more(ledger: Ledger, corner: ProbeSpec) -> tuple[Halt, str] | None:
    """Why such a corner cannot be sent any more, as a halt and a sentence."""
    question = ledger.question
    if ledger.deaths >= question.max_deaths:
        return Halt.DEATHS, spent(ledger, question.max_deaths)
    why = out_of_time(ledger.over_s, question.max_time_s, corner)
    return None if why is None else (Halt.TIME, why)


def next_step(ledger: Ledger) -> ProbeSpec | Finding:
    """The probe that is lacking most, or the finding."""
    if (end := stopped(ledger, ledger.question.max_deaths)) is not None:
        return inconclusive(ledger, *end)
    if (other := other_cause(ledger)) is not None:
        return not_by_length(ledger.without(other.discarded), other.why)
    again = wait(ledger)
    step = again if again is not None and affordable(ledger, again) else _lacking(ledger)
    if isinstance(step, ProbeSpec) and (first := prime(ledger, step)) is not None and affordable(ledger, first):
        step = first
    if isinstance(step, Finding):
        return step
    is_busy = again is not None
    if (why := out_of_time(ledger.over_s, ledger.question.max_time_s, step, is_busy=is_busy)) is not None:
        last = short_corner(ledger, cap_of(ledger, halted=True)) if again is None else None
        if last is not None and affordable(ledger, last):
            return last
        return inconclusive(ledger, Halt.TIME, why)
    return step if again is not None else ledger.to_send(step)


def _lacking(ledger: Ledger) -> ProbeSpec | Finding:
    """What is lacking and affordable. Ground that is too dear is left out, and the finding says so."""
    halted = False
    for need in LACKING:
        if ledger.question.is_turned and need in ON_THE_PROMPT:
            continue
        step = need(ledger)
        if isinstance(step, Finding):
            return step
        if step is not None:
            if affordable(ledger, step):
                return step
            halted = True
    cap = cap_of(ledger, halted=halted)
    if (step := corner(ledger, cap)) is not None:
        if affordable(ledger, step):
            return step
        halted = halted or bool(unknown_corners(ledger, cap))
    if not halted and (step := over_ask(ledger) or over_limit(ledger)) is not None:
        if affordable(ledger, step):
            return step
        halted = True
    if halted:
        return inconclusive(ledger, Halt.DEATHS, spent(ledger, ledger.question.max_deaths))
    alike = at_any_length(ledger)
    return conclude(ledger) if alike is None else everywhere(ledger, alike)

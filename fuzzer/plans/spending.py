"""With the deaths of `--max-deaths` spent, what may still be sent? PURE.

What passed may kill the next time: where the model ended its answer sooner then, where fewer drafts were accepted, or
where the same prompt is counted as one token more. So a length is sent again only under one that passed whole, and
further below that than any of it may move.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzzer.model import ProbeSpec, Role
from fuzzer.plans.line import bears
from fuzzer.plans.narrowing import known_good

if TYPE_CHECKING:
    from fuzzer.observation import Observation
    from fuzzer.plans.ledger import Ledger


def affordable(ledger: Ledger, step: ProbeSpec) -> bool:
    """With the deaths spent, only what is sure to pass is sent again, and nothing at all once that has killed too.

    Where no death was allowed to begin with, the ground up to `lo`, or up to what an earlier run verified, is sent too.
    """
    question, deaths = ledger.question, ledger.deaths
    if deaths < question.max_deaths:
        return True
    if deaths > question.max_deaths or ledger.bounds.noisy or _is_open(ledger):
        return False
    is_on_line = step.output_tokens == question.output_at(step.length)
    if question.max_deaths == 0 and is_on_line and step.length <= max(question.start, known_good(ledger)):
        return True
    tally = ledger.at_place(step.length) if step.role is Role.SCAN else ledger.at(step.length, step.output_tokens)
    in_company = any(len(seen.spec.companions) >= len(step.companions) for seen in tally.passes)
    return in_company and not tally.is_bad and _is_sure(ledger, step)


def lower_ground(ledger: Ledger) -> ProbeSpec | None:
    """With the deaths spent, the longest prompt that may be sent again, until its passes bear the claim: last_good may
    be too close to what fails.
    """
    question, bounds = ledger.question, ledger.bounds
    if ledger.deaths != question.max_deaths or not question.max_deaths or bounds.noisy:
        return None
    least = max(question.baseline, ledger.ground(halted=True) or 0)
    for length, tally in reversed(ledger.line()):
        step = question.spec(
            length, Role.CONFIRM_GOOD, "last_good may kill, and no death is left: does this carry a cap?"
        )
        if least < length < (bounds.last_good or 0) and affordable(ledger, step):
            return None if bears(question, tally, bounds) else step
    return None


def _is_open(ledger: Ledger) -> bool:
    """Is there a failure of which nobody knows yet whether it is one, somebody else's death, say?"""
    return any(tally.is_doubtful for tally in ledger.points.counted.values())


def _is_sure(ledger: Ledger, step: ProbeSpec) -> bool:
    """Did a prompt pass whole that is longer by all that this one may take more than it did?"""
    least = step.length + _may_move(ledger)
    return any(
        length >= least and output >= step.output_tokens and any(map(_came_whole, tally.passes))
        for (length, output), tally in ledger.points.counted.items()
    )


def _may_move(ledger: Ledger) -> int:
    """Tokens by which the same prompt may be processed further: drafts that are accepted, and how the server counts."""
    counted = [] if ledger.question.is_turned else [seen for seen in ledger.seen if seen.length_source == "usage"]
    added = [seen.length - seen.sent_tokens for seen in counted]
    return (ledger.draft_tokens or 0) + max(added, default=0) - min(added, default=0)


def _came_whole(seen: Observation) -> bool:
    """With all the output that was asked for, or that fits."""
    return seen.is_whole or seen.clamped

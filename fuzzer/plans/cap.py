"""Which cap do the observations of a bisect carry, before its corners are looked at? PURE."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzzer.model import Outcome
from fuzzer.plans.axis import left_for_drafts
from fuzzer.plans.below import ground_below, lowest_failing
from fuzzer.plans.grain import is_alone
from fuzzer.plans.limits import (
    asked_failure,
    cut_short_of_limit,
    learnt_limit,
    limit_failure,
    over_limit_seen,
    reached_limit,
)
from fuzzer.recommend import cap_below

if TYPE_CHECKING:
    from fuzzer.plans.ledger import Ledger


def cap_of(ledger: Ledger, *, halted: bool) -> int | None:
    """The cap, tokens; None where there is none to recommend."""
    bounds, question = ledger.bounds, ledger.question
    # A search that ran to its end has confirmed last_good, unless that was only trusted.
    ground = ledger.ground(halted=halted) if halted or bounds.noisy else bounds.last_good
    passes = [] if ground is None else ledger.at(ground).passes
    if question.companions:
        passes = [seen for seen in passes if seen.spec.companions]  # the short prompt went alone
    if question.is_turned or ground is None or not passes:
        return None
    covered = cap_below(ground, round_to=question.round_to, margin=left_for_drafts(ledger))
    if (failing := lowest_failing(ledger)) is not None:
        below = ground_below(ledger, failing) if is_alone(ledger, failing) else None
        drafts = ledger.draft_tokens or 0  # nothing tells whether an island lies on a sum, which accepted drafts move
        return None if below is None else cap_below(below, round_to=question.round_to, margin=drafts)
    if halted:
        return covered
    if bounds.first_bad is not None:
        return covered if limit_failure(ledger) else learnt_limit(ledger) or covered
    if cut_short_of_limit(ledger):
        return covered
    beyond = over_limit_seen(ledger)
    clean = (beyond is None or beyond.outcome is Outcome.REJECTED) and asked_failure(ledger) is None
    return question.limit if reached_limit(ledger) and clean else None

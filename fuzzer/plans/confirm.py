"""Does the boundary hold: does first_bad fail by itself, and does last_good pass often enough? PURE."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from fuzzer.model import ProbeSpec, Role
from fuzzer.observation import Observation
from fuzzer.plans.doubt import TWICE
from fuzzer.plans.fresh import last_real, took_the_engine_down
from fuzzer.plans.limits import begins_to_refuse
from fuzzer.plans.line import bears, confidence_in
from fuzzer.plans.narrowing import belief_of, is_closed, suspects_of
from fuzzer.recommend import passes_needed

if TYPE_CHECKING:
    from fuzzer.plans.ledger import Ledger
    from fuzzer.plans.tally import Tally

LOOK_ABOVE = 64
UNKNOWN_LOAD_S = 300.0  # what the first death may take: by then some ground is to carry a cap
ENOUGH_FAILURES = 3  # by then wear would have shown as lives of one length


def settle_doubt(ledger: Ledger) -> ProbeSpec | None:
    """A failure that others may have caused counts if it repeats: ask it again before anything else."""
    for length, tally in ledger.line():
        if tally.is_doubtful and length <= ledger.bounds.high:
            return ledger.question.spec(length, Role.SEARCH, "it failed while others were served: does it repeat?")
    return None


def confirm_while_fresh(ledger: Ledger) -> ProbeSpec | None:
    """first_bad again, right after it took the engine down, if it is likely to be the edge.

    Now it costs one death; later, on an engine that has served since, it costs two. So it is worth it from a
    probability of one half on.
    """
    bounds = ledger.bounds
    last = last_real(ledger.evidence, ledger.question.fail_on)
    if bounds.noisy or bounds.first_bad is None or last is None or is_confirmed_bad(ledger):
        return None
    if last.length != bounds.first_bad or not took_the_engine_down(ledger.seen, ledger.question.fail_on):
        return None
    belief = belief_of(ledger.question, ledger.draft_tokens)
    if not is_closed(ledger) and belief.chance(bounds.low, bounds.high, bounds.first_bad - 1) <= 0.5:
        return None
    reason = "first_bad took the engine down: does it fail as the first request of a fresh one?"
    return ledger.question.spec(bounds.first_bad, Role.CONFIRM_BAD, reason)


def confirm_good(ledger: Ledger) -> ProbeSpec | None:
    """last_good, until its passes bear the claim."""
    bounds, question = ledger.bounds, ledger.question
    if bounds.last_good is None or bounds.noisy:
        return None
    tally = ledger.at(bounds.last_good)
    if bears(question, tally, bounds):
        return None
    reason = f"last_good passed {len(tally.passes)} of {passes_to_bear(ledger)} times"
    return question.spec(bounds.last_good, Role.CONFIRM_GOOD, reason)


def confirm_in_time(ledger: Ledger) -> ProbeSpec | None:
    """last_good, while --max-time leaves room for that: one more failure might take it.

    What passed but once carries no cap. Where there is no room for all the passes either, the search goes on instead.
    """
    question, step = ledger.question, confirm_good(ledger)
    if step is None or question.max_time_s is None:
        return None
    left_s = question.max_time_s - ledger.over_s
    good_s, bad_s = ledger.prices.of(max(1, step.length - ledger.served))
    if ledger.ground(halted=True) is None:
        bad_s = failure_s(ledger, step.length)
    takes_s = (passes_to_bear(ledger) - len(ledger.at(step.length).passes)) * good_s
    return step if takes_s - good_s < left_s <= takes_s + bad_s else None


def failure_s(ledger: Ledger, length: int) -> float:
    """What a failure of this length may take, in seconds: the first one as long as a large model loads."""
    bad_s = ledger.prices.of(max(1, length - ledger.served))[1]
    return bad_s if ledger.prices.costs.is_measured else max(bad_s, UNKNOWN_LOAD_S)


def passes_to_bear(ledger: Ledger) -> int:
    """How many passes of a length bear a claim, where it never fails."""
    question = ledger.question
    return passes_needed(confidence_in(question, noisy=ledger.bounds.contradicted), question.tolerate)


def confirm_bad(ledger: Ledger) -> ProbeSpec | None:
    """first_bad, until it has failed by itself."""
    bounds = ledger.bounds
    if bounds.first_bad is None or is_confirmed_bad(ledger):
        return None
    if ledger.at(bounds.first_bad).refusals:
        reason = "it failed once and was refused since: the limit, or does it fail again?"
    elif took_the_engine_down(ledger.seen, ledger.question.fail_on):
        reason = "does first_bad fail as the first request of a fresh engine?"
    else:
        reason = "does first_bad fail again, on an engine that has passed since?"
    return ledger.question.spec(bounds.first_bad, Role.CONFIRM_BAD, reason)


def look_above(ledger: Ledger) -> ProbeSpec | None:
    """A longer prompt, where a suspect itself is the only length that failed: an edge, or an island in good ground?

    The search goes to suspects, so it finds the islands that lie on them (a prompt of exactly one prefill chunk, say).
    Looking may cost a death, so it is left out where none is left. A pass is repeated until it is sound; then the
    search goes on above the island.
    """
    bounds, question = ledger.bounds, ledger.question
    if bounds.first_bad is None or question.top_is_trusted or ledger.deaths >= question.max_deaths:
        return None
    if not is_closed(ledger) or not is_confirmed_bad(ledger) or ledger.at(bounds.first_bad).refusals:
        return None
    if all(suspect.value != bounds.first_bad for suspect in suspects_of(question)):
        return None
    above = [tally for length, tally in ledger.line() if length > bounds.first_bad]
    if bounds.first_bad == question.top or any(tally.is_bad for tally in above):
        return None
    length = min(question.top, bounds.first_bad + max(LOOK_ABOVE, bounds.first_bad // 16))
    done = len(ledger.at(length).passes)
    reason = f"{bounds.first_bad} is all that failed: longer prompts too? passed {done} times"
    return question.spec(length, Role.SEARCH, reason)


def is_confirmed_bad(ledger: Ledger) -> bool:
    """Did first_bad fail by its own length, not by what came before it?

    A refusal needs no confirmation. Beside a failure a second one shows that the limit is what is there, and that the
    failure was a stray.
    """
    bounds = ledger.bounds
    if bounds.first_bad is None:
        return False
    tally = ledger.at(bounds.first_bad)
    if tally.refusals:
        return not (tally.failures and begins_to_refuse(ledger)) or len(tally.refusals) >= TWICE
    fresh = any(failure.fresh for failure in tally.failures)
    if bounds.contradicted:
        return (fresh and len(tally.failures) >= 2) or len(tally.failures) >= ENOUGH_FAILURES
    return fresh or _passed_in_between(ledger, tally) or len(tally.failures) >= ENOUGH_FAILURES


def _passed_in_between(ledger: Ledger, tally: Tally) -> bool:
    """Two failures of one life with a long pass between them: that process is not poisoned."""
    failures = tally.failures
    return any(
        earlier.incarnation == later.incarnation and _long_pass_between(ledger, earlier, later)
        for earlier, later in pairwise(failures)
    )


def _long_pass_between(ledger: Ledger, earlier: Observation, later: Observation) -> bool:
    good = ledger.bounds.last_good
    return good is not None and any(earlier.seq < seen.seq < later.seq for seen in ledger.at(good).passes)

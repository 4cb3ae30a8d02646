"""What does a probe show whose canary did not come to the engine? PURE.

Whoever is before the engine turned it away, or answered it himself. Where he may do so because the engine failed him,
and it sang right before the probe, little speaks against a death: a proof of survival; and once, where all else is
well, that it sings again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzzer.evidence import Verdict
from fuzzer.model import LONGEST_NAMED_WAIT_S, Corroboration, Outcome
from fuzzer.outcome.breaker import meets_breaker
from fuzzer.outcome.readiness import meets_shut_door
from fuzzer.outcome.song import describe_canary, turned_away
from fuzzer.outcome.vitals import health_went_down, survival_proof

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fuzzer.evidence import Canary, Evidence

ASK_IT_ALONE = (
    "switch the gateway's fallbacks, retries, cooldowns and caches off, or ask the engine itself by its own --url; "
    "then resume"
)
LET_IN = (
    "raise the limit that turns requests away (a rate, a queue), or ask the engine itself by its own --url; then resume"
)
LET_IT_BE_READY = (
    "its service let nobody in: give its readiness probe more time, ask the pod itself by its own --url, or let the "
    "pod's own --metrics-url tell that the engine lives; then resume"
)


def to_the_end(e: Evidence, what: str) -> Verdict | None:
    """The verdict where no canary came to the engine, however often it was asked; None where one did.

    That somebody says he is busy is no more than that, where the very process that took the probe is seen to go on. Nor
    is it, once, where the run had no time to ask on.
    """
    canary = e.canary
    if canary is None or not turned_away(e):
        return None
    is_shut, doubt, lives = meets_shut_door(e, canary), _of_the_let_down(e), survival_proof(e) is not None
    if lives and doubt is None and canary.busy:
        return None
    tells = doubt is not None and (not e.ran_out or e.took_its_word)
    is_gone = not e.ran_out if is_shut else e.served_before and (tells or health_went_down(e) is not None)
    if is_gone and not lives:
        return _presumed(e, what, doubt or canary)
    reason = f"{what}, but then {describe_canary(canary)}"
    if e.ran_out or (canary.wait_s or 0.0) > LONGEST_NAMED_WAIT_S:
        return Verdict(Outcome.BUSY, reason, its_word=doubt is not None, retry_after_s=canary.wait_s)
    step = LET_IT_BE_READY if is_shut else ASK_IT_ALONE if doubt or canary.instead else LET_IN
    return Verdict(Outcome.INFRA, reason, next_step=step)


def at_first(e: Evidence, what: str) -> Verdict | None:
    """The verdict where a canary sang only after others had not come to the engine; None where that says nothing.

    Who sings at last may be the next life; or it was a rate, or another engine's turn to be let alone. So the same is
    asked again, once: what comes of it twice comes of the length. Behind a door that was shut nobody saw whether it
    died after its answer.
    """
    let_down = (canary for canary in _let_down(e) if not meets_breaker(e, canary))
    doubt = next(let_down, None) if e.served_before else None
    unclear = doubt or next((canary for canary in e.drained if canary.instead and not canary.let_down), None)
    unclear = unclear or next((canary for canary in e.drained if meets_shut_door(e, canary)), None)
    if unclear is None or survival_proof(e) is not None:
        return None
    if doubt is not None and (e.took_its_word or health_went_down(e) is not None):
        return _presumed(e, what, doubt)
    reason = f"{what}, but then {describe_canary(unclear)}"
    if meets_shut_door(e, unclear):
        return Verdict(Outcome.INFRA, f"{reason}; it sang later, as the next life would", next_step=LET_IT_BE_READY)
    if not e.took_its_word:
        return Verdict(Outcome.BUSY, reason, its_word=True)
    return Verdict(Outcome.INFRA, reason, next_step=ASK_IT_ALONE)


def deployment_of(e: Evidence) -> str:
    """Which deployment gave the good answers; empty where it is not known, or any of several may."""
    return "" if e.baseline is None or e.replicas or e.in_turns else e.baseline.deployment


def is_let_down(e: Evidence) -> bool:
    """Did whoever stands before the engine turn a canary away as he may where it failed him?"""
    return _of_the_let_down(e) is not None


def _of_the_let_down(e: Evidence) -> Canary | None:
    return next(_let_down(e), None)


def _let_down(e: Evidence) -> Iterator[Canary]:
    asked = e.drained if e.canary is None else (*e.drained, e.canary)
    return (canary for canary in asked if canary.let_down)


def _presumed(e: Evidence, what: str, doubt: Canary) -> Verdict:
    again = ", as when the same was asked before" if e.uncharged else ""
    reason = f"{what}, but then {describe_canary(doubt)}{again}; nothing proves that the engine survived it"
    return Verdict(Outcome.DEATH, reason, Corroboration.PRESUMED, deaths=1 + e.uncharged, blames="this")

"""What does a probe show whose canary did not come to the engine? PURE.

Whoever is before the engine turned it away, or answered it himself. Where he does so because the engine failed him, and
it sang right before the probe, nothing but a proof of survival speaks against a death.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzzer.evidence import Verdict
from fuzzer.model import LONGEST_NAMED_WAIT_S, Corroboration, Outcome
from fuzzer.song import describe_canary
from fuzzer.vitals import health_went_down, survival_proof

if TYPE_CHECKING:
    from fuzzer.evidence import Canary, Evidence

ASK_IT_ALONE = (
    "switch the gateway's fallbacks, retries and cooldowns off, or ask the engine itself by its own --url; then resume"
)
LET_IN = (
    "raise the limit that turns requests away (a rate, a queue), or ask the engine itself by its own --url; then resume"
)


def to_the_end(e: Evidence, what: str) -> Verdict | None:
    """The verdict where no canary came to the engine, however often it was asked; None where one did.

    That somebody says he is busy is no more than that, where the very process that took the probe is seen to go on.
    """
    canary = e.canary
    if canary is None or not canary.turned_away:
        return None
    doubt, lives = _of_the_let_down(e), survival_proof(e) is not None
    if lives and doubt is None and canary.busy:
        return None
    if e.served_before and not lives and (doubt is not None or health_went_down(e) is not None):
        return _presumed(what, doubt or canary)
    reason = f"{what}, but then {describe_canary(canary)}"
    if (canary.wait_s or 0.0) > LONGEST_NAMED_WAIT_S:
        return Verdict(Outcome.BUSY, reason, retry_after_s=canary.wait_s)
    return Verdict(Outcome.INFRA, reason, next_step=ASK_IT_ALONE if doubt or canary.instead else LET_IN)


def at_first(e: Evidence, what: str) -> Verdict | None:
    """The verdict where a canary sang only after others had not come to the engine; None where that says nothing.

    Who sings at last may be the next life.
    """
    if survival_proof(e) is not None:
        return None
    doubt = _of_the_let_down(e)
    if doubt is not None and e.served_before:
        return _presumed(what, doubt)
    again = next((canary for canary in e.drained if canary.instead and not canary.let_down), None)
    if again is None:
        return None
    return Verdict(Outcome.INFRA, f"{what}, but then {describe_canary(again)}", next_step=ASK_IT_ALONE)


def _of_the_let_down(e: Evidence) -> Canary | None:
    asked = e.drained if e.canary is None else (*e.drained, e.canary)
    return next((canary for canary in asked if canary.let_down), None)


def _presumed(what: str, doubt: Canary) -> Verdict:
    reason = f"{what}, but then {describe_canary(doubt)}; nothing proves that the engine survived it"
    return Verdict(Outcome.DEATH, reason, Corroboration.PRESUMED, deaths=1, blames="this")

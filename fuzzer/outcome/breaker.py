"""Did a clean refusal trip a circuit breaker before the engine? PURE.

There are routers that count a 400 for its length among an engine's failures, and then let it alone for a while. Who
refuses in his own words, and names his limit, is well: so the next canary that is let in decides. One that got an error
before anybody spoke of a breaker was failed by the engine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzzer.evidence import Verdict
from fuzzer.model import Outcome
from fuzzer.outcome.song import describe_canary
from fuzzer.outcome.vitals import death_proof, health_went_down
from targets.overloads import names_a_breaker

if TYPE_CHECKING:
    from fuzzer.evidence import Canary, Evidence

WAS_TRIPPED = "whoever is before it counted that as a failure, and his circuit breaker let it alone until a canary sang"


def meets_breaker(e: Evidence, canary: Canary) -> bool:
    """Was this canary kept out by a breaker that nothing but the refusal is known to have opened?"""
    if canary.ok or not names_a_breaker(canary.error):
        return False
    return e.refusal is not None and e.refusal.limit is not None and health_went_down(e) is None


def was_tripped(e: Evidence) -> bool:
    """Did it keep canaries out until the last one?"""
    return any(meets_breaker(e, canary) for canary in e.drained)


def out_of_time(e: Evidence) -> Verdict | None:
    """Did the time of the run end while it kept the canary out? Once, that is no more than a word."""
    if e.canary is None or not e.ran_out or e.took_its_word or not meets_breaker(e, e.canary):
        return None
    if death_proof(e) is not None:
        return None
    return Verdict(Outcome.BUSY, f"a clean refusal, but then {describe_canary(e.canary)}", its_word=True)

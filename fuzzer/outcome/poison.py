"""Is the engine poisoned by what it was just asked? PURE: what a garbled canary makes of a Verdict.

A poisoned engine answers, health is green, and all that it says from now on is garbage. So it has to be revived like
one that is wedged, and the probe that it was well before is the one that poisoned it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fuzzer.model import Outcome
from fuzzer.outcome.song import describe_canary

if TYPE_CHECKING:
    from fuzzer.evidence import Evidence, Verdict

_WELL = {Outcome.PASS, Outcome.DEGRADED, Outcome.REJECTED}


def with_poison(verdict: Verdict, e: Evidence) -> Verdict:
    """The verdict, where the canary after the probe is garbled and no death explains or cures that."""
    if e.canary is None or not e.canary.garbled or verdict.deaths:
        return verdict
    reason = f"{verdict.reason}, but then {describe_canary(e.canary)}: the engine is poisoned"
    outcome = Outcome.GARBLED if verdict.outcome in _WELL else verdict.outcome
    return replace(verdict, outcome=outcome, reason=reason, wedged=True, clamped=False)

"""What does the failure of a companion say of the engine, and of the probe that it accompanied? PURE.

Whoever is before an engine says the same to a companion as to a probe of an engine that he lost. So a companion that
fails is judged as a probe is, and its death is charged to the probe that it kept company.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fuzzer.evidence import Verdict
from fuzzer.model import Corroboration, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable

    from fuzzer.evidence import Evidence

    Judge = Callable[[Evidence], Verdict]

LET_IT_BE_WELL = "let companions be of a length that is well: a shorter --companion-length, or fewer --companions"
_FATAL = {Outcome.DEATH, Outcome.HANG}


def alone(e: Evidence, judge: Judge) -> Verdict | None:
    """They failed before the probe had left. A death of theirs says nothing about its length."""
    if e.reply.sent or not e.companion_faults:
        return None
    who, verdict = _worst(e, judge)
    why = f"before the probe had left, {who}: {verdict.reason}"
    if verdict.outcome in _FATAL or verdict.deaths:
        known = verdict.corroboration or Corroboration.PRESUMED
        return Verdict(Outcome.INFRA, why, known, deaths=max(1, verdict.deaths), next_step=LET_IT_BE_WELL)
    if verdict.outcome.is_evidence:
        return Verdict(Outcome.ERROR, why)
    return replace(verdict, reason=why)


def died_beside(e: Evidence, judge: Judge, what: str) -> Verdict | None:
    """One failed beside a probe that was answered, and nothing proves that the engine survived that.

    An answer is none: of several engines it may be another's. Nor is the length known for what killed: it counts once
    it comes again.
    """
    if not e.companion_faults:
        return None
    who, verdict = _worst(e, judge)
    if not verdict.deaths:
        return None
    why = f"{what}, but {who}: {verdict.reason}"
    return replace(verdict, outcome=Outcome.DEATH, reason=why, blames="this", contended=True)


def _worst(e: Evidence, judge: Judge) -> tuple[str, Verdict]:
    """Who failed, and what it comes to, were it a probe: of several, the one that was lost with the engine."""
    judged = [(fallen.who, judge(_as_a_probe(e, at))) for at, fallen in enumerate(e.companion_faults)]
    return next(((who, verdict) for who, verdict in judged if verdict.deaths), judged[0])


def _as_a_probe(e: Evidence, at: int) -> Evidence:
    """The same window, had the companion been the probe."""
    fallen = e.companion_faults[at]
    return replace(
        e,
        reply=fallen.reply,
        proxy=fallen.proxy,
        refusal=None,
        overload_s=None,
        hung=False,
        companion_faults=(),
        companions_turned_away=(),
    )

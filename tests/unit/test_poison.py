"""Does a garbled canary make its probe the one that poisoned the engine, and nothing else of it?"""

from __future__ import annotations

from dataclasses import replace

import pytest

from fuzzer.evidence import Canary, Evidence, Verdict
from fuzzer.model import Outcome, ProbeSpec, Role
from fuzzer.outcome import judge
from fuzzer.outcome.poison import with_poison
from targets.base import Reply, Usage

BANGS = "the answer is one token over and over ('!!!!!!!!')"
GARBLED = Canary(ok=False, duration_s=0.1, status=200, fault=BANGS, text="!!!!!!!!", garble=BANGS)
ANSWER = Reply(sent=True, status=200, complete=True, events=32, text="the quick brown fox", usage=Usage(8000, 32))
EVIDENCE = Evidence(ProbeSpec(8000, 32, Role.SEARCH, "because"), ANSWER, sent_tokens=8000, canary=GARBLED)


@pytest.mark.parametrize("outcome", [Outcome.PASS, Outcome.DEGRADED, Outcome.REJECTED])
def test_what_was_well_is_garbled_where_the_engine_is_poisoned_after_it(outcome: Outcome) -> None:
    verdict = with_poison(Verdict(outcome, "a complete answer", clamped=True), EVIDENCE)
    assert (verdict.outcome, verdict.wedged, verdict.deaths, verdict.clamped) == (Outcome.GARBLED, True, 0, False)
    assert verdict.reason == (
        "a complete answer, but then the canary's answer is one token over and over ('!!!!!!!!'): "
        "the engine is poisoned"
    )


@pytest.mark.parametrize("outcome", [Outcome.GARBLED, Outcome.ERROR, Outcome.HANG, Outcome.TRUNCATED, Outcome.BUSY])
def test_what_failed_keeps_its_kind(outcome: Outcome) -> None:
    verdict = with_poison(Verdict(outcome, "why"), EVIDENCE)
    assert (verdict.outcome, verdict.wedged) == (outcome, True)


def test_a_death_is_revived_as_a_death() -> None:
    died = Verdict(Outcome.DEATH, "why", deaths=1, blames="this")
    assert with_poison(died, EVIDENCE) == died


@pytest.mark.parametrize(
    "canary",
    [
        None,
        Canary(ok=True, duration_s=0.1),
        Canary(ok=True, duration_s=0.1, garble=BANGS),  # it looks like that by nature
        Canary(ok=False, duration_s=0.1, status=500, error="no"),
    ],
)
def test_no_other_canary_is_a_poisoned_engines(canary: Canary | None) -> None:
    verdict = Verdict(Outcome.PASS, "a complete answer")
    assert with_poison(verdict, replace(EVIDENCE, canary=canary)) is verdict


def test_a_poisoned_engine_lives() -> None:
    """It answers: that is neither a death nor a hang."""
    assert judge(EVIDENCE).outcome is Outcome.PASS
    failed = Reply(sent=True, status=500, complete=True, excerpt="Internal Server Error")
    assert judge(replace(EVIDENCE, reply=failed)).outcome is Outcome.ERROR
    assert judge(replace(EVIDENCE, reply=Reply(sent=True), hung=True)).outcome is Outcome.HANG

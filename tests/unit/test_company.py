"""What does it say of a probe, and of the engine, that its companions fail, or are not there?"""

from __future__ import annotations

from typing import Any

import pytest

from fuzzer.companions import Company
from fuzzer.evidence import Fallen, Verdict
from fuzzer.model import Corroboration, Outcome
from fuzzer.outcome import judge
from targets.base import Fault, Health, ProxySign, Refusal, Reply, ServerError
from tests.unit.test_outcome import BLIND, CANARY_500, CANARY_REFUSED, REBORN, answer, evidence, http

pytestmark = pytest.mark.anyio
UNSENT = Reply(sent=False)
NGINX = ProxySign("upstream-lost", "nginx", "see its log")
WHO = "a companion of 512 tokens"
LOST = Fallen(WHO, "HTTP 502", http(502, "Bad Gateway"), NGINX)
CUT = Fallen(WHO, "the connection was lost (cut)", Reply(sent=True, fault=Fault.CUT, ended_s=0.4))
FAILED = Fallen(WHO, "HTTP 500: shape", http(500, "shape"))
GIVEN_UP = Fallen(WHO, "HTTP 504", http(504, "", ended_s=60.0), ProxySign("deadline", "nginx", "raise its timeout"))


def beside(*fallen: Fallen, reply: Any = None, **more: Any) -> Verdict:
    return judge(evidence(reply or answer(), companions=2, companion_faults=fallen, **more))


@pytest.mark.parametrize("fallen", [LOST, CUT])
@pytest.mark.parametrize("health", [Health(0.1, 200), Health(0.1, 502)])
def test_companions_that_were_lost_before_the_probe_left_are_a_death(fallen: Fallen, health: Health) -> None:
    """Whoever is before the engine says of the probe's own death what he says of theirs."""
    verdict = beside(fallen, reply=UNSENT, health_after=(health,), **BLIND)
    assert (verdict.outcome, verdict.deaths, verdict.corroboration) == (Outcome.INFRA, 1, Corroboration.PRESUMED)
    assert verdict.reason.startswith(f"before the probe had left, {WHO}: ")
    assert "--companion-length" in verdict.next_step


def test_one_that_was_lost_with_the_engine_tells_more_than_one_that_failed_before_it() -> None:
    assert beside(FAILED, LOST, reply=UNSENT, **BLIND).deaths == 1


@pytest.mark.parametrize("more", [REBORN, BLIND | {"canary": CANARY_REFUSED}, BLIND | {"canary": CANARY_500}])
def test_their_death_is_seen_as_a_probes_is(more: dict[str, Any]) -> None:
    assert beside(FAILED, reply=UNSENT, **more).deaths == 1


def test_an_engine_that_is_seen_to_live_on_failed_them_and_did_not_die() -> None:
    for verdict in (beside(LOST, reply=UNSENT), beside(FAILED, reply=UNSENT, **BLIND)):
        assert (verdict.outcome, verdict.deaths) == (Outcome.ERROR, 0)
    for verdict in (beside(LOST), beside(FAILED, **BLIND)):
        assert (verdict.outcome, verdict.deaths, verdict.contended) == (Outcome.ERROR, 0, False)


def test_a_proxys_clock_that_strikes_before_the_probe_has_left_names_its_setting() -> None:
    verdict = beside(GIVEN_UP, reply=UNSENT, **BLIND)
    assert (verdict.outcome, verdict.deaths, verdict.next_step) == (Outcome.INFRA, 0, "raise its timeout")


@pytest.mark.parametrize("fallen", [LOST, CUT])
def test_one_that_was_lost_beside_an_answer_is_a_death_that_counts_once_it_comes_again(fallen: Fallen) -> None:
    refused: dict[str, Any] = {"reply": http(400, "too long"), "refusal": Refusal("too long", limit=8000)}
    for told in ({}, refused):
        verdict = beside(fallen, **told, **BLIND)
        assert (verdict.outcome, verdict.deaths, verdict.blames) == (Outcome.DEATH, 1, "this"), verdict.reason
        assert (verdict.corroboration, verdict.contended) == (Corroboration.PRESUMED, True)
        assert WHO in verdict.reason


# --- were they there? ---


def test_an_answer_without_its_company_is_no_evidence() -> None:
    verdict = judge(evidence(companions=2, companions_share=0.1, companions_at_end=1))
    assert verdict.outcome is Outcome.ABANDONED
    assert "in flight for 10% of its time (1 at its end)" in verdict.reason
    assert "--companion-length" in verdict.next_step


def test_the_moment_between_two_requests_takes_nothing_from_it() -> None:
    assert judge(evidence(companions=2, companions_share=0.8)).outcome is Outcome.PASS
    assert judge(evidence(companions_share=0.0)).outcome is Outcome.PASS, "none were asked for"


def test_what_is_bad_is_so_in_less_company_too() -> None:
    short = evidence(answer(7_000), companions=2, companions_share=0.1)
    assert judge(short).outcome is Outcome.TRUNCATED
    failed = evidence(http(500, "shape", error=ServerError("shape")), companions=2, companions_share=0.1)
    assert judge(failed).outcome is Outcome.ERROR


async def test_how_much_of_its_company_a_probe_had_is_told_from_its_begin_to_its_end() -> None:
    now = 0.0
    company = Company(2, lambda: now)
    with company.sends():
        now = 5.0
        company.begins()
        with company.sends():
            now = 8.0
        now = 9.0
        company.ends()
        now = 20.0
    assert (company.share, company.at_end, company.requests) == ((4 + 3) / 8, 1, 2)


async def test_an_answer_of_no_time_lacked_nobody() -> None:
    company = Company(1, lambda: 1.0)
    company.begins()
    company.ends()
    assert company.share == 1.0

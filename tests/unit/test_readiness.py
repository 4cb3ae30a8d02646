"""Is a door that is shut told from an engine that is gone, by what was seen?"""

from __future__ import annotations

from dataclasses import replace

import pytest

from fuzzer.evidence import Canary, Evidence
from fuzzer.model import Corroboration, Outcome
from fuzzer.outcome import judge
from targets import proxies
from targets.base import Fault, Health, Reply
from targets.scrape import START_HEADER
from tests.unit.test_outcome import (
    BLIND,
    CANARY_500,
    CANARY_HANGS,
    CANARY_REFUSED,
    ENGINE_500,
    GIVEN_UP_ON,
    GONE,
    GREEN,
    REBORN,
    RED,
    RESET,
    SINGS,
    evidence,
    http,
    scrape,
)

NOBODY_READY = Canary(ok=False, duration_s=0.1, status=503, error="no healthy upstream")
SHUT: dict[str, object] = {"canary": CANARY_REFUSED, "health_during": (GREEN, GONE), "health_after": (GONE,)}
SHUT_BY_A_MESH: dict[str, object] = {"canary": NOBODY_READY, "health_during": (GREEN, RED), "health_after": (RED,)}
BOTH = pytest.mark.parametrize("shut", [SHUT, SHUT_BY_A_MESH], ids=["refused", "503"])


# --- a service that lets nobody in ---


@BOTH
def test_a_good_answer_behind_a_shut_door_proves_no_death(shut: dict[str, object]) -> None:
    there = judge(evidence(**shut))
    assert (there.outcome, there.deaths) == (Outcome.INFRA, 0)
    assert "readiness probe" in there.next_step
    blind = {**shut, **BLIND}
    stayed = judge(evidence(**blind))
    assert (stayed.outcome, stayed.corroboration) == (Outcome.DEATH, Corroboration.PRESUMED)
    sang_late = {"canary": SINGS, "drained": (shut["canary"],)}
    late = judge(evidence(**{**blind, **sang_late}))
    assert (late.outcome, late.deaths) == (Outcome.INFRA, 0), "it may be the next life that sings"
    assert "--metrics-url" in late.next_step
    assert judge(evidence(**{**shut, **sang_late})).outcome is Outcome.PASS, "the same process counted on"
    assert judge(evidence(**{**shut, **sang_late, **REBORN})).corroboration is Corroboration.PROVEN
    assert judge(evidence(**blind, ran_out=True)).outcome is Outcome.BUSY, "nobody could ask for longer"
    assert judge(evidence(**{**shut, **REBORN})).corroboration is Corroboration.PROVEN


def test_a_door_that_is_shut_only_after_the_answer_is_an_engine_that_is_gone() -> None:
    seen = {**SHUT, "health_during": (GREEN,)}
    assert judge(evidence(**{**seen, **BLIND})).corroboration is Corroboration.PROVEN
    assert judge(evidence(**seen, settled=None)).corroboration is Corroboration.PROVEN, "an older look proves nothing"
    assert judge(evidence(**seen)).deaths == 0, "the same process counted it and is there"
    out_of_a_cache = scrape()
    assert judge(evidence(**seen, after=out_of_a_cache, settled=out_of_a_cache)).corroboration is Corroboration.PROVEN


@pytest.mark.parametrize(
    "seen",
    [
        evidence(RESET),
        evidence(http(500, "CUDA error: an illegal memory access was encountered")),
        evidence(),
        evidence(Reply(sent=True, ended_s=60), hung=True),
    ],
    ids=["line", "words", "whole", "hung"],
)
def test_an_exporter_that_outlives_its_engine_proves_nothing(seen: Evidence) -> None:
    """It counted the work that was done before the death, and keeps that."""
    gone = replace(seen, health_after=(GONE,), canary=CANARY_REFUSED, served_before=True)
    kept = scrape(done=6)
    assert judge(replace(gone, after=kept, settled=kept)).corroboration is Corroboration.PROVEN
    assert judge(replace(gone, after=None, settled=kept)).corroboration is Corroboration.PROVEN
    assert judge(replace(gone, after=kept, settled=scrape(done=7))).deaths == 0, "it counts on"
    busy_elsewhere = scrape(done=6, monotone={"requests": 6.0, "polls": 3.0})
    later = replace(busy_elsewhere, monotone={"requests": 6.0, "polls": 4.0})
    assert judge(replace(gone, after=busy_elsewhere, settled=later)).deaths == 0, "it is idle, and tells that it lives"


def test_an_idle_engine_that_tells_its_start_with_each_answer_lives() -> None:
    """llama.cpp counts nothing while it is idle, and its header comes from nobody but the living process."""
    told = {START_HEADER: 1_000.0}
    before, after = scrape(done=5, starts=told), scrape(done=6, starts=told)
    seen = evidence(health_after=(GREEN, GONE), canary=CANARY_REFUSED, served_before=True)
    assert judge(replace(seen, before=before, after=after, settled=after)).deaths == 0


@pytest.mark.parametrize("canary", [CANARY_REFUSED, CANARY_500])
def test_an_engine_whose_health_is_red_in_a_long_prefill_may_die_of_it(canary: Canary) -> None:
    """SGLang's health says 503 by itself: that is no door."""
    red = {"canary": canary, "health_during": (GREEN, RED), "health_after": (RED, GONE), **BLIND}
    assert judge(evidence(**red)).corroboration is Corroboration.PROVEN


@pytest.mark.parametrize("reply", [http(500), RESET])
def test_a_failure_behind_a_refused_socket_is_a_death_unless_the_same_process_works_on(reply: Reply) -> None:
    """Whoever shuts down closes its listener first, and fails what is in flight."""
    gone = {"health_during": (GREEN, GONE), "health_after": (GONE,), "canary": None, **BLIND}
    assert judge(evidence(reply, **gone)).corroboration is Corroboration.PROVEN
    assert judge(evidence(reply, health_after=(GREEN, GONE))).outcome is Outcome.ERROR


def test_one_socket_of_several_that_is_refused_proves_nothing() -> None:
    one_goes: dict[str, object] = {"replicas": True, "health_after": (GREEN, GONE)}
    assert judge(evidence(http(500), **one_goes)).outcome is Outcome.ERROR
    assert judge(evidence(http(500), **{**one_goes, "health_after": (RED,)})).outcome is Outcome.DEATH
    assert judge(evidence(RESET, **one_goes)).corroboration is Corroboration.PRESUMED


# --- health that a door answers ---


@pytest.mark.parametrize("status", [401, 403, 407, 429])
def test_a_poll_that_a_door_turns_away_says_nothing(status: int) -> None:
    no = Health(0.5, status)
    assert judge(evidence(http(500), health_after=(GREEN, no), **BLIND)).outcome is Outcome.ERROR
    busy = Canary(ok=False, duration_s=0.1, status=429, error="Rate limit reached", busy=True)
    assert judge(evidence(canary=busy, health_after=(no,), served_before=True, **BLIND)).deaths == 0
    sick = judge(evidence(http(500), canary=CANARY_500, health_after=(RED, no), **BLIND))
    assert sick.corroboration is Corroboration.PROVEN, "what it said before counts"
    turned = judge(evidence(http(500), canary=CANARY_500, health_after=(GREEN, no), **BLIND))
    assert turned.corroboration is Corroboration.PRESUMED
    lost = Reply(sent=True, fault=Fault.NETWORK, fault_text="Network is down", ended_s=9.0)
    assert judge(evidence(lost, health_after=(no,))).outcome is Outcome.ABANDONED


def test_polls_that_are_turned_away_are_no_silence_of_the_engine() -> None:
    during = (GREEN, *(Health(float(at), 429) for at in range(5)))
    assert "liveness" not in judge(evidence(RESET, health_during=during, **BLIND)).reason
    silent = (GREEN, *(Health(float(at), 503) for at in range(5)))
    assert "liveness" in judge(evidence(RESET, health_during=silent, **BLIND)).reason


# --- an error, and a canary that hangs ---


@pytest.mark.parametrize("canary", [CANARY_HANGS, GIVEN_UP_ON])
def test_an_engine_that_errs_and_then_hangs_is_a_hang_where_the_same_process_is_there(canary: Canary) -> None:
    verdict = judge(evidence(http(500), canary=canary))
    assert (verdict.outcome, verdict.deaths, verdict.wedged) == (Outcome.HANG, 0, True)
    for change in (BLIND, {"replicas": True}, REBORN, {"after": scrape(), "settled": scrape()}):
        assert judge(evidence(http(500), canary=canary, **change)).outcome is Outcome.DEATH
    lost = judge(evidence(RESET, canary=canary))
    assert (lost.outcome, lost.corroboration) == (Outcome.DEATH, Corroboration.PRESUMED), "its core may be dead"
    dead = http(500, ENGINE_500.message)
    assert judge(evidence(dead, canary=canary)).outcome is Outcome.DEATH, "it says so, and serves nobody"


# --- a way that is shut after a probe that was lost ---

LOST = pytest.mark.parametrize("reply", [RESET, http(500, ENGINE_500.message)], ids=["line", "words"])


def turned_by(status: int | None = None, fault: str = "") -> Canary:
    return Canary(ok=False, duration_s=0.1, status=status, fault=fault, error="no")


@LOST
@pytest.mark.parametrize(
    "canary", [turned_by(fault="proxy"), *map(turned_by, (301, 302, 303, 307, 308, 400, 403, 404, 409, 425))]
)
def test_who_is_away_after_a_lost_probe_is_waited_for(reply: Reply, canary: Canary) -> None:
    verdict = judge(evidence(reply, canary=canary, served_before=True, **BLIND))
    assert (verdict.outcome, verdict.corroboration, verdict.blames) == (Outcome.DEATH, Corroboration.PRESUMED, "this")
    assert judge(evidence(canary=turned_by(302), served_before=True, **BLIND)).deaths == 0, "nothing was lost"


@LOST
@pytest.mark.parametrize("canary", [turned_by(fault="tls"), *map(turned_by, (401, 405, 407))])
def test_a_way_that_is_shut_after_a_lost_probe_hides_no_death(reply: Reply, canary: Canary) -> None:
    lost = evidence(reply, canary=canary, served_before=True, **BLIND)
    verdict = judge(lost)
    assert (verdict.outcome, verdict.unusable) == (Outcome.INFRA, True)
    assert (verdict.deaths, verdict.corroboration, verdict.blames) == (1, Corroboration.PRESUMED, "this")
    for change in ({"served_before": False}, {"before": scrape(), "settled": scrape(done=7)}):
        assert judge(evidence(reply, **{"canary": canary, "served_before": True, **BLIND, **change})).deaths == 0


def test_a_key_that_runs_out_kills_nobody() -> None:
    said = http(401, "Authentication error: connection refused")
    verdict = judge(evidence(said, proxy=proxies.sign(said), canary=turned_by(401), served_before=True, **BLIND))
    assert (verdict.outcome, verdict.unusable, verdict.deaths) == (Outcome.INFRA, True, 0)


@pytest.mark.parametrize(("said", "deaths"), [("503 Service Unavailable", 1), ("407 Authentication Required", 0)])
def test_a_forward_proxy_that_no_longer_gets_there_finds_nobody(said: str, deaths: int) -> None:
    shut = Reply(sent=False, fault=Fault.PROXY, fault_text=said)
    verdict = judge(evidence(shut, canary=turned_by(fault="proxy"), served_before=True, **BLIND))
    assert (verdict.outcome, verdict.deaths) == (Outcome.ABANDONED if deaths else Outcome.INFRA, deaths)
    assert judge(evidence(shut, canary=turned_by(fault="proxy"), **BLIND)).outcome is Outcome.INFRA

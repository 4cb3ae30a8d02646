"""Does no death hide behind a polite answer, and is no polite answer of a busy engine taken for one?"""

from __future__ import annotations

from dataclasses import replace

import pytest

from fuzzer.evidence import Evidence
from fuzzer.finding import Halt
from fuzzer.model import Corroboration, Outcome, ProbeSpec
from fuzzer.observation import Observation
from fuzzer.outcome import judge
from fuzzer.plans.bisect import BisectQuestion, bisect
from targets import proxies
from targets.base import Fault, Health, Reply, ServerError
from targets.overloads import overload
from tests.unit.test_outcome import BLIND, GONE, GREEN, REBORN, RED, SINGS, evidence
from tests.unit.worlds import World, play

RATE = ServerError("Rate limit reached for requests per minute", code="429")
TOO_LATE = ServerError("Upstream idle timeout exceeded", code=504)
CUT = Health(0.1, fault=Fault.RESET)
BAD_GATEWAY = Health(0.1, 502)
TURNED_AWAY = {
    "over HTTP": Reply(True, 429, complete=True, error=RATE),
    "in plain words": Reply(True, 429, complete=True, excerpt="Too Many Requests"),
    "inside a stream": Reply(True, 200, error=RATE, error_in_stream=True),
}
LATE = {
    "over HTTP": Reply(True, 504, complete=True, excerpt="<html>504 Gateway Time-out nginx</html>", ended_s=31.0),
    "inside a stream": Reply(True, 200, error=TOO_LATE, error_in_stream=True, ended_s=31.0),
    "by a job queue": Reply(True, 202, complete=True, excerpt='{"id": "job-1", "status": "IN_QUEUE"}', ended_s=31.0),
}


def told(reply: Reply, **more: object) -> Evidence:
    return evidence(reply, overload_s=overload(reply), proxy=proxies.sign(reply), **more)


turned_away = pytest.mark.parametrize("reply", TURNED_AWAY.values(), ids=TURNED_AWAY)
too_late = pytest.mark.parametrize("reply", LATE.values(), ids=LATE)


@turned_away
@pytest.mark.parametrize("health", [RED, CUT, BAD_GATEWAY, GONE], ids=["red", "reset", "502", "refused"])
def test_health_that_went_down_after_a_429_is_a_death(reply: Reply, health: Health) -> None:
    verdict = judge(told(reply, health_after=(GREEN, health, GREEN), **BLIND))
    assert (verdict.outcome, verdict.deaths) == (Outcome.DEATH, 1), verdict.reason
    assert "health" in verdict.reason


@turned_away
def test_a_death_that_none_but_health_tells_of_must_repeat_beside_whoever_keeps_it_busy(reply: Reply) -> None:
    """A neighbour's may be told so: it is paid for, and is no edge of ours."""
    presumed = judge(told(reply, health_after=(GREEN, RED, GREEN), **BLIND))
    assert (presumed.corroboration, presumed.contended) == (Corroboration.PRESUMED, True)
    proven = [judge(told(reply, others_seen=others, **REBORN)) for others in (True, False)]
    assert [verdict.corroboration for verdict in proven] == [Corroboration.PROVEN] * 2
    assert [verdict.contended for verdict in proven] == [True, False]


@turned_away
@pytest.mark.parametrize(
    "lives",
    [
        BLIND,
        {},
        {"health_after": (GREEN, RED, GREEN)},  # the same process goes on
        {"health_during": (RED,), "health_after": (RED, RED), **BLIND},  # it was as red before
        {"health_after": (GREEN, Health(1.0, 429), Health(1.0, fault=Fault.TIMEOUT)), **BLIND},
        {"drained": (replace(SINGS, ok=False, status=429, busy=True),), **BLIND},
    ],
    ids=["blind", "well", "red and there", "red before", "health turned away", "turned away for a while"],
)
def test_a_busy_engine_stays_busy(reply: Reply, lives: dict[str, object]) -> None:
    verdict = judge(told(reply, **lives))
    assert (verdict.outcome, verdict.deaths, verdict.contended) == (Outcome.BUSY, 0, False), verdict.reason


@turned_away
def test_where_nothing_shows_that_it_lives_a_busy_engine_is_told_so(reply: Reply) -> None:
    assert "--metrics-url" in judge(told(reply, **BLIND)).next_step
    assert judge(told(reply)).next_step == ""


@pytest.mark.parametrize("step", ["let its own --metrics-url tell", ""])
def test_a_run_that_a_busy_target_ends_passes_the_doubt_on(step: str) -> None:
    world = World()

    def answer(spec: ProbeSpec) -> Observation:
        seen = world.answer(spec)
        return replace(seen, outcome=Outcome.BUSY, next_step=step) if len(world.log) > 3 else seen

    finding = play(bisect(BisectQuestion(lo=1_000, hi=50_000)), answer).finding
    assert finding.halt is Halt.BUSY
    assert ("times in a row: let its own --metrics-url tell" in finding.reason) is bool(step)


@too_late
@pytest.mark.parametrize("health", [CUT, BAD_GATEWAY, GONE], ids=["reset", "502", "refused"])
def test_who_lost_the_engine_after_a_deadline_tells_of_its_death(reply: Reply, health: Health) -> None:
    verdict = judge(told(reply, health_after=(GREEN, health, GREEN), **BLIND))
    assert (verdict.outcome, verdict.deaths) == (Outcome.DEATH, 1), verdict.reason


@too_late
@pytest.mark.parametrize(
    "lives",
    [
        BLIND,
        {},
        {"health_after": (GREEN, RED, GREEN), **BLIND},  # as while a long prompt is read
        {"health_after": (GREEN, Health(1.0, 504), GREEN), **BLIND},
        {"health_during": (GREEN, CUT), "health_after": (CUT, GREEN)},  # the same process goes on
        {"health_during": (BAD_GATEWAY,), "health_after": (BAD_GATEWAY,), **BLIND},
        {"health_after": (GREEN, BAD_GATEWAY, GREEN), "replicas": True, **BLIND},
    ],
    ids=["blind", "well", "red", "late as well", "cut and there", "never green", "another replica's"],
)
def test_an_engine_that_is_only_slow_stays_behind_a_proxys_deadline(reply: Reply, lives: dict[str, object]) -> None:
    verdict = judge(told(reply, **lives))
    assert (verdict.outcome, verdict.deaths) == (Outcome.INFRA, 0), verdict.reason

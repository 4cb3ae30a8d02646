"""Is a breaker that a clean refusal tripped told from one that an engine's failure did?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fuzzer.evidence import Canary
from fuzzer.model import Corroboration, Outcome
from fuzzer.outcome import judge
from fuzzer.outcome.breaker import WAS_TRIPPED, meets_breaker
from targets.base import Refusal
from targets.overloads import names_a_breaker
from tests.unit.test_outcome import (
    BLIND,
    COOLDOWN,
    FELL_BACK,
    GREEN,
    REBORN,
    RED,
    REFUSED,
    SINGS,
    answer,
    evidence,
    http,
)

OPEN = "No available workers (all circuits open or unhealthy)"
SHUT = {
    "an error": Canary(ok=False, duration_s=0.1, status=503, error=OPEN),
    "an overload": replace(COOLDOWN, status=503, error="the circuit breaker is open"),
}
LIMITED = replace(REFUSED, served_before=True, **BLIND)  # type: ignore[arg-type]
shut = pytest.mark.parametrize("canary", SHUT.values(), ids=SHUT)


@shut
@pytest.mark.parametrize("change", [{}, {"took_its_word": True, "uncharged": True}], ids=["once", "again"])
def test_who_sings_behind_a_breaker_that_counted_a_refusal_was_well(canary: Canary, change: dict[str, Any]) -> None:
    verdict = judge(replace(LIMITED, drained=(canary, canary), **change))
    assert (verdict.outcome, verdict.deaths) == (Outcome.REJECTED, 0), verdict.reason
    assert verdict.reason.endswith(WAS_TRIPPED)
    assert WAS_TRIPPED not in judge(LIMITED).reason


@shut
def test_who_is_never_let_in_again_is_presumed_dead(canary: Canary) -> None:
    verdict = judge(replace(LIMITED, drained=(canary,), canary=canary))
    assert (verdict.outcome, verdict.corroboration, verdict.deaths) == (Outcome.DEATH, Corroboration.PRESUMED, 1)


@shut
def test_who_had_no_time_to_wait_for_it_is_not_called_dead_by_that_once(canary: Canary) -> None:
    late = replace(LIMITED, drained=(canary,), canary=canary, ran_out=True)
    assert (judge(late).outcome, judge(late).deaths, judge(late).its_word) == (Outcome.BUSY, 0, True)
    again = judge(replace(late, took_its_word=True))
    assert (again.outcome, again.deaths) == (Outcome.DEATH, 1)
    assert judge(replace(late, health_after=(GREEN, RED, GREEN))).outcome is Outcome.DEATH
    proven = judge(replace(late, before=evidence().before, **REBORN))  # type: ignore[arg-type]
    assert proven.corroboration is Corroboration.PROVEN


@shut
def test_another_process_behind_it_is_a_death(canary: Canary) -> None:
    died = replace(LIMITED, drained=(canary,), before=evidence().before, **REBORN)  # type: ignore[arg-type]
    assert judge(died).corroboration is Corroboration.PROVEN


@shut
@pytest.mark.parametrize(
    "change",
    [
        {"refusal": Refusal("too long")},
        {"health_after": (GREEN, RED, GREEN)},
        {"refusal": None, "reply": http(500)},
        {"refusal": None, "reply": http(400, "nope")},
        {"refusal": None, "reply": answer()},
    ],
    ids=["names no limit", "health went down", "an error", "other words", "an answer"],
)
def test_only_a_named_limit_under_a_green_health_excuses_it(canary: Canary, change: dict[str, Any]) -> None:
    assert not meets_breaker(replace(LIMITED, **change), canary)


@pytest.mark.parametrize("other", [COOLDOWN, FELL_BACK], ids=["cooldown", "fallback"])
def test_what_is_no_breaker_is_charged_when_it_repeats(other: Canary) -> None:
    late = replace(LIMITED, drained=(SHUT["an error"], other), took_its_word=True)
    assert (judge(late).outcome, judge(late).deaths) == (Outcome.DEATH, 1)


def test_a_failure_with_a_breaker_after_it_stays_a_death() -> None:
    for canary in SHUT.values():
        failed = evidence(http(500), canary=canary, served_before=True, **BLIND)
        assert judge(failed).outcome is Outcome.DEATH
    assert judge(evidence(http(500), canary=SINGS, drained=(SHUT["an overload"],), **BLIND)).outcome is Outcome.ERROR


@pytest.mark.parametrize(
    ("said", "named"),
    [
        (OPEN, True), ("Backend circuit breaker tripped", True), ("CIRCUIT_OPEN", True), ("circuit is open", True),
        ("No available workers", False), ("cooldown_list=['ab12']", False), ("short circuit", False), ("open", False),
    ],
)  # fmt: skip
def test_a_breaker_is_known_by_its_name(said: str, named: bool) -> None:
    assert names_a_breaker(said) is named

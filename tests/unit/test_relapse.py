"""Is a death while the engine is waited for counted once, and mere unreadiness never?"""

from __future__ import annotations

from itertools import pairwise

import pytest

from fuzzer.evidence import Canary
from fuzzer.lifetime.relapse import FIRST_PATIENCE_S, LONGEST_PATIENCE_S, Look, Vigil
from fuzzer.model import Corroboration
from targets.base import Fault, Health
from targets.scrape import Scrape

GREEN, LOADING = Health(0.0, 200), Health(0.0, 503)
REFUSED, SILENT = Health(0.0, fault=Fault.REFUSED), Health(0.0, fault=Fault.TIMEOUT)
SANG = Canary(ok=True, duration_s=0.1, status=200)
CUT = Canary(ok=False, duration_s=0.1, fault="cut")
TURNED_DOWN = Canary(ok=False, duration_s=0.1, fault="refused")
SAYS_DEAD = Canary(ok=False, duration_s=0.1, status=500, error="EngineCore encountered an issue")
ERRS = Canary(ok=False, duration_s=0.1, status=500, error="no valid text")
NOT_READY = Canary(ok=False, duration_s=0.1, status=503, error="loading the model")
HANGS = Canary(ok=False, duration_s=9.0, fault="timeout", timed_out=True)


def life(number: int) -> Scrape:
    return Scrape(0.0, {"process_start_time_seconds": float(number)}, prompt_tokens=0.0)


def relapses(vigil: Vigil, *seen: tuple[Health, Scrape | None, Canary | None]) -> list[Corroboration]:
    """What the looks show, a second apart, each with the canary that was sent after it."""
    shown = []
    for at, (health, scrape, canary) in enumerate(seen):
        relapse = vigil.see(Look(float(at), health, scrape))
        shown += [] if relapse is None else [relapse.corroboration]
        if canary is not None:
            vigil.sang(canary)
    return shown


def test_another_process_is_proof_whatever_became_of_the_canary() -> None:
    vigil = Vigil(life(1), ended=True)
    looks = [(GREEN, life(number), canary) for number, canary in ((1, CUT), (2, CUT), (3, HANGS), (4, SANG))]
    assert relapses(vigil, *looks) == [Corroboration.PROVEN] * 2
    assert vigil.born == life(4)


@pytest.mark.parametrize("canary", [CUT, HANGS, SANG])
def test_a_hung_life_has_died_where_another_one_is_seen_and_never_by_its_canary_alone(canary: Canary) -> None:
    vigil = Vigil(life(1), ended=False, wedged=True)
    looks = [(GREEN, life(1), canary), (REFUSED, None, TURNED_DOWN), (LOADING, None, NOT_READY), (GREEN, life(1), SANG)]
    assert relapses(vigil, *looks) == [], "it lives on"
    end = vigil.see(Look(9.0, GREEN, life(2)))
    assert end is not None
    assert (end.of_wedged, end.corroboration) == (True, Corroboration.PROVEN)
    assert (vigil.born, vigil.relapses) == (life(2), 0)
    assert not vigil.is_young(Look(9.0, GREEN, life(2)))
    assert relapses(vigil, (GREEN, life(2), CUT), (GREEN, life(3), None)) == [Corroboration.PROVEN], "a relapse"
    assert vigil.relapses == 1


def test_whoever_ends_a_hung_life_himself_counts_no_death() -> None:
    assert relapses(Vigil(life(1), ended=False), (GREEN, life(1), HANGS), (GREEN, life(2), SANG)) == []


@pytest.mark.parametrize("canary", [CUT, TURNED_DOWN, SAYS_DEAD, ERRS])
def test_where_no_process_is_told_of_a_lost_canary_after_green_health_is_a_presumption(canary: Canary) -> None:
    vigil = Vigil(None, ended=True)
    assert relapses(vigil, (GREEN, None, canary), (Health(0.0, fault=Fault.RESET), None, None)) == [
        Corroboration.PRESUMED
    ]
    assert relapses(vigil, (GREEN, None, canary), (REFUSED, None, None)) == [Corroboration.PROVEN]


@pytest.mark.parametrize("health", [LOADING, REFUSED, SILENT])
@pytest.mark.parametrize("canary", [CUT, TURNED_DOWN, ERRS, NOT_READY, HANGS])
def test_what_is_not_ready_has_not_died(health: Health, canary: Canary) -> None:
    vigil = Vigil(None, ended=True)
    assert relapses(vigil, *[(health, None, canary)] * 3, (GREEN, life(2), NOT_READY), (LOADING, None, HANGS)) == []


@pytest.mark.parametrize("canary", [ERRS, NOT_READY, HANGS, TURNED_DOWN])
def test_a_canary_that_fails_while_health_stays_green_is_no_death(canary: Canary) -> None:
    assert relapses(Vigil(None, ended=True), *[(GREEN, None, canary)] * 3) == []


def test_the_same_process_that_goes_on_is_proof_of_life() -> None:
    assert relapses(Vigil(life(1), ended=True), (GREEN, life(2), CUT), (GREEN, life(2), SANG)) == []


def test_a_life_that_came_and_went_between_two_looks_says_so_itself() -> None:
    """Nobody listened; then somebody answered that it is dead: that is not the life whose end is counted."""
    vigil = Vigil(life(1), ended=True)
    assert relapses(vigil, (REFUSED, None, SAYS_DEAD), (REFUSED, None, None)) == [Corroboration.PROVEN]


def test_a_wedged_engine_that_is_killed_dies_the_death_that_is_counted() -> None:
    vigil = Vigil(None, ended=False)
    assert relapses(vigil, (GREEN, None, HANGS), (GREEN, None, CUT), (REFUSED, None, TURNED_DOWN)) == []
    assert relapses(vigil, (GREEN, None, CUT), (GREEN, None, None)) == [Corroboration.PRESUMED]


def test_what_an_earlier_wait_has_taught_need_not_be_learnt_again() -> None:
    vigil = Vigil(None, ended=True, wary=2)
    looks = [Look(at_s, GREEN) for at_s in (0.0, 1.5 * FIRST_PATIENCE_S, 2 * FIRST_PATIENCE_S)]
    assert [vigil.see(look) or vigil.is_young(look) for look in looks] == [True, True, False]


def test_each_life_that_dies_young_buys_the_next_one_twice_the_time() -> None:
    vigil, at_s, waits = Vigil(life(0), ended=True), 0.0, []
    for number in range(1, 5):
        look = Look(at_s, GREEN, life(number))
        vigil.see(look)
        began = at_s
        while vigil.is_young(look):
            at_s += 0.5
            look = Look(at_s, GREEN, life(number))
            vigil.see(look)
        waits.append(at_s - began)
        vigil.sang(CUT)
    assert waits == [0.0, FIRST_PATIENCE_S, 2 * FIRST_PATIENCE_S, 4 * FIRST_PATIENCE_S]


ENVOY = Canary(
    ok=False, duration_s=0.1, status=503, error="upstream connect error or disconnect/reset. reason: connection refused"
)


@pytest.mark.parametrize("canary", [SAYS_DEAD, CUT, ENVOY])
def test_where_health_always_says_yes_one_dead_engine_dies_but_once(canary: Canary) -> None:
    assert relapses(Vigil(None, ended=True), *[(GREEN, None, canary)] * 40) == []


def test_what_a_proxy_says_of_an_engine_that_loads_is_no_death() -> None:
    looks = [(REFUSED, None, ENVOY), (LOADING, None, ENVOY)] * 10
    assert relapses(Vigil(life(1), ended=True), *looks) == []
    assert relapses(Vigil(None, ended=True), *looks) == []


def test_patience_has_an_end() -> None:
    vigil = Vigil(None, ended=True, wary=30)
    vigil.see(Look(0.0, GREEN))
    assert vigil.is_young(Look(LONGEST_PATIENCE_S - 1, GREEN))
    assert not vigil.is_young(Look(LONGEST_PATIENCE_S, GREEN))


def test_canaries_that_are_lost_under_green_health_are_sent_more_and_more_seldom() -> None:
    """An engine that restarts faster than it is looked at shows nothing but that, and each may have been a life."""
    vigil, at_s = Vigil(None, ended=True), 0.0
    sent: list[float] = []
    while len(sent) < 5:
        look = Look(at_s, GREEN)
        assert vigil.see(look) is None
        if not vigil.is_young(look):
            vigil.sang(CUT)
            sent.append(at_s)
        at_s += 0.5
    waits = [late - early for early, late in pairwise(sent)]
    assert waits == [2.5, 4.5, 8.5, 16.5]


def test_one_that_is_not_well_yet_costs_no_patience() -> None:
    vigil = Vigil(None, ended=True)
    relapses(vigil, *[(LOADING, None, SAYS_DEAD)] * 10, (GREEN, None, None))
    assert not vigil.is_young(Look(11.0, GREEN))


@pytest.mark.parametrize(("canary", "number"), [(CUT, 3), (SAYS_DEAD, 0), (HANGS, 0)])
def test_where_no_canary_ever_sang_each_line_that_is_cut_is_a_death(canary: Canary, number: int) -> None:
    vigil = Vigil(None, ended=True, unsung=True)
    assert relapses(vigil, *[(GREEN, None, canary)] * 3, (GREEN, None, None)) == [Corroboration.PRESUMED] * number


@pytest.mark.parametrize(("last", "shown"), [(200, 0), (401, 0), (429, 0), (503, 1)])
def test_health_that_a_door_turns_away_did_not_go_down(last: int, shown: int) -> None:
    away = Canary(ok=False, duration_s=0.1, status=502, error="Bad Gateway")
    looks = [(GREEN, None, away), (Health(0.0, last), None, None)]
    assert len(relapses(Vigil(None, ended=True), *looks)) == shown

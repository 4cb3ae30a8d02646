"""For how long is a canary asked again?"""

from __future__ import annotations

from dataclasses import replace

import pytest

from fuzzer.evidence import Canary
from fuzzer.lifetime.patience import Patience

REFUSED = Canary(ok=False, duration_s=0.0, fault="refused")
BUSY = Canary(ok=False, duration_s=0.0, status=429, busy=True)
GIVEN_UP_ON = Canary(ok=False, duration_s=0.0, status=504, given_up_on=True)


def waits(canary: Canary, deadline_s: float, timeout_s: float) -> list[float]:
    """The pauses until there is no time left, each of them slept through."""
    now, told = 0.0, list[float]()
    patience = Patience(deadline_s, timeout_s, clock=lambda: now)
    while (pause_s := patience.pause_s(canary)) is not None and len(told) < 200:
        told.append(pause_s)
        now += pause_s
    return told


@pytest.mark.parametrize(
    ("canary", "named_s", "timeout_s", "within"),
    [
        (BUSY, None, 600.0, (100, 120)),  # a rate by the minute is over by then
        (BUSY, None, 10.0, (5, 10)),
        (BUSY, 1.0, 600.0, (100, 121)),
        (BUSY, 90.0, 600.0, (180, 210)),
        (BUSY, 600.0, 600.0, (600, 720)),
        (BUSY, 601.0, 600.0, (0, 0)),  # so long nobody waits
        (GIVEN_UP_ON, None, 600.0, (40, 60)),
        (Canary(ok=True, duration_s=0.0), None, 600.0, (0, 0)),
        (Canary(ok=False, duration_s=0.0, status=500), None, 600.0, (0, 0)),
    ],
)
def test_it_is_asked_again_for_a_bounded_time(
    canary: Canary, named_s: float | None, timeout_s: float, within: tuple[float, float]
) -> None:
    told = waits(replace(canary, wait_s=named_s), 60.0, timeout_s)
    assert within[0] <= sum(told) <= within[1]
    assert all(pause_s >= max(1.0, named_s or 0.0) for pause_s in told), "and never more often than once a second"
    assert len(told) <= 16


@pytest.mark.parametrize(
    ("most_s", "named_s", "ran_out"), [(30.0, None, True), (30.0, 90.0, True), (300.0, 1.0, False)]
)
def test_nobody_is_asked_again_past_the_time_of_the_run(most_s: float, named_s: float | None, ran_out: bool) -> None:
    now = 0.0
    patience = Patience(60.0, 600.0, most_s, clock=lambda: now)
    while (pause_s := patience.pause_s(replace(BUSY, wait_s=named_s))) is not None:
        now += pause_s
    assert patience.ran_out is ran_out
    assert now < most_s


def test_who_meets_a_door_that_is_shut_for_now_is_asked_again_as_whoever_is_turned_away() -> None:
    now, asked = 0.0, 0
    patience = Patience(60.0, 600.0, meets_door=lambda canary: canary is REFUSED, clock=lambda: now)
    while (pause_s := patience.pause_s(REFUSED)) is not None:
        now, asked = now + pause_s, asked + 1
        assert patience.left_s() == 60.0
    assert 100 <= now <= 120
    assert asked <= 16
    assert Patience(60.0, 600.0, clock=lambda: now).pause_s(REFUSED) is None


@pytest.mark.parametrize("named_s", [None, 17.0, 39.0, 119.0])
def test_who_is_let_in_at_last_has_all_the_time_that_a_hang_has(named_s: float | None) -> None:
    now = 0.0
    patience = Patience(60.0, 600.0, clock=lambda: now)
    while now < 90.0:
        now += patience.pause_s(replace(BUSY, wait_s=named_s)) or 0.0
        assert patience.left_s() == 60.0
    now += 20.0
    pause_s = patience.pause_s(GIVEN_UP_ON)
    assert pause_s is not None, "in the engine's own queue he has only just begun to wait"
    now += pause_s
    assert patience.left_s() == pytest.approx(40.0 - pause_s)

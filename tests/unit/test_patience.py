"""For how long is a canary asked again?"""

from __future__ import annotations

from dataclasses import replace

import pytest

from fuzzer.evidence import Canary
from fuzzer.patience import Patience

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

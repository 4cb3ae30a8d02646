"""Is only the target's silence taken for a hang, and never our own absence?"""

from __future__ import annotations

from dataclasses import dataclass

from fuzzer.watch import Pulse
from targets.scrape import Scrape


@dataclass
class Clock:
    now: float = 100.0

    def __call__(self) -> float:
        return self.now


def looking(pulse: Pulse, clock: Clock, seconds: float) -> None:
    """As the supervising loop does: a look every second."""
    for _ in range(int(seconds)):
        clock.now += 1
        pulse.look()


def test_silence_is_a_hang_at_the_deadline() -> None:
    clock = Clock()
    pulse = Pulse(clock.now, clock)
    looking(pulse, clock, 60)
    assert not pulse.hung(60, 600)
    looking(pulse, clock, 1)
    assert pulse.hung(60, 600)
    assert pulse.away_s == 0


def test_a_night_asleep_moves_every_deadline_by_a_night() -> None:
    clock = Clock()
    pulse = Pulse(clock.now, clock)
    looking(pulse, clock, 10)
    pulse.on_byte()
    clock.now += 8 * 3600
    pulse.look()
    assert not pulse.hung(60, 600)
    assert pulse.away_s == 8 * 3600
    assert pulse.elapsed() == 10
    looking(pulse, clock, 60)
    assert not pulse.hung(60, 600)
    looking(pulse, clock, 1)
    assert pulse.hung(60, 600), "awake, the deadline holds again"


def test_a_token_now_and_then_is_progress() -> None:
    clock = Clock()
    pulse = Pulse(clock.now, clock)
    for _ in range(100):
        looking(pulse, clock, 30)
        pulse.on_byte()
        pulse.on_token()
        assert not pulse.hung(60, 600)
    looking(pulse, clock, 601)
    assert pulse.hung(60, 600)


def test_another_process_in_the_middle_of_a_request_is_seen() -> None:
    first, second = (Scrape(0.0, {"process": start}, {}, 1.0) for start in (1000.0, 1007.0))
    told = []
    for known, late in ((first, first), (first, second), (None, second)):
        pulse = Pulse(0.0, Clock(), known=known)
        pulse.on_scrape(late)
        told.append(pulse.died)
    assert told == [None, "process start went from 1000.00 to 1007.00", None]


def test_an_answer_that_trickles_for_ever_is_a_hang() -> None:
    clock = Clock()
    pulse = Pulse(clock.now, clock)
    for _ in range(600):
        pulse.on_byte()
        looking(pulse, clock, 1)
    assert not pulse.hung(60, 600)
    looking(pulse, clock, 1)
    assert pulse.hung(60, 600)

"""Is only the target's silence taken for a hang, and never our own absence?"""

from __future__ import annotations

from dataclasses import dataclass

import anyio
import pytest

from fuzzer.aftermath import look_again
from fuzzer.asleep import asleep_s
from fuzzer.errors import Interrupted
from fuzzer.model import Settings
from fuzzer.rig import Rig
from fuzzer.standing import Standing
from fuzzer.watch import GRACE_INTERVAL_S, Pulse, grace, watch
from targets.base import Health
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
    pulse = Pulse(clock.now, clock, lambda: 0.0)
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


def test_a_machine_that_sleeps_is_away_though_its_clock_stands_still() -> None:
    clock, asleep = Clock(), Clock(3.0)
    pulse = Pulse(clock.now, clock, asleep)
    looking(pulse, clock, 10)
    asleep.now += 3600
    looking(pulse, clock, 1)
    assert pulse.away_s == pytest.approx(3601)
    looking(pulse, clock, 60)
    assert pulse.away_s == pytest.approx(3601), "it slept once"
    assert pulse.elapsed() == pytest.approx(70)


def test_how_long_this_machine_slept_is_told_by_two_clocks() -> None:
    slept = asleep_s()
    assert slept > -0.001
    assert asleep_s() - slept < 1


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


def test_what_was_asked_for_may_come_for_as_long_as_it_comes() -> None:
    clock = Clock()
    pulse = Pulse(clock.now, clock)
    for _ in range(1000):
        pulse.on_byte()
        pulse.on_token()
        looking(pulse, clock, 5)
        assert not pulse.hung(60, 100)


@pytest.mark.parametrize("tokens", [0, 20])
def test_whatever_else_moves_an_answer_that_does_not_go_on_is_a_hang(tokens: int) -> None:
    """An engine that computes for ever, be it before its first token or past all that was asked for."""
    clock = Clock()
    pulse = Pulse(clock.now, clock)
    for _ in range(tokens):
        pulse.on_byte()
        pulse.on_token()
        looking(pulse, clock, 50)
    steps, waited = 0, 0
    while not pulse.hung(60, 100):
        looking(pulse, clock, 10)
        steps, waited = steps + 1, waited + 10
        pulse.on_scrape(Scrape(0.0, running=1.0, heartbeat=float(steps)))
        if tokens:
            pulse.on_byte()
    assert waited == pytest.approx(600, abs=60)


class Told:
    """Metrics that tell of one start after the other, the last one for good."""

    def __init__(self, *starts: float) -> None:
        self.starts = list(starts)

    async def metrics(self) -> Scrape:
        start = self.starts.pop(0) if len(self.starts) > 1 else self.starts[0]
        return Scrape(0.0, {"process": start}, heartbeat=float(len(self.starts)))

    async def health(self) -> Health:
        return Health(0.0, 200)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("starts", "died"), [([1000.0, 1030.0] * 20 + [1000.0], False), ([1000.0, 1030.0], True)], ids=["turns", "restart"]
)
async def test_a_request_is_not_hung_up_on_where_two_engines_take_turns(
    starts: list[float], died: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HEARTBEAT_INTERVAL_S", "GRACE_INTERVAL_S"):
        monkeypatch.setattr(f"fuzzer.watch.{name}", 0.001)
    told = Told(*starts)
    pulse = Pulse(0.0, Clock(), known=await told.metrics())
    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch, told, pulse, Settings(), lambda: None)  # type: ignore[arg-type]
            while pulse.died is None and (died or len(told.starts) > 1):  # noqa: ASYNC110  (it is the clock of the watch)
                await anyio.sleep(0.001)
            await anyio.sleep(0.05)
            tasks.cancel_scope.cancel()
    assert (pulse.died is not None) == died


class Stuck(Told):
    """Metrics that hang once they have told of each start."""

    async def metrics(self) -> Scrape:
        if not self.starts:
            await anyio.sleep_forever()
        return Scrape(0.0, {"process": self.starts.pop(0)})


@pytest.mark.anyio
async def test_metrics_that_hang_keep_no_restart_from_being_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fuzzer.watch.HEARTBEAT_INTERVAL_S", 0.001)
    monkeypatch.setattr("fuzzer.watch.TURNS_WITHIN_S", 0.15)
    stuck = Stuck(1000.0, 1030.0)
    pulse, told = Pulse(0.0, Clock(), known=await stuck.metrics()), anyio.Event()
    with anyio.fail_after(2):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch, stuck, pulse, Settings(), told.set)  # type: ignore[arg-type]
            await told.wait()
            tasks.cancel_scope.cancel()
    assert pulse.died == "process start went from 1000.00 to 1030.00"


class Limited(Told):
    """Health behind a limit on requests: so many are let in."""

    def __init__(self, let_in: int, *, wait_s: float | None) -> None:
        self.let_in, self.wait_s, self.asked = let_in, wait_s, 0

    async def health(self) -> Health:
        self.asked += 1
        return Health(0.0, 200) if self.asked <= self.let_in else Health(0.0, 429, wait_s=self.wait_s)


@pytest.mark.anyio
@pytest.mark.parametrize("wait_s", [None, 0.0, 9.0, 1e9])
async def test_whoever_turns_a_poll_away_is_not_asked_ten_times_a_second(wait_s: float | None) -> None:
    limited = Limited(3, wait_s=wait_s)
    polls = await grace(limited, Pulse(0.0, Clock()), seconds=0.6, interval_s=GRACE_INTERVAL_S)  # type: ignore[arg-type]
    assert [poll.status for poll in polls] == [200, 200, 200, 429]
    assert polls[-1].wait_s == wait_s


@pytest.mark.anyio
async def test_more_looks_hear_an_interrupt() -> None:
    rig = Rig(Stuck(), None, Settings())  # type: ignore[arg-type]
    with anyio.fail_after(2):
        rig.stop.set()
        with pytest.raises(Interrupted):
            await look_again(rig, Standing())

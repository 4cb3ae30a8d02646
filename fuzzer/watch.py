"""Is the engine alive while we look? Health, counters and heartbeat around one request.

Bounds what the watching costs the target: at most two requests a second while a request is open. Ten a second only
where a death is to be told: in the grace after a failure, when a restart may be quicker than any slower look, and for
six looks at what is a restart, or another engine's turn. Whoever turns a look away is asked again as he says.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import anyio

from fuzzer.asleep import asleep_s
from targets.base import Fault, Health
from targets.scrape import mixed, restarted

if TYPE_CHECKING:
    from fuzzer.model import Settings
    from targets.scrape import Scrape
    from targets.target import Target

HEARTBEAT_INTERVAL_S = 2.0
GRACE_INTERVAL_S = 0.1
POLL_TIMEOUT_S = 5.0
TURNS_WITHIN_S = 3.0  # metrics that hang keep no restart from being told
TURNS = 6  # looks after what may be a restart: of two that take turns by chance, the other one shows in 98 % of cases
TURNED_AWAY_S = 1.0  # until health is asked again that was turned away, where no time is named
LONGEST_PAUSE_S = 30.0
TIMEOUTS = 6  # that an answer may take to begin, or to its next token, whatever else moves
ABSENT_S = 5.0  # a pause of our own loop that no load explains: we were suspended or stopped


@dataclass(slots=True)
class Pulse:
    """What the watching of one request has seen so far. Times are seconds since `began`."""

    began: float
    clock: Callable[[], float] = time.monotonic
    asleep: Callable[[], float] = asleep_s
    health: list[Health] = field(default_factory=list)
    progress_at: float = 0.0  # the last byte, or the last move of the heartbeat
    beat_at: float = 0.0  # the last move of the heartbeat alone
    token_at: float = 0.0  # the last token that was asked for
    first_byte_at: float | None = None
    heartbeat: float | None = None
    known: Scrape | None = None  # who the engine was when the request left
    died: str | None = None  # what shows that it is another one by now
    peak_running: float = 0.0
    away_s: float = 0.0
    _looked_at: float = 0.0
    _asleep_s: float = field(init=False)

    def __post_init__(self) -> None:
        self._asleep_s = self.asleep()

    def elapsed(self) -> float:
        return self.clock() - self.began

    def on_byte(self) -> None:
        self.progress_at = self.elapsed()
        if self.first_byte_at is None:
            self.first_byte_at = self.progress_at

    def on_token(self) -> None:
        """Whoever gives a token computes."""
        self.progress_at = self.beat_at = self.token_at = self.elapsed()

    def on_scrape(self, scrape: Scrape) -> None:
        if self.known is not None and self.died is None:
            self.died = restarted(self.known, scrape)
        self.peak_running = max(self.peak_running, (scrape.running or 0.0) + (scrape.waiting or 0.0))
        if scrape.heartbeat is None:
            return
        others = (scrape.running or 0.0) > 1  # then it may be theirs that moves
        if self.heartbeat is not None and scrape.heartbeat > self.heartbeat and not others:
            self.progress_at = self.beat_at = self.elapsed()
        self.heartbeat = scrape.heartbeat

    def look(self) -> None:
        """To be called often: what passed since the last look, if we were away, is nobody's time.

        The clock goes on while we are stopped, but not on every system while the machine sleeps.
        """
        gap, asleep = self.elapsed() - self._looked_at, self.asleep()
        away = gap + max(0.0, asleep - self._asleep_s)
        if away > ABSENT_S:
            self.began += gap
            self.away_s += away
        self._looked_at, self._asleep_s = self.elapsed(), asleep

    def hung(self, stall_s: float, timeout_s: float) -> bool:
        """No progress for `stall_s`; or, whatever moves, an answer that never begins, or has no more of what was asked.

        Tokens that were asked for are progress for as long as they come: there is an end to them.
        """
        now = self.elapsed()
        if now - self.progress_at > stall_s:
            return True
        if self.first_byte_at is not None and now - max(self.first_byte_at, self.beat_at) > timeout_s:
            return True  # bytes that trickle, while nothing says that the engine computes
        return now - self.token_at > TIMEOUTS * timeout_s


async def poll_health(target: Target, pulse: Pulse) -> Health:
    """One poll, kept in `pulse`. A health endpoint that does not answer within 5 s is a timeout, never a death."""
    with anyio.move_on_after(POLL_TIMEOUT_S):
        seen = await target.health()
        return replace(seen, at_s=pulse.elapsed())
    return Health(pulse.elapsed(), fault=Fault.TIMEOUT)


async def scrape(target: Target) -> Scrape | None:
    """One scrape within 5 s, or None."""
    with anyio.move_on_after(POLL_TIMEOUT_S):
        return await target.metrics()
    return None


async def watch(target: Target, pulse: Pulse, settings: Settings, tell: Callable[[], None]) -> None:
    """Poll health and heartbeat until cancelled, and `tell` after each poll."""
    async with anyio.create_task_group() as group:
        group.start_soon(_watch_health, target, pulse, settings.health_interval_s, tell)
        group.start_soon(_watch_heartbeat, target, pulse, tell)


async def _watch_health(target: Target, pulse: Pulse, interval_s: float, tell: Callable[[], None]) -> None:
    while True:
        await anyio.sleep(_pause_s(pulse.health, interval_s))
        pulse.health.append(await poll_health(target, pulse))
        tell()


async def _watch_heartbeat(target: Target, pulse: Pulse, tell: Callable[[], None]) -> None:
    while True:
        await anyio.sleep(HEARTBEAT_INTERVAL_S)
        seen = await scrape(target)
        if seen is not None and not await _is_a_turn(target, pulse, seen):
            pulse.on_scrape(seen)
            tell()


async def _is_a_turn(target: Target, pulse: Pulse, seen: Scrape) -> bool:
    """Is this another process than the one that was asked, which is there too? They take turns then; none died."""
    if pulse.known is None or pulse.died is not None or restarted(pulse.known, seen) is None:
        return False
    with anyio.move_on_after(TURNS_WITHIN_S):
        for _ in range(TURNS):
            await anyio.sleep(GRACE_INTERVAL_S)
            again = await scrape(target)
            if again is not None and mixed(seen, again):
                return True
    return False


async def grace(target: Target, pulse: Pulse, *, seconds: float, interval_s: float) -> tuple[Health, ...]:
    """Poll health to the end of the grace; after a failure from now on, after a pass only in the midst of it.

    Ends early only on a refused socket: nobody is there to look at.
    """
    polls: list[Health] = []
    with anyio.move_on_after(seconds):
        if interval_s != GRACE_INTERVAL_S:
            await anyio.sleep(min(interval_s, seconds / 2))
        while True:
            poll = await poll_health(target, pulse)
            polls.append(poll)
            if poll.fault is Fault.REFUSED and interval_s == GRACE_INTERVAL_S:
                break
            await anyio.sleep(_pause_s(polls, interval_s))
    return tuple(polls)


def _pause_s(polls: Sequence[Health], interval_s: float) -> float:
    """Seconds until health is asked again: who was turned away comes back when he was told to, and not at once."""
    if not polls or not polls[-1].turned_away:
        return interval_s
    named_s = polls[-1].wait_s
    return max(interval_s, TURNED_AWAY_S, min(named_s or 0.0, LONGEST_PAUSE_S))

"""Who starts the engines, sees them die and brings them back? One task per engine; the log outlives them all."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from targets.sim.child import Child, either
from targets.sim.listener import Listener
from targets.sim.world import World


class Phase(StrEnum):
    """Where one engine and the API server in front of it stand."""

    DOWN = "down"  # nobody listens
    LOADING = "loading"  # listens, says 503
    UP = "up"
    DYING = "dying"  # the engine is dead, the API server is not yet


@dataclass(slots=True)
class Record:
    """One generation request, as the supervisor's log keeps it. `t`: seconds since the simulation began.

    `outcome`: open, answered, refused, death, error, busy, reset, cut, or aborted (by its client).
    """

    seq: int
    t: float
    prompt_tokens: int
    max_tokens: int
    incarnation: int
    ordinal: int
    engine: int
    status: int | None = None
    outcome: str = "open"


@dataclass(frozen=True, slots=True)
class DeathRecord:
    """One death of an engine process that nobody asked for. `status` is negative for a signal."""

    t: float
    engine: int
    incarnation: int
    pid: int
    status: int | None


@dataclass(slots=True)
class Seat:
    """One engine's place: which life sits there now. `born`: seconds since the epoch, new for each life."""

    index: int
    phase: Phase = Phase.DOWN
    child: Child | None = None
    incarnation: int = -1
    ordinal: int = 0
    born: float = 0.0
    deaths: int = 0
    by_hand: asyncio.Event = field(default_factory=asyncio.Event)


class Supervisor:
    """Keeps `replicas` x `data_parallel` engines alive behind one port, as the world's restart policy says."""

    def __init__(self, world: World, log: Path | None) -> None:
        self.world = world
        self.seats = [Seat(index) for index in range(world.replicas * world.data_parallel)]
        self.records: list[Record] = []
        self.deaths: list[DeathRecord] = []
        self.listener: Listener
        self._log = log
        self._zero = time.monotonic()
        self._turn = 0
        self._api_born: dict[int, float] = {}
        self._changed = asyncio.Condition()

    @property
    def now(self) -> float:
        return round(time.monotonic() - self._zero, 4)

    async def run(self) -> None:
        """Keep the engines alive until cancelled; then end them."""
        try:
            async with asyncio.TaskGroup() as group:
                for seat in self.seats:
                    group.create_task(self._lives(seat))
        finally:
            for seat in self.seats:
                if seat.child is not None:
                    await seat.child.end()
            self.listener.close()

    async def all_up(self) -> None:
        """Wait until every engine serves."""
        await self._until(lambda: all(seat.phase is Phase.UP for seat in self.seats))

    async def listening(self) -> None:
        """Wait until somebody listens."""
        await self._until(lambda: any(seat.phase is not Phase.DOWN for seat in self.seats))

    async def down(self) -> None:
        """Wait until nobody listens."""
        await self._until(lambda: all(seat.phase is Phase.DOWN for seat in self.seats))

    async def _until(self, settled: Callable[[], bool]) -> None:
        async with self._changed:
            await self._changed.wait_for(settled)

    async def _enter(self, seat: Seat, phase: Phase) -> None:
        seat.phase = phase
        if phase is Phase.DOWN:
            if all(other.phase is Phase.DOWN for other in self.seats):
                self.listener.close()
        elif phase is not Phase.DYING:
            self.listener.open()
        async with self._changed:
            self._changed.notify_all()

    def api_born(self, seat: Seat) -> float:
        """When the API server in front of this engine started: with its first engine, and it outlives single ones."""
        return self._api_born[seat.index // self.world.data_parallel]

    def pick(self) -> Seat:
        """The seat that serves the next request: round robin over those that listen."""
        open_seats = [seat for seat in self.seats if seat.phase is not Phase.DOWN] or self.seats
        self._turn += 1
        return open_seats[self._turn % len(open_seats)]

    def engines_of(self, seat: Seat) -> list[Seat]:
        """All engines behind the API server that `seat` belongs to."""
        first = seat.index - seat.index % self.world.data_parallel
        return self.seats[first : first + self.world.data_parallel]

    def record(self, seat: Seat, prompt: int, max_tokens: int) -> Record:
        record = Record(len(self.records) + 1, self.now, prompt, max_tokens, seat.incarnation, seat.ordinal, seat.index)
        self.records.append(record)
        return record

    def restart(self) -> None:
        """By hand: end what lives, and start everything anew whatever the policy."""
        for seat in self.seats:
            seat.by_hand.set()

    async def _lives(self, seat: Seat) -> None:
        restart = self.world.restart
        while True:
            await self._begin(seat)
            await self._end_of_life(seat)
            delay = min(restart.delay_s * restart.factor ** max(seat.deaths - 1, 0), restart.max_s)
            if not seat.by_hand.is_set():
                await _first(seat.by_hand, delay if restart.policy == "always" else None)
            seat.by_hand.clear()

    async def _begin(self, seat: Seat) -> None:
        seat.child = None  # what the last life counted is gone with it
        seat.incarnation += 1
        seat.ordinal = 0
        seat.born = time.time()
        if self.world.data_parallel == 1 or seat.incarnation == 0:
            self._api_born[seat.index // self.world.data_parallel] = seat.born
        if self.world.restart.loading_s:
            await self._enter(seat, Phase.LOADING)
            await asyncio.sleep(self.world.restart.loading_s)
        seat.child = await Child.start(self.world, seat.incarnation * len(self.seats) + seat.index, self._log)
        await self._enter(seat, Phase.UP)

    async def _end_of_life(self, seat: Seat) -> None:
        child = seat.child
        assert child is not None
        await either(child.dead, seat.by_hand)
        serves_no_more = bool(child.counters.get("poisoned"))  # a death, though the process lives on
        asked = not child.dead.is_set()
        await child.end()
        await self._enter(seat, Phase.DYING)
        if not asked or serves_no_more:
            seat.deaths += 1
            self.deaths.append(DeathRecord(self.now, seat.index, seat.incarnation, child.pid, child.status))
        if not asked:
            if self.world.death.stays:
                await seat.by_hand.wait()
            elif not self.world.death.silent:
                await _first(seat.by_hand, self.world.death.unhealthy_s)
        await self._enter(seat, Phase.DOWN)


async def _first(event: asyncio.Event, timeout_s: float | None) -> None:
    """Wait for the event, at most so long (None: without end)."""
    try:
        await asyncio.wait_for(event.wait(), timeout_s)
    except TimeoutError:
        return

"""Is a hung engine that its watchdog kills late, while it is waited for, a death of the probe that made it hang?"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import anyio
import pytest

from fuzzer.cli.common import CommonFlags
from fuzzer.events import Event, ProbeStarted, Reviving
from fuzzer.finding import FindingKind
from fuzzer.model import Corroboration, Outcome
from fuzzer.report.finding import finding_object
from fuzzer.store import History
from targets.sim import running
from targets.sim.world import World
from tests.integration.playing import play
from tests.integration.raw import reset
from tests.integration.staging import Stage, page, well

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from targets.sim import Simulation
    from tests.integration.raw import Reader, Writer

pytestmark = pytest.mark.anyio
WEDGES = {"limit": {"tokens": 16_384}, "rules": [{"when": "P > 3001", "symptom": "wedge"}], "restart": {"delay_s": 0.1}}


class Watchdog(list[Event]):
    """Kills the engine once after each probe, as soon as it is waited for: long after the probe was given up."""

    def __init__(self, simulation: Simulation) -> None:
        super().__init__()
        self._simulation = simulation
        self._is_due = False

    def append(self, event: Event) -> None:
        super().append(event)
        if isinstance(event, Reviving) and self._is_due:
            self._simulation.kill()
        self._is_due = isinstance(event, ProbeStarted) or (self._is_due and not isinstance(event, Reviving))


async def test_a_watchdog_that_kills_late_makes_a_hang_a_death(tmp_path: Path) -> None:
    async with running(World.from_dict(WEDGES)) as simulation:
        flags = CommonFlags(url=simulation.url, db=tmp_path / "runs.db", timeout_s=0.8, seed=1)
        with anyio.fail_after(120):
            result = await play(
                flags, Watchdog(simulation), lo=3_000, hi=3_003, confidence=0.5, attribute_axis=False, trust_lo=True
            )
        died = simulation.deaths
    assert (result.finding.kind, result.finding.last_good, result.finding.first_bad) == (FindingKind.DEATH, 3001, 3002)
    bad = [seen for seen in result.observations if seen.outcome is Outcome.DEATH]
    assert died > 0
    assert [(seen.deaths, seen.relapses, seen.toll, seen.blames) for seen in bad] == [(1, 0, 1, "this")] * died
    assert all("process start" in seen.reason and seen.corroboration is Corroboration.PROVEN for seen in bad)
    told = finding_object(result.run_row, result.finding, result.observations, result.elapsed_s)
    assert told["deaths"] == died
    with History.open(flags.db) as history:
        assert [death.seq for death in history.deaths(result.run_row.run)] == [seen.seq for seen in bad]


@dataclass(slots=True)
class Blind:
    """Hangs above its edge and has no metrics; its watchdog kills it under the canary. Then nobody listens for a while.

    `is_alone`: else whoever stands before it does, and says that it is well.
    """

    is_alone: bool
    killed: int = 0
    port: int = 0
    _hangs: bool = False
    _server: asyncio.Server | None = None
    _tasks: list[asyncio.Future[None]] = field(default_factory=list)

    async def __aenter__(self) -> Self:
        await self._listen()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _listen(self, after_s: float = 0.0) -> None:
        await asyncio.sleep(after_s)
        stage = Stage(self._act, {path: page({}, 404) for path in ("/metrics", "/version")}, long=1)

        async def serve(reader: Reader, writer: Writer) -> None:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await stage(reader, writer)
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

        def accept(reader: Reader, writer: Writer) -> None:
            self._tasks.append(asyncio.ensure_future(serve(reader, writer)))

        self._server = await asyncio.start_server(accept, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _act(self, writer: Writer, asked: Mapping[str, Any]) -> None:
        if len(asked["prompt"]) > 600:
            self._hangs = True
            await anyio.sleep_forever()
        if not self._hangs:
            await well(writer, asked)
            return
        self._hangs, self.killed = False, self.killed + 1
        if self.is_alone and self._server is not None:
            self._server.close()
            self._tasks.append(asyncio.ensure_future(self._listen(0.5)))
        reset(writer)


@pytest.mark.parametrize(("is_alone", "outcome"), [(True, Outcome.DEATH), (False, Outcome.HANG)])
async def test_who_is_killed_under_the_canary_is_dead_where_nobody_listens_then(
    is_alone: bool, outcome: Outcome, tmp_path: Path
) -> None:
    async with Blind(is_alone) as engine:
        url = f"http://127.0.0.1:{engine.port}"
        flags = CommonFlags(url=url, db=tmp_path / "runs.db", timeout_s=0.8, seed=1, output_tokens=8, max_deaths=1)
        with anyio.fail_after(60):
            result = await play(flags, lo=590, hi=610, confidence=0.5, attribute_axis=False)
    bad = [seen for seen in result.observations if seen.outcome is not Outcome.PASS]
    assert [(seen.outcome, seen.deaths) for seen in bad] == [(outcome, int(is_alone))]
    assert engine.killed == 1, "a wedged engine is paid for as well"
    assert ("no progress" in bad[0].reason, "health was refused" in bad[0].reason) == (True, is_alone)

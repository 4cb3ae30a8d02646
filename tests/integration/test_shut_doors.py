"""Is a service that lets nobody in, while its engine answers, told from an engine that is gone?"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from fuzzer.cli import opening, questions
from fuzzer.cli.common import CommonFlags
from fuzzer.model import Corroboration, Outcome
from fuzzer.store import History
from tests.integration.raw import Reader, Writer, request_of, reset, serving, whole
from tests.integration.staging import LONG, QUICK, Stage, probe, well

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]
READ_S = 0.3  # health is asked some times meanwhile


class Service:
    """Of one pod: from the middle of the long prompt on nobody new is let in, until `shut_s` after its answer."""

    def __init__(self, shut_s: float | None, *, dies: bool = False) -> None:
        self.shut_s, self.dies = shut_s, dies
        self.stage = Stage(self.act)

    async def open(self, port: int = 0) -> None:
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", port)
        self.port: int = self.server.sockets[0].getsockname()[1]
        self.stage.url = f"http://127.0.0.1:{self.port}"

    async def serve(self, reader: Reader, writer: Writer) -> None:
        with contextlib.suppress(OSError):
            await self.stage(reader, writer)
        writer.close()

    async def act(self, writer: Writer, asked: Mapping[str, Any]) -> None:
        self.server.close()
        await asyncio.sleep(READ_S)
        if self.shut_s is not None:
            self.opens = asyncio.get_running_loop().create_task(self.open_again(self.shut_s))
        if self.dies:
            reset(writer)
        else:
            await well(writer, asked)

    async def open_again(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        await self.open(self.port)


@asynccontextmanager
async def serviced(shut_s: float | None, *, dies: bool = False) -> AsyncIterator[Service]:
    service = Service(shut_s, dies=dies)
    await service.open()
    try:
        yield service
    finally:
        service.server.close()


async def test_who_sings_behind_a_door_that_was_shut_before_the_answer_ended_may_be_the_next_life(
    tmp_path: Path,
) -> None:
    async with serviced(0.4) as service:
        seen = await probe(tmp_path, service.stage, health_interval_s=0.05)
    assert (seen.outcome, seen.deaths) == (Outcome.INFRA, 0), seen.reason
    assert seen.canaries > 1, "it was asked again"


async def test_a_door_that_stays_shut_is_a_presumed_death(tmp_path: Path) -> None:
    async with serviced(None) as service:
        seen = await probe(tmp_path, service.stage, health_interval_s=0.05, timeout_s=1.5)
    assert (seen.outcome, seen.corroboration) == (Outcome.DEATH, Corroboration.PRESUMED), seen.reason


async def test_an_engine_that_closes_its_listener_and_dies_is_dead(tmp_path: Path) -> None:
    async with serviced(0.4, dies=True) as service:
        seen = await probe(tmp_path, service.stage, health_interval_s=0.05)
    assert (seen.outcome, seen.corroboration) == (Outcome.DEATH, Corroboration.PROVEN), seen.reason


class Gate:
    """Whoever loses the long prompt finds the way shut, for so long that the canary meets that too."""

    def __init__(self) -> None:
        self.kills, self.shut_until = 0, 0.0
        self.stage = Stage(self.kill)

    async def kill(self, writer: Writer, asked: Mapping[str, Any]) -> None:  # noqa: ARG002
        self.kills += 1
        self.shut_until = time.monotonic() + 1.0
        reset(writer)

    async def __call__(self, reader: Reader, writer: Writer) -> None:
        with contextlib.suppress(OSError):
            if time.monotonic() < self.shut_until:
                await request_of(reader)
                writer.write(whole(401, b"no"))
            else:
                await self.stage(reader, writer)


async def test_no_kill_goes_uncounted_where_the_way_is_shut_after_each(tmp_path: Path) -> None:
    gate = Gate()
    async with serving(gate) as port:
        gate.stage.url = f"http://127.0.0.1:{port}"
        flags = CommonFlags(url=gate.stage.url, db=tmp_path / "runs.db", output_tokens=8, timeout_s=20.0)
        first = await probe(tmp_path, gate.stage)
        assert (first.outcome, first.unusable) == (Outcome.INFRA, True), first.reason
        await asyncio.sleep(max(0.0, gate.shut_until - time.monotonic()))
        async with opening.opened(flags, pace=QUICK, sample_s=0.05) as opened:
            with History.open(tmp_path / "runs.db") as history:
                run = history.get("last")
            result = await opened.resume(run, questions.recorded(run), (), anyio.Event())
    deaths = [seen.deaths for seen in result.observations if seen.length >= LONG]
    assert (gate.kills, deaths) == (2, [1, 1])


class Stuck(Service):
    """Never answers the long prompt, and counts on, at an address of its own."""

    looks = 0

    async def act(self, writer: Writer, asked: Mapping[str, Any]) -> None:  # noqa: ARG002
        self.server.close()
        await self.open_again(self.shut_s or 0.0)  # later than the probe is given up

    async def beside(self, reader: Reader, writer: Writer) -> None:
        await request_of(reader)
        self.looks += 1
        writer.write(whole(200, b"process_start_time_seconds 1000\nvllm:request_success_total %d\n" % self.looks))


async def test_a_canary_is_asked_again_at_a_door_behind_which_a_hung_engine_counts_on(tmp_path: Path) -> None:
    service = Stuck(3.0)
    await service.open()
    async with serving(service.beside) as port:
        beside = f"http://127.0.0.1:{port}/metrics"
        there: dict[str, Any] = {
            "health_url": beside,
            "metrics_url": beside,
            "allow_busy": True,
        }  # its counts are no request's
        seen = await probe(tmp_path, service.stage, timeout_s=2.0, **there)
    service.server.close()
    assert (seen.outcome, seen.deaths, seen.wedged, seen.canaries > 1) == (Outcome.HANG, 0, False, True), seen.reason

"""Is an engine that dies of its age, or of nothing at all, told as that before the deaths of the budget are spent?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest

from fuzzer.cli.common import CommonFlags
from fuzzer.finding import FindingKind, Halt
from targets.sim import running
from targets.sim.world import World
from tests.integration.playing import play

if TYPE_CHECKING:
    from fuzzer.cli.session import Result

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]


def flags(url: str, tmp_path: Path) -> CommonFlags:
    return CommonFlags(url=url, db=tmp_path / "runs.db", seed=1, revival_timeout_s=20)


async def test_canaries_wear_an_engine_out_too(tmp_path: Path) -> None:
    """It dies of its ninth request: a life holds three or four probes, and as many canaries."""
    async with running(World.from_dict({"rules": [{"when": "N >= 9"}]})) as simulation:
        result = await play(flags(simulation.url, tmp_path), lo=3_000, hi=9_000)
        assert simulation.deaths <= 5
    assert (result.finding.kind, result.finding.halt) == (FindingKind.NOT_LENGTH, Halt.NOT_LENGTH)
    assert "lives of the engine ended after about 9 requests" in result.finding.reason


async def looping(life_s: float, tmp_path: Path) -> tuple[Result, int]:
    """A bisect of an engine that is dead so long after each of its starts, and how often it died."""

    async def keep_killing() -> None:
        while True:
            await anyio.sleep(life_s)
            simulation.kill()
            await simulation.down()
            await simulation.up()

    async with running(World.from_dict({})) as simulation, anyio.create_task_group() as tasks:
        tasks.start_soon(keep_killing)
        result = await play(flags(simulation.url, tmp_path), lo=3_000, hi=9_000)
        tasks.cancel_scope.cancel()
    return result, simulation.deaths


async def test_an_engine_in_a_crash_loop_is_told_before_the_deaths_are_spent(tmp_path: Path) -> None:
    result, deaths = await looping(2.0, tmp_path)
    assert deaths <= 8
    assert (result.finding.kind, result.finding.halt) == (FindingKind.NOT_LENGTH, Halt.NOT_LENGTH)

"""Does every world that was told from a field report get its finding, its boundary and a cap that holds?"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import anyio
import pytest

from fuzzer.cli.common import CommonFlags
from fuzzer.cli.exits import exit_of
from fuzzer.cli.values import duration, outcomes
from fuzzer.errors import RunStopped
from targets.sim import running
from targets.sim.world import World
from tests.integration.playing import WORLDS, play

if TYPE_CHECKING:
    from pathlib import Path

    from fuzzer.cli.session import Result
    from targets.sim.simulation import Simulation
    from targets.sim.world import Expect

pytestmark = pytest.mark.anyio
CONFIDENCE = 0.8  # five passes at last_good instead of nine: the same road in less time
NAMES = sorted(path.stem for path in WORLDS.glob("*.toml"))
RESTART = "import urllib.request as u; u.urlopen(u.Request('{url}/sim/restart', method='POST'))"


def flags_for(expect: Expect, simulation: Simulation, db: Path) -> CommonFlags:
    """The flags that the world asks for, by the names that a user types."""
    given = dict(zip(expect.flags[::2], expect.flags[1::2], strict=True))
    help_it = f'{sys.executable} -c "{RESTART.format(url=simulation.control_url)}"'
    return CommonFlags(
        url=simulation.url,
        db=db,
        output_tokens=expect.output_tokens,
        timeout_s=duration(given.pop("--timeout", "20")),
        revival_timeout_s=duration(given.pop("--revival-timeout", "30")),
        max_deaths=int(given.pop("--max-deaths", "12")),
        content=given.pop("--content", "words"),
        tokenizer=given.pop("--tokenizer", None),
        fail_on=outcomes(given.pop("--fail-on", "death,error,hang,truncated,garbled")),
        on_death=help_it if expect.restart_on_death else None,
    )


@pytest.mark.parametrize("name", NAMES)
async def test_a_world_gets_its_finding(name: str, tmp_path: Path) -> None:
    world = World.load(WORLDS / f"{name}.toml")
    expect = world.expect
    assert expect is not None
    async with running(world) as simulation:
        flags = flags_for(expect, simulation, tmp_path / "runs.db")
        with anyio.fail_after(240):
            if world.replicas > 1:
                with pytest.raises(RunStopped, match=r"one pod's own URL"):
                    await play(flags, lo=expect.lo, hi=expect.hi)
                return
            result = await play(flags, lo=expect.lo, hi=expect.hi, confidence=CONFIDENCE)
        assert_finding(expect, result)
        assert sum(seen.deaths for seen in result.observations) == simulation.deaths
        assert_nothing_killed_twice_but_to_confirm(result)


def assert_finding(expect: Expect, result: Result) -> None:
    finding = result.finding
    assert finding.kind == expect.finding, finding.reason
    assert exit_of(finding) == expect.exit_code, finding
    if expect.last_good is not None:
        assert finding.last_good == expect.last_good, finding
    if expect.first_bad is not None:
        assert finding.first_bad == expect.first_bad, finding
    if expect.limit is not None:
        assert finding.cap == expect.limit, finding
    if finding.cap is not None:
        assert finding.last_good is not None
        assert finding.cap <= max(finding.last_good, expect.limit or 0), finding
    if expect.speculation_off_from is not None:
        assert finding.speculation_off_from == expect.speculation_off_from, finding


def assert_nothing_killed_twice_but_to_confirm(result: Result) -> None:
    killers: set[int] = set()
    for seen in result.observations:
        if seen.spec.role == "search":
            assert seen.spec.length not in killers or result.finding.flaky is not None
        if seen.blames == "this":
            killers.add(seen.spec.length)

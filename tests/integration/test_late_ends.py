"""Is a hung engine that its watchdog kills late, while it is waited for, a death of the probe that made it hang?"""

from __future__ import annotations

from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from pathlib import Path

    from targets.sim import Simulation

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

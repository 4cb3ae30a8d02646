"""Is an engine that lives ever called dead? A thousand passing probes, while health lies in every known way."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import anyio
import pytest

from fuzzer.cli import opening
from fuzzer.cli.common import CommonFlags
from fuzzer.finding import Finding, FindingKind
from fuzzer.model import ProbeSpec, Role, Settings
from fuzzer.observation import Observation
from targets.sim import running
from targets.sim.world import World

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fuzzer.plans import Plan

pytestmark = pytest.mark.anyio
EACH = 250
LIES: dict[str, dict[str, object]] = {
    "slow health": {"health": {"slow_s": 0.02}},
    "a blocked event loop": {"health": {"blocked_s": 0.03}},
    "a mesh that says 503 now and then": {"health": {"flaky": 0.5}},
    "health that turns red in a prefill": {"health": {"red_after_s": 0.01}, "speed": {"prefill": 60_000}},
}


class Passing:
    """A question that only wants `EACH` passes at growing lengths."""

    def to_json(self) -> dict[str, object]:
        return {}

    def plan(self, facts: Sequence[Observation] = ()) -> Plan:  # noqa: ARG002  (nothing is resumed here)
        for number in range(EACH):
            yield ProbeSpec(64 + 4 * number, 8, Role.BASELINE if number == 0 else Role.SEARCH, "passes")
        return Finding(FindingKind.NONE, "all were asked")


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: lie.replace(" ", "-"))
async def test_no_lie_of_health_is_a_death(lie: str, tmp_path: Path) -> None:
    hurried = Settings(grace_pass_s=0.0)
    async with running(World.from_dict(LIES[lie])) as simulation:
        flags = CommonFlags(url=simulation.url, db=tmp_path / "runs.db", health_interval_s=0.02, seed=1)
        async with opening.opened(flags, pace=hurried, sample_s=0.0) as opened:
            result = await opened.run("bisect", Passing(), [], anyio.Event())
        assert simulation.deaths == 0
    assert Counter(seen.outcome for seen in result.observations) == {"pass": EACH}
    assert not any(seen.deaths or seen.wedged for seen in result.observations)


async def test_a_run_takes_little_more_than_its_probes_revivals_and_graces(tmp_path: Path) -> None:
    """Wall time at most 1.15 times what the design asks for (and half a second to begin and to end)."""
    graces = Settings(grace_failure_s=2.0, grace_pass_s=1.0)
    async with running(World.from_dict({"speed": {"prefill": 25_000}})) as simulation:
        flags = CommonFlags(url=simulation.url, db=tmp_path / "runs.db", seed=1)
        async with opening.opened(flags, pace=graces, sample_s=0.0) as opened:
            result = await opened.run("bisect", Few(), [], anyio.Event())
    asked_for = sum(seen.duration_s + graces.grace_pass_s for seen in result.observations)
    assert result.elapsed_s <= 1.15 * asked_for + 0.5


class Few(Passing):
    """Five passes of two seconds each."""

    def plan(self, facts: Sequence[Observation] = ()) -> Plan:  # noqa: ARG002  (nothing is resumed here)
        for number in range(5):
            yield ProbeSpec(50_000 + number, 32, Role.SEARCH, "passes")
        return Finding(FindingKind.NONE, "all were asked")

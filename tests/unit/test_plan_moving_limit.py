"""Is a limit that falls while it is looked for found again in few refusals? A memory guard's moves with the memory."""

from __future__ import annotations

import pytest

from fuzzer.finding import FindingKind
from fuzzer.model import Outcome, ProbeSpec
from fuzzer.observation import Observation
from fuzzer.plans.bisect import BisectQuestion, bisect
from tests.unit.worlds import Played, World, play

HIGH, LOW = 40_000, 39_000


def falling(after: int, *, style: str = "prompt", output_tokens: int = 512) -> Played:
    """A limit that is lower from the so-manieth probe on."""
    world = World(limit=HIGH, style=style)

    def answer(spec: ProbeSpec) -> Observation:
        world.limit = HIGH if len(world.log) < after else LOW
        return world.answer(spec)

    question = BisectQuestion(lo=30_000, hi=50_000, output_tokens=output_tokens)
    return play(bisect(question), answer)


@pytest.mark.parametrize("style", ["prompt", "sum"])
@pytest.mark.parametrize("output_tokens", [32, 512])
@pytest.mark.parametrize("after", [10, 14, 18, 22, 28])
def test_a_limit_that_falls_is_not_walked_down_by_single_tokens(after: int, output_tokens: int, style: str) -> None:
    played = falling(after, style=style, output_tokens=output_tokens)
    refused = [seen.length for seen in played.log if seen.outcome is Outcome.REJECTED]
    assert len(refused) < 40
    assert (played.finding.kind, played.finding.cap) == (FindingKind.CLEAN_LIMIT, LOW)

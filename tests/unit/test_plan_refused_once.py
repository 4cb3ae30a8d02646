"""Does one failure outweigh the refusals at its own length? Prompts above a limit that is hidden."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fuzzer.finding import FindingKind
from fuzzer.model import Outcome, ProbeSpec
from fuzzer.observation import Observation
from fuzzer.plans.bisect import BisectQuestion, bisect
from tests.unit.worlds import Played, World, play

LIMIT = 900
QUESTION = BisectQuestion(lo=500, hi=1_200)


def refusing(dies: Callable[[int, int], bool], outcome: Outcome = Outcome.DEATH) -> Played:
    """A limit of prompts. `dies(length, times)`: does it end so instead, of a length refused or failed so often?"""
    world = World(limit=LIMIT, style="prompt")

    def answer(spec: ProbeSpec) -> Observation:
        times = sum(seen.spec.length == spec.length for seen in world.log)
        is_dead = spec.length > LIMIT and dies(spec.length, times)
        world.limit, world.rule = (None, lambda _: outcome) if is_dead else (LIMIT, lambda _: None)
        return world.answer(spec)

    return play(bisect(QUESTION), answer)


@pytest.mark.parametrize("outcome", [Outcome.DEATH, Outcome.ERROR, Outcome.HANG])
def test_one_failure_where_it_refuses_is_told_and_is_no_edge(outcome: Outcome) -> None:
    """Somebody restarts it, or its router lets nobody in, right after a refusal."""
    played = refusing(lambda length, times: length == LIMIT + 1 and times == 0, outcome)
    finding = played.finding
    assert (finding.kind, finding.cap, finding.first_bad) == (FindingKind.CLEAN_LIMIT, LIMIT, None)
    assert f"one {outcome} at {LIMIT + 1} tokens did not come again" in finding.reason
    assert (finding.flaky, finding.confidence.first_bad_failures) == (None, 0)
    assert sum(seen.spec.length == LIMIT + 1 for seen in played.log) <= 4


@pytest.mark.parametrize("turn", [1, 2])
def test_two_deaths_where_it_refuses_are_an_edge(turn: int) -> None:
    """An engine that dies now and then of what it refuses."""
    finding = refusing(lambda length, times: length == LIMIT + 1 and times in {0, turn}).finding
    assert (finding.kind, finding.first_bad, finding.last_good) == (FindingKind.DEATH, LIMIT + 1, LIMIT)
    assert finding.cap == LIMIT // 16 * 16


def test_a_death_at_the_first_refusal_counts_where_longer_prompts_kill_too() -> None:
    finding = refusing(lambda _, times: times == 0).finding
    assert (finding.kind, finding.first_bad) == (FindingKind.DEATH, LIMIT + 1)


def test_it_does_not_hang_on_one_token_whether_a_restart_is_an_edge() -> None:
    kinds = {
        refusing(lambda length, times, at=at: length == at and times == 0).finding.kind  # type: ignore[misc]
        for at in (LIMIT + 1, LIMIT + 2, LIMIT + 3)
    }
    assert kinds == {FindingKind.CLEAN_LIMIT}

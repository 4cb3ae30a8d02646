"""Does a bisect keep to its deaths and its time, and is every cap that it prints ground that passed?"""

from __future__ import annotations

from dataclasses import replace

import pytest

from fuzzer.finding import FindingKind, Halt
from fuzzer.model import Outcome, ProbeSpec, Role
from fuzzer.observation import Observation
from fuzzer.plans.bisect import BisectQuestion, bisect
from tests.unit.worlds import Played, Rule, World, any_of, asked_above, flaky_above, play, prompt_above, wears_out


def run(world: World, **asked: object) -> Played:
    question = BisectQuestion(**{"lo": 1_000, "hi": 50_000, **asked})  # type: ignore[arg-type]
    return play(bisect(question), world.answer)


def wants_above(edge: int) -> Rule:
    return lambda request: Outcome.DEATH if request.prompt + request.asked > edge else None


# --- deaths ---


@pytest.mark.parametrize("most", [0, 2, 3, 4])
def test_no_corner_costs_a_death_that_is_not_left(most: int) -> None:
    played = run(World(any_of(asked_above(15_000), prompt_above(20_000))), max_deaths=most)
    assert played.deaths <= most
    assert played.finding.cap is None
    assert "no cap: 64 prompt tokens" in played.finding.reason


@pytest.mark.parametrize("rule", [asked_above(15_000), wants_above(15_000)])
@pytest.mark.parametrize("lo", [1_000, 14_000])
def test_the_only_death_is_not_risked_before_the_ground_covered_has_its_cap(rule: Rule, lo: int) -> None:
    played = run(World(rule), max_deaths=1, lo=lo)
    assert played.deaths == 1
    assert (played.finding.halt, played.finding.cap) == (Halt.DEATHS, lo // 16 * 16)


def test_a_number_that_killed_is_named_where_it_keeps_the_cap_back() -> None:
    played = run(World(asked_above(15_000)), max_deaths=2)
    assert "and 49936 ended in death" in played.finding.reason


@pytest.mark.parametrize("most", [1, 2, 3])
def test_the_last_deaths_are_insured_so_that_the_ground_covered_has_its_cap(most: int) -> None:
    played = run(World(prompt_above(20_000)), max_deaths=most)
    assert (played.finding.halt, played.deaths) == (Halt.DEATHS, most)
    cap = played.finding.cap
    assert cap is not None
    much = [seen.spec for seen in played.log if seen.spec.role is Role.CORNER]
    assert any(spec.length == 64 and spec.output_tokens >= cap - 64 for spec in much)


@pytest.mark.parametrize("most", [0, 1])
def test_a_short_prompt_that_kills_is_not_sent_again_without_a_death_left(most: int) -> None:
    played = run(World(wears_out(0)), max_deaths=most)
    assert len(played.log) == 1
    assert (played.finding.kind, played.finding.halt) == (FindingKind.INCONCLUSIVE, Halt.DEATHS)


@pytest.mark.parametrize("most", range(5))
@pytest.mark.parametrize("seed", range(5))
def test_what_passed_may_kill_once_more_and_then_nothing_is_sent(most: int, seed: int) -> None:
    """Wear and chance also kill at lengths that passed; no plan can know before."""
    for world in (World(wears_out(5)), World(flaky_above(20_000, 0.6, stray=0.15), seed=seed)):
        played = run(world, max_deaths=most)
        assert played.deaths <= most + 1
        spent = next((at for at, seen in enumerate(played.log) if _deaths(played, at) >= most), len(played.log))
        passed = {(seen.length, seen.spec.output_tokens) for seen in played.log[:spent] if not seen.deaths}
        if most:
            assert {(seen.length, seen.spec.output_tokens) for seen in played.log[spent + 1 :]} <= passed


def _deaths(played: Played, upto: int) -> int:
    return sum(seen.deaths for seen in played.log[: upto + 1])


# --- time ---


def test_a_revival_counts_for_the_time() -> None:
    played = run(World(prompt_above(20_000), revival_s=1_800), max_time_s=60)
    first = next(at for at, seen in enumerate(played.log) if seen.deaths)
    assert played.finding.halt is Halt.TIME
    assert played.log[first + 1 :] == []
    assert played.finding.cap is not None, "its corner was asked while there was time"


# --- caps ---


@pytest.mark.parametrize(
    ("trouble", "halt"),
    [
        ({"outcome": Outcome.INFRA}, Halt.PROXY),
        ({"outcome": Outcome.BUSY}, Halt.BUSY),
        ({"outcome": Outcome.DEATH, "deaths": 1, "blames": "this", "revived": False}, Halt.LOST),
    ],
)
def test_a_run_that_is_stopped_prints_no_cap_without_its_corners(trouble: dict[str, object], halt: Halt) -> None:
    world = World()

    def answer(spec: ProbeSpec) -> Observation:
        seen = world.answer(spec)
        return replace(seen, **trouble) if len(world.log) > 4 else seen  # type: ignore[arg-type]

    finding = play(bisect(BisectQuestion(lo=1_000, hi=50_000, confidence=0.3)), answer).finding
    assert (finding.halt, finding.cap) == (halt, None)
    assert finding.last_good == finding.verified_up_to == world.log[3].length
    assert "no cap: 64 prompt tokens" in finding.reason


def test_what_is_only_trusted_is_no_last_good() -> None:
    finding = run(World(prompt_above(20_000)), lo=30_000, trust_lo=True, max_time_s=0.5).finding
    assert (finding.last_good, finding.verified_up_to) == (64, 64)
    assert "(64 passes" in finding.reason
    assert any("trusted, not sent" in words for words in finding.assumes)


def test_a_refused_corner_is_told() -> None:
    few = World(lambda request: Outcome.REJECTED if request.asked > 4_096 else None, limit=50_000)
    finding = run(few, hi=60_000, limit=50_000).finding
    assert (finding.kind, finding.cap) == (FindingKind.CLEAN_LIMIT, 50_000)
    assert "(64, 49936) was refused" in finding.assumes


def test_the_corner_of_a_limit_is_the_longest_prompt_that_it_admits() -> None:
    world = World(lambda request: Outcome.REJECTED if request.prompt > 49_996 else None, limit=50_000)
    played = run(world, hi=None, limit=50_000, largest_prompt_below_limit=4)
    assert (played.finding.kind, played.finding.cap) == (FindingKind.CLEAN_LIMIT, 50_000)
    assert {(49_996, 4), (49_968, 32)} <= set(played.asked())
    assert not any("refused" in words for words in played.finding.assumes)


def test_a_limit_whose_longest_prompt_is_refused_is_no_clean_limit() -> None:
    world = World(lambda request: Outcome.REJECTED if (request.prompt, request.asked) == (49_968, 32) else None)
    world.limit = 50_000
    finding = run(world, hi=None, limit=50_000, largest_prompt_below_limit=0, output_tokens=32).finding
    assert finding.cap != 50_000

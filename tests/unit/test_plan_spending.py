"""With the deaths spent, does nothing that we send kill once more, and does the ground below keep its cap?"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from fuzzer.finding import FindingKind
from fuzzer.model import Outcome, Role
from fuzzer.plans.bisect import BisectQuestion, bisect, next_step
from fuzzer.plans.ledger import Ledger
from tests.unit.worlds import Played, Request, World, any_of, asked_above, flaky_above, play, prompt_above, total_above

QUESTION = BisectQuestion(lo=2_000, hi=32_000)


def played_in(world: World, max_deaths: int, **asked: object) -> Played:
    return play(bisect(replace(QUESTION, max_deaths=max_deaths, **asked)), world.answer)  # type: ignore[arg-type]


def jittered(seed: int) -> Callable[[int], int]:
    chance = random.Random(seed)
    return lambda sent: sent + chance.choice([0, 1])


@pytest.mark.parametrize("max_deaths", [2, 4])
def test_an_answer_that_the_model_ended_shows_nothing_of_a_whole_one(max_deaths: int) -> None:
    for seed in range(40):
        world = World(total_above(5_000 + 600 * seed), stops=0.3, seed=seed)
        assert played_in(world, max_deaths).deaths <= max_deaths


@pytest.mark.parametrize("max_deaths", [2, 4])
def test_the_same_prompt_may_be_counted_as_one_token_more(max_deaths: int) -> None:
    for seed in range(40):
        world = World(prompt_above(5_000 + 600 * seed), counts=jittered(seed), seed=seed)
        assert played_in(world, max_deaths).deaths <= max_deaths


@pytest.mark.parametrize("max_deaths", [2, 4])
def test_drafts_that_are_accepted_go_further_than_those_that_were_not(max_deaths: int) -> None:
    for seed in range(40):
        edge, luck = 5_000 + 600 * seed, random.Random(seed)

        def rule(request: Request, edge: int = edge, luck: random.Random = luck) -> Outcome | None:
            return Outcome.DEATH if request.total + luck.choice([0, request.k]) + request.k > edge else None

        assert played_in(World(rule, k=7, seed=seed), max_deaths).deaths <= max_deaths


def test_what_passed_whole_and_steadily_is_confirmed_as_before() -> None:
    """Then nothing moves: last_good itself carries the cap."""
    for seed in range(30):
        for max_deaths in (2, 3, 4):
            played = played_in(World(prompt_above(5_000 + 800 * seed), seed=seed), max_deaths)
            assert played.deaths <= max_deaths
            assert played.finding.last_good is not None
            assert played.finding.cap == played.finding.last_good // 16 * 16


def test_where_last_good_may_kill_lower_ground_carries_the_cap() -> None:
    carried = 0
    for seed in range(30):
        edge = 5_000 + 800 * seed
        played = played_in(World(total_above(edge), k=7, seed=seed), 3)
        assert played.deaths <= 3
        carried += played.finding.cap is not None
        assert played.finding.cap is None or played.finding.cap <= edge
    assert carried >= 27


def test_nothing_is_sent_while_a_failure_is_in_doubt() -> None:
    world = World(prompt_above(20_000))
    ledger = Ledger(replace(QUESTION, max_deaths=1))
    for length in (64, 2_000, 18_000):
        ledger.take(world.answer(QUESTION.spec(length, Role.SEARCH, "")))
    ledger.take(replace(world.answer(QUESTION.spec(25_000, Role.SEARCH, "")), contended=True))
    assert getattr(next_step(ledger), "kind", None) is FindingKind.INCONCLUSIVE


# --- the number that is asked for ---


@pytest.mark.parametrize("limit", [None, 32_768])
@pytest.mark.parametrize("rate", [0.4, 0.6])
def test_a_number_that_kills_by_chance_is_asked_as_often_as_last_good(limit: int | None, rate: float) -> None:
    unsafe = 0
    for seed in range(40):
        chance = random.Random(seed)

        def rule(request: Request, chance: random.Random = chance) -> Outcome | None:
            kills = request.prompt > 20_000 if limit is None else False
            return Outcome.DEATH if kills or (request.asked > 8_000 and chance.random() < rate) else None

        question = BisectQuestion(lo=2_000, hi=None if limit else 30_000, limit=limit)
        cap = play(bisect(question), World(rule, limit=limit, seed=seed).answer).finding.cap
        unsafe += cap is not None and cap > 8_064
    assert unsafe <= 1


def test_a_prompt_that_kills_by_chance_carries_no_cap_of_a_search_over_outputs() -> None:
    question = BisectQuestion(lo=100, hi=30_000, axis="output", prompt_tokens=64)
    for seed in range(20):
        world = World(any_of(total_above(20_000), flaky_above(6_000, 0.4)), seed=seed)
        cap = play(bisect(question), world.answer).finding.cap
        assert cap is None or cap <= 6_001


@pytest.mark.parametrize("max_time_s", [60.0, 200.0])
def test_the_corner_passes_as_often_before_the_time_is_over(max_time_s: float) -> None:
    world = World(prompt_above(20_000), revival_s=1_800.0)
    played = play(bisect(replace(QUESTION, max_time_s=max_time_s)), world.answer)
    assert played.finding.cap is not None
    much = [seen for seen in played.log if seen.spec.stop_after and seen.spec.output_tokens >= played.finding.cap - 64]
    assert len(much) == 9


def test_a_number_that_kills_for_sure_kills_no_more_often_than_before() -> None:
    played = played_in(World(asked_above(15_000)), 4)
    assert played.deaths <= 2

"""Does a bisect that its time ends recommend only what passed often enough, and does it see to that in time?"""

from __future__ import annotations

import pytest

from fuzzer.finding import Halt
from fuzzer.model import Outcome, Role
from fuzzer.plans.bisect import BisectQuestion, bisect
from fuzzer.plans.ledger import Ledger
from tests.unit.worlds import Played, World, any_of, flaky_above, play, prompt_above, window


def run(world: World, **asked: object) -> Played:
    question = BisectQuestion(**{"lo": 1_000, "hi": 60_000, **asked})  # type: ignore[arg-type]
    return play(bisect(question), world.answer)


def passes_at_or_above(played: Played, length: int) -> int:
    return sum(seen.outcome is Outcome.PASS for seen in played.log if seen.length >= length)


@pytest.mark.parametrize("max_time_s", [40.0, 120.0, 300.0])
@pytest.mark.parametrize("rate", [0.5, 0.8])
def test_what_passed_by_luck_is_not_recommended(rate: float, max_time_s: float) -> None:
    unsafe = 0
    for seed in range(24):
        edge = 2_000 + 2_300 * seed
        finding = run(World(flaky_above(edge, rate), seed=seed), max_time_s=max_time_s).finding
        unsafe += finding.cap is not None and finding.cap - 1 > edge
    assert unsafe <= 1


@pytest.mark.parametrize("max_time_s", [40.0, 60.0, 120.0, 200.0])
def test_there_is_a_cap_all_the_same_and_it_has_passed_often_enough(max_time_s: float) -> None:
    for edge in (5_000, 20_000, 59_000):
        played = run(World(prompt_above(edge)), max_time_s=max_time_s)
        assert played.finding.halt is Halt.TIME
        cap = played.finding.cap
        assert cap is not None
        assert passes_at_or_above(played, cap) >= 9
        assert all(seen.started_s < max_time_s for seen in played.log[:-1]), "but for the corner that takes no time"


@pytest.mark.parametrize("revival_s", [150.0, 280.0])
def test_the_first_death_may_take_as_long_as_a_large_model_loads(revival_s: float) -> None:
    """Until one was seen nothing tells how long that is: ground that carries a cap is to be there before it."""
    world = World(prompt_above(18_404), revival_s=revival_s, per_token_s=3.3e-4)
    finding = run(world, lo=2_000, hi=20_000, max_time_s=300).finding
    assert (finding.halt, finding.cap is None) == (Halt.TIME, False)


def test_the_cap_of_lower_ground_is_told_and_what_would_raise_it() -> None:
    played = run(World(prompt_above(20_000), revival_s=1_800), max_time_s=60)
    finding = played.finding
    assert finding.last_good is not None
    assert finding.cap == 992
    assert f"the cap is that of 1000: {finding.last_good} passed once, and a claim takes 9 (a longer --max-time" in (
        finding.reason
    )


def test_there_is_none_where_nothing_could_pass_as_often() -> None:
    finding = run(World(prompt_above(20_000), per_token_s=1e-3), max_time_s=7).finding
    assert (finding.halt, finding.cap) == (Halt.TIME, None)
    assert "; no cap: " in finding.reason
    assert "passed once, and a claim takes 9" in finding.reason


def test_nothing_is_confirmed_early_while_there_is_time() -> None:
    timed, free = (run(World(prompt_above(20_000)), max_time_s=limit).log for limit in (100_000.0, None))
    assert [seen.spec for seen in timed] == [seen.spec for seen in free]


def test_a_lo_that_is_trusted_and_fails_now_and_then_carries_no_cap() -> None:
    """What was trusted since it passed but once."""
    for seed in range(20):
        finding = run(World(flaky_above(20_000, 0.5), seed=seed), lo=29_817, hi=30_293, trust_lo=True).finding
        assert finding.cap is None or finding.cap <= 20_001, seed


def test_passes_that_a_search_chose_do_not_vouch_for_a_noisy_edge_that_it_had_no_time_for() -> None:
    question = BisectQuestion(lo=1_000, hi=60_000)
    world = World()
    seen = [world.answer(question.spec(length, Role.SEARCH, "")) for length in range(1_000, 31_000, 1_000)]
    world.rule = lambda _: Outcome.DEATH
    ledger = Ledger(question, [*seen, world.answer(question.spec(30_000, Role.CONFIRM_GOOD, ""))])
    assert ledger.bounds.noisy
    assert ledger.bounds.last_good is not None
    assert ledger.ground(halted=True) is None


# --- islands that the search itself met ---


@pytest.mark.parametrize("island", [131_072, 262_144])
def test_no_cap_is_made_of_one_length_that_fails_alone(island: int) -> None:
    """It would give all the ground above it away for a single length; below it others may fail as well."""
    finding = run(World(any_of(prompt_above(290_000), window(island, island))), lo=100_000, hi=300_000).finding
    assert (finding.islands, finding.cap) == (((island, island),), None)
    assert "a cap cannot leave that out and keep what is above it" in finding.reason

"""Does a bisect that its time ends recommend only what passed often enough, and does it see to that in time?"""

from __future__ import annotations

import pytest

from fuzzer.finding import FindingKind, Halt
from fuzzer.model import Outcome, Role
from fuzzer.plans.bisect import BisectQuestion, bisect
from fuzzer.plans.ledger import Ledger
from tests.unit.worlds import Played, World, any_of, flaky_above, periodic, play, prompt_above, window


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


@pytest.mark.parametrize("island", [(131_072, 131_072), (262_144, 262_144)])
def test_ground_below_an_island_carries_a_cap_once_it_is_confirmed(island: tuple[int, int]) -> None:
    world = World(any_of(prompt_above(290_000), window(*island)))
    played = run(world, lo=100_000, hi=300_000)
    finding = played.finding
    assert (finding.kind, finding.islands, finding.cap) == (FindingKind.DEATH, (island,), island[0] - 16)
    assert sum(seen.length == island[0] - 1 for seen in played.log) >= 9
    assert "alone, and the cap is below that" in finding.reason


@pytest.mark.parametrize(
    ("edge", "lo", "hi", "step"), [(51_918, 16_627, 82_248, 4_096), (94_754, 83_368, 110_039, 128)]
)
def test_ground_below_an_island_that_is_one_of_many_carries_none(edge: int, lo: int, hi: int, step: int) -> None:
    world = World(any_of(prompt_above(edge), periodic(step)), limit=131_072)
    played = run(world, lo=lo, hi=hi, limit=131_072)
    assert (len(played.finding.islands), played.finding.cap) == (1, None)
    assert "it may be one of many, which --scan looks for" in played.finding.reason


def test_no_shorter_multiple_is_risked_without_a_death_to_spend() -> None:
    free = run(World(any_of(prompt_above(290_000), window(131_072, 131_072))), lo=100_000, hi=300_000)
    assert [seen.outcome for seen in free.log if seen.length == 65_536] == [Outcome.PASS]
    for left in range(1, free.deaths + 1):
        tight = run(World(any_of(prompt_above(290_000), periodic(65_536))), lo=100_000, hi=300_000, max_deaths=left)
        assert tight.deaths <= left
        assert not (tight.finding.islands and tight.finding.cap)


def test_ground_below_an_island_that_fails_itself_carries_none() -> None:
    """Of the first nine prompts of that length one kills: it may be the island's own."""
    asked: list[int] = []

    def rule(request: object) -> Outcome | None:
        length = request.prompt  # type: ignore[attr-defined]
        asked.append(length)
        dies = length == 131_072 or length > 290_000 or (length == 131_071 and asked.count(length) == 4)
        return Outcome.DEATH if dies else None

    finding = run(World(rule), lo=100_000, hi=300_000).finding
    assert finding.cap is None or finding.cap < 131_071 - 16 or asked.count(131_071) > 12

"""Does a mixed search look on a warm prefix, and yet claim nothing but what cold prompts showed?"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzzer.finding import FindingKind, Halt
from fuzzer.model import Outcome, Role
from fuzzer.observation import Observation
from fuzzer.plans.bisect import BisectQuestion, bisect
from fuzzer.plans.forecast import bracket_of, forecast
from fuzzer.plans.scout import Stages
from fuzzer.report.required import holds
from tests.unit.worlds import (
    Played,
    Request,
    Rule,
    World,
    any_of,
    cold_above,
    flaky_above,
    play,
    prompt_above,
    warm_above,
)

QUESTION = BisectQuestion(lo=8_000, hi=300_000, cache="mixed")
SAME = "on a warm prefix it is the same"


def run(world: World | Rule, **asked: object) -> Played:
    played = world if isinstance(world, World) else World(world)
    return play(bisect(replace(QUESTION, **asked)), played.answer)  # type: ignore[arg-type]


def edge(played: Played) -> tuple[FindingKind, int | None, int | None]:
    return played.finding.kind, played.finding.last_good, played.finding.first_bad


def cold(played: Played) -> list[Observation]:
    return [seen for seen in played.log if seen.spec.cache == "cold"]


@pytest.mark.parametrize("at", [7_999, 8_000, 8_001, 100_000, 262_144, 299_999])
def test_an_edge_that_is_the_same_warm_and_cold(at: int) -> None:
    played = run(prompt_above(at))
    assert edge(played) == (FindingKind.DEATH, at, at + 1)
    assert SAME in played.finding.reason
    searched = {seen.length for seen in cold(played) if seen.spec.role in {Role.SEARCH, Role.LO}}
    assert searched <= {8_000, at, at + 1}  # cold, nothing was searched
    bare = run(prompt_above(at), cache="cold")
    assert played.deaths <= bare.deaths + 2
    assert played.finding.cap == bare.finding.cap


@pytest.mark.parametrize(
    ("rule", "at", "words"),
    [
        (cold_above(100_000), 100_000, "another edge was seen, unconfirmed: 300000 passes, nothing longer fails"),
        (
            any_of(cold_above(50_000), warm_above(200_000)),
            50_000,
            "another edge was seen, unconfirmed: 200000 passes, 200001 does not",
        ),
        (
            any_of(cold_above(200_000), warm_above(50_000)),
            200_000,
            "another edge was seen: 50000 passes, 50001 does not",
        ),
    ],
)
def test_edges_that_differ_are_both_named(rule: Rule, at: int, words: str) -> None:
    played = run(rule)
    assert edge(played) == (FindingKind.DEATH, at, at + 1)
    assert words in played.finding.reason


@pytest.mark.parametrize("limit", [None, 300_000])
def test_where_only_warm_prompts_fail_nothing_is_vouched_for_and_no_peace_is_told(limit: int | None) -> None:
    finding = run(World(warm_above(100_000), limit=limit), limit=limit).finding
    assert (finding.kind, finding.halt) == (FindingKind.INCONCLUSIVE, Halt.CONTRADICTION)
    assert finding.verified_up_to == 100_000
    assert finding.cap is None or finding.cap <= 100_000
    assert not holds(finding, 100_001)
    assert "another edge was seen: 100000 passes, 100001 does not" in finding.reason


def test_a_cap_never_admits_what_failed_warm_and_says_why_it_is_lower() -> None:
    finding = run(any_of(cold_above(200_000), warm_above(50_000))).finding
    assert (finding.last_good, finding.cap) == (200_000, 50_000)
    assert any("lower since 50001 failed on a warm prefix" in words for words in finding.assumes)


@pytest.mark.parametrize("most", [5, 6, 7, 8, 12, 40])
@pytest.mark.parametrize("edge", [60_000, 90_000, 123_456])
@pytest.mark.parametrize("cold_edge", [95_000, 150_000, 10**9])
def test_no_ground_is_claimed_beyond_the_hits_that_passed(edge: int, cold_edge: int, most: int) -> None:
    """So many tokens out of the cache kill: much longer prompts pass, as long as less of them is in it."""
    world = any_of(cold_above(cold_edge), lambda request: Outcome.DEATH if request.hit > edge else None)
    played = run(any_of(prompt_above(cold_edge), world), max_deaths=most)
    finding = played.finding
    met = any(seen.deaths and seen.spec.cache == "warm" and seen.length <= cold_edge for seen in played.log)
    assert not met or (finding.cap or 0) <= edge + 16
    assert not met or (finding.verified_up_to or 0) <= edge + 16
    assert not (met and finding.kind in {FindingKind.NONE, FindingKind.CLEAN_LIMIT})
    assert played.deaths <= most


@pytest.mark.parametrize("outcome", [Outcome.DEATH, Outcome.ERROR])
@pytest.mark.parametrize("turn", [1, 2, 3, 5])
def test_one_stray_failure_on_a_warm_prefix_is_asked_again_and_lowers_no_cap(turn: int, outcome: Outcome) -> None:
    longer = count(1)

    def rule(request: Request) -> Outcome | None:
        if request.prompt > 100_000:
            return Outcome.DEATH
        return outcome if request.prompt > 64 and next(longer) == turn else None

    played = run(rule)
    assert edge(played) == (FindingKind.DEATH, 100_000, 100_001)
    assert (played.finding.cap, played.finding.verified_up_to) == (100_000, 100_000)
    assert "a stray: it passed 18 times" in played.finding.reason


def test_a_warm_failure_is_not_asked_again_where_no_death_is_left_for_it() -> None:
    for most in range(1, 12):
        played = run(warm_above(50_000), max_deaths=most)
        assert played.deaths <= min(most, 12)
        assert played.finding.cap is None or played.finding.cap <= 50_000


def test_a_warm_length_that_passes_only_where_it_is_read_anew_is_said_to() -> None:
    finding = run(lambda request: Outcome.DEATH if request.hit > 90_000 else None).finding
    assert "another edge was seen, unconfirmed: 98306 passes read anew, and not out of the cache" in finding.reason
    assert "read anew" not in run(prompt_above(100_000)).finding.reason


def test_an_edge_that_the_scout_had_to_leave_open_is_told() -> None:
    reason = run(warm_above(100_000), max_deaths=4).finding.reason
    assert "an edge was seen, and not settled, for the last 3 deaths of --max-deaths are the cold search's" in reason
    assert re.search(r": \d+ passes.*, \d+ does not", reason)


def test_a_claim_rests_on_cold_prompts_alone() -> None:
    played = run(prompt_above(100_000))
    at_good = [seen for seen in cold(played) if seen.length == 100_000 and seen.outcome is Outcome.PASS]
    at_bad = [seen for seen in cold(played) if seen.length == 100_001 and seen.deaths]
    assert played.finding.confidence.last_good_passes == len(at_good) == 9
    assert played.finding.confidence.first_bad_failures == len(at_bad) == 2
    corners = [seen for seen in played.log if seen.spec.role in {Role.CORNER, Role.AXIS, Role.CONFIRM_GOOD}]
    assert {seen.spec.cache for seen in corners} == {"cold"}


@pytest.mark.parametrize(
    ("world", "why"),
    [
        (World(prompt_above(100_000), shows_hits=False), "the prefix cache was not seen to serve it"),
        (World(flaky_above(100_000, 0.5), seed=1), "its failures contradict each other"),
    ],
)
def test_without_a_hint_it_simply_goes_on_cold(world: World, why: str) -> None:
    played = run(world, max_deaths=60)
    assert f"a warm prefix gave no hint: {why}" in played.finding.reason
    assert played.finding.last_good is not None
    assert played.finding.last_good <= 100_000


def test_hits_that_are_not_told_cost_next_to_nothing() -> None:
    played = run(World(prompt_above(100_000), shows_hits=False))
    assert len([seen for seen in played.log if seen.spec.cache == "warm"]) <= 4
    assert edge(played) == (FindingKind.DEATH, 100_000, 100_001)


@pytest.mark.parametrize("most", range(9))
def test_deaths_of_both_stages_add_up(most: int) -> None:
    played = run(prompt_above(123_457), max_deaths=most)
    assert played.deaths <= most
    assert played.finding.last_good is None or played.finding.last_good <= 123_457


def test_time_of_both_stages_adds_up() -> None:
    played = run(prompt_above(123_457), max_time_s=100.0)
    assert played.finding.halt is Halt.TIME
    assert played.log[-1].started_s < 100.0


def test_a_slow_prefill_is_read_much_less() -> None:
    """Seconds of the run, but for the grain, which is asked cold in either; at 1,000 tokens a second and a minute to
    restart.
    """
    took = {}
    for cache in ("cold", "mixed"):
        log = run(World(prompt_above(123_457), per_token_s=1e-3), cache=cache).log
        took[cache] = sum(seen.cost_s for seen in log if seen.spec.role is not Role.SCAN)
    assert took["mixed"] < 0.6 * took["cold"], took


def test_the_live_view_follows_the_stage() -> None:
    played = run(prompt_above(100_000))
    stages, views = Stages(QUESTION), []
    for seen in played.log:
        stages.take(seen)
        views.append((stages.is_scouting, bracket_of(stages)))
    assert [scouting for scouting, _ in views] == sorted((scouting for scouting, _ in views), reverse=True)
    assert (views[-1][1].last_good, views[-1][1].first_bad) == (100_000, 100_001)
    assert (views[-1][1].expected_deaths, views[-1][1].deaths) == (0, played.deaths)
    assert forecast(QUESTION).deaths > forecast(replace(QUESTION, cache="cold")).deaths


RULES: dict[str, Callable[[int, int], Rule]] = {
    "same": lambda at, _: prompt_above(at),
    "cold": lambda at, _: cold_above(at),
    "warm": lambda at, _: warm_above(at),
    "both": lambda at, other: any_of(cold_above(at), warm_above(other)),
    "error": lambda at, _: prompt_above(at, Outcome.ERROR),
}


@settings(deadline=None, max_examples=50)
@given(
    st.sampled_from(sorted(RULES)),
    st.integers(8_000, 299_999),
    st.integers(8_000, 299_999),
    st.booleans(),
    st.integers(0, 12),
)
def test_any_beginning_of_a_run_asks_the_same_next(name: str, at: int, other: int, shows: bool, most: int) -> None:
    question = replace(QUESTION, max_deaths=most)
    log = play(bisect(question), World(RULES[name](at, other), shows_hits=shows).answer).log
    for cut in {0, len(log) // 3, len(log) // 2, len(log) - 1}:
        assert next(bisect(question, log[:cut])) == log[cut].spec

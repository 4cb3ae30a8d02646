"""Are a few failures that say nothing of longer prompts kept from costing deaths, or the cap?"""

from __future__ import annotations

from collections import Counter

import pytest

from fuzzer.finding import FindingKind
from fuzzer.model import Outcome, Role
from fuzzer.plans.bisect import BisectQuestion, bisect
from tests.unit.worlds import (
    Played,
    Request,
    Rule,
    World,
    any_of,
    asked_above,
    flaky_above,
    play,
    prompt_above,
    wears_out,
)

LO, HI = 8_000, 20_000
EDGES = range(9_001, 18_000, 1_700)


def run(rule: Rule, seed: int = 0, max_deaths: int = 12) -> Played:
    return play(bisect(BisectQuestion(lo=LO, hi=HI, max_deaths=max_deaths)), World(rule, seed=seed).answer)


def fails_at(*tries: tuple[int, int], outcome: Outcome = Outcome.ERROR) -> Rule:
    """So many tokens fail the so-manyth time that they come."""
    came: Counter[int] = Counter()

    def rule(request: Request) -> Outcome | None:
        came[request.prompt] += 1
        return outcome if (request.prompt, came[request.prompt]) in tries else None

    return rule


def fails_when_new(above: int, outcome: Outcome, tries: int = 1) -> Rule:
    """Each new length fails at first: something is made ready for it, and that takes too long."""
    came: Counter[int] = Counter()

    def rule(request: Request) -> Outcome | None:
        came[request.prompt] += 1
        return outcome if request.prompt > above and came[request.prompt] <= tries else None

    return rule


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("tries", [[(64, 1)], [(64, 1), (64, 3)], [(LO, 1)], [(LO, 1), (LO, 3)]])
def test_a_stray_failure_far_below_makes_no_death_above_be_sent_twice(edge: int, tries: list[tuple[int, int]]) -> None:
    played = run(any_of(fails_at(*tries), prompt_above(edge)))
    assert (played.finding.kind, played.finding.last_good) == (FindingKind.DEATH, edge)
    assert played.finding.cap == edge // 16 * 16
    died = Counter(seen.length for seen in played.log if seen.deaths)
    assert [length for length, times in died.items() if times > 1] == [edge + 1]
    assert played.deaths <= 6
    assert any("is outweighed by passes" in said for said in played.finding.assumes)


@pytest.mark.parametrize("rate", [0.4, 0.5, 0.7])
def test_a_flaky_edge_that_spends_the_deaths_leaves_a_cap(rate: float) -> None:
    edge = 12_001
    for played in (run(flaky_above(edge, rate), seed) for seed in range(8)):
        assert played.finding.cap is not None
        assert played.finding.cap <= edge + 1
        assert played.deaths <= 12
        assert any(seen.spec.role is Role.CORNER and seen.length == 64 for seen in played.log)


def test_a_corner_that_kills_counts_and_leaves_no_cap_that_admits_it() -> None:
    asked = 9_000
    for played in (run(any_of(asked_above(asked), flaky_above(12_001, 0.5)), seed) for seed in range(8)):
        assert played.finding.cap is None or played.finding.cap <= asked + 64
        assert any(seen.deaths and seen.spec.role is Role.CORNER for seen in played.log)
        assert played.deaths <= 12


@pytest.mark.parametrize("outcome", [Outcome.ERROR, Outcome.HANG, Outcome.TRUNCATED, Outcome.DEATH])
def test_that_each_new_length_fails_at_first_is_no_edge_and_no_peace(outcome: Outcome) -> None:
    played = run(fails_when_new(9_000, outcome))
    assert (played.finding.kind, played.finding.cap) == (FindingKind.NOT_LENGTH, None)
    assert "each new length fails at first" in played.finding.reason
    assert len(played.log) < 100
    assert played.deaths <= 5


def test_new_lengths_that_fail_twice_are_not_walked_up_one_by_one() -> None:
    played = run(any_of(fails_at((LO, 1)), fails_when_new(9_000, Outcome.ERROR, tries=2)))
    assert (played.finding.kind, played.finding.cap) == (FindingKind.NOT_LENGTH, None)
    assert "each new length fails at first" in played.finding.reason
    assert len(played.log) < 100


def test_where_even_the_short_prompt_fails_now_and_then_no_edge_is_sought_below_it() -> None:
    played = run(fails_at(*((64, nth) for nth in (1, 3, 6, 9))))
    assert (played.finding.kind, played.finding.cap) == (FindingKind.NOT_LENGTH, None)
    assert "even 64 tokens fail, 4 of 9 times" in played.finding.reason
    assert {seen.length for seen in played.log} == {64}


def test_a_short_prompt_that_is_refused_once_it_has_passed_is_not_asked_for_ever() -> None:
    played = run(any_of(fails_at((64, 1)), fails_at((64, 3), outcome=Outcome.REJECTED)))
    assert played.finding.cap is None or played.finding.cap < 64
    assert len(played.log) < 100


@pytest.mark.parametrize("after", [12, 15])
def test_a_stray_hides_no_wear(after: int) -> None:
    played = run(any_of(fails_at((64, 1)), wears_out(after)))
    assert (played.finding.kind, played.finding.cap) == (FindingKind.NOT_LENGTH, None)
    assert "lives of the engine ended after about" in played.finding.reason

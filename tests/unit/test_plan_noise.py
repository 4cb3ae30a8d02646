"""Is what follows chance, or what a failure left behind, told from an edge?"""

from __future__ import annotations

import pytest

from fuzzer.finding import FindingKind, Halt
from fuzzer.model import Outcome, Role
from fuzzer.plans.bisect import BisectQuestion, bisect
from fuzzer.report.summary import title_of
from tests.unit.worlds import Played, Request, Rule, World, flaky_above, play

LO, HI, EDGE = 1_000, 20_000, 9_000


def run(world: World, **asked: object) -> Played:
    return play(bisect(BisectQuestion(**{"lo": LO, "hi": HI, **asked})), world.answer)  # type: ignore[arg-type]


def kinds(rule: Rule, seeds: range, **asked: object) -> list[Played]:
    return [run(World(rule, seed=seed), **asked) for seed in seeds]


def test_what_fails_now_and_then_at_any_length_is_seldom_taken_for_an_edge() -> None:
    """A balancer that resets 4 % of all connections."""
    played = kinds(flaky_above(HI, 0.0, stray=0.04), range(16), max_deaths=8)
    said = [each.finding for each in played]
    assert sum(finding.kind is FindingKind.DEATH for finding in said) <= 1
    told = [finding.reason for finding in said if "no more than chance explains" in finding.reason]
    assert told
    assert all("not by length" in reason and "probes below" in reason for reason in told)
    alike = [finding for finding in said if "no more than chance" in finding.reason]
    assert all((finding.first_bad, finding.flaky) == (None, None) for finding in alike)


@pytest.mark.parametrize("rate", [0.3, 0.6, 0.9])
def test_a_flaky_edge_is_still_an_edge(rate: float) -> None:
    for played in kinds(flaky_above(EDGE, rate), range(8), max_deaths=60):
        assert played.finding.kind is FindingKind.DEATH
        assert played.finding.cap is not None


@pytest.mark.parametrize(
    ("above", "seed", "rate"),
    [(0, 4, 0.3), (0, 7, 0.3), (0, 3, 0.5), (0, 22, 0.5), (1, 0, 0.3), (1, 5, 0.3), (1, 0, 0.5), (1, 7, 0.5)],
)
def test_a_flaky_edge_that_is_checked_again_keeps_its_cap(above: int, seed: int, rate: float) -> None:
    """Nothing below it ever fails; but a narrow bracket has few probes below it, and lives that are of one length."""
    known = 4_000
    played = run(World(flaky_above(known + above, rate), seed=seed), lo=known, hi=known + 1 + 2 * above)
    assert (played.finding.kind, played.finding.last_good) == (FindingKind.DEATH, known + above)
    assert played.finding.cap == known
    assert played.deaths <= 8


@pytest.mark.parametrize(("revival_s", "first"), [(600.0, Role.CONFIRM_GOOD), (1.0, Role.CONFIRM_BAD)])
def test_passes_below_are_asked_for_first_where_they_cost_no_more_than_a_failure(revival_s: float, first: Role) -> None:
    rate, seed = 0.5, 3
    played = run(World(flaky_above(4_000, rate), seed=seed, revival_s=revival_s), lo=4_000, hi=4_001)
    asked = [seen.spec for seen in played.log if "chance?" in seen.spec.reason]
    assert asked[0].role is first


def pool_lost_above(edge: int, routed: int) -> Rule:
    """Prompts longer than `routed` go to another engine, which does not come back once it has failed."""

    def rule(request: Request) -> Outcome | None:
        is_gone = request.failed_before and request.prompt > routed
        return Outcome.ERROR if is_gone or request.prompt > edge else None

    return rule


@pytest.mark.parametrize("routed", [1_500, 4_000, 5_000])
def test_where_long_prompts_go_to_one_that_is_lost_no_edge_is_claimed_below_its_own(routed: int) -> None:
    played = run(World(pool_lost_above(EDGE, routed)))
    assert (played.finding.kind, played.finding.cap) == (FindingKind.NOT_LENGTH, None)
    assert "lengths fail that had passed before, and short prompts still pass" in played.finding.reason
    assert len(played.log) < 60


def over_asked(limit: int, outcome: Outcome) -> Rule:
    return lambda request: outcome if request.prompt + request.asked > limit else None


@pytest.mark.parametrize("outcome", [Outcome.DEATH, Outcome.ERROR, Outcome.HANG])
def test_a_limit_is_not_clean_where_asking_for_more_than_fits_kills(outcome: Outcome) -> None:
    played = run(World(over_asked(16_384, outcome), limit=16_384), limit=16_384, hi=None)
    assert (played.finding.kind, played.finding.cap) == (FindingKind(outcome.value), None)
    assert "16352 tokens that ask for 64 more, which is past it" in played.finding.reason
    assert title_of(played.finding) == f"{outcome.capitalize()} past the limit"
    assert not any(seen.spec.role is Role.OVER_LIMIT for seen in played.log)


def test_one_stray_error_of_asking_for_more_than_fits_is_asked_again() -> None:
    strays = [Outcome.ERROR]

    def stray(request: Request) -> Outcome | None:
        return strays.pop() if strays and request.prompt + request.asked > 16_384 else None

    played = run(World(stray, limit=16_384), limit=16_384, hi=None)
    assert (played.finding.kind, played.finding.cap) == (FindingKind.CLEAN_LIMIT, 16_384)
    assert played.asked().count((16_352, 64)) == 2


@pytest.mark.parametrize("style", ["clamp", "sum"])
def test_one_prompt_more_asks_for_more_than_fits_and_a_clean_limit_stays_one(style: str) -> None:
    played = run(World(limit=16_384, style=style), limit=16_384, hi=None)
    assert (played.finding.kind, played.finding.cap) == (FindingKind.CLEAN_LIMIT, 16_384)
    assert played.asked().count((16_352, 64)) == 1
    none_left = run(World(over_asked(16_384, Outcome.DEATH), limit=16_384), limit=16_384, hi=None, max_deaths=0)
    assert (none_left.deaths, none_left.finding.halt) == (0, Halt.DEATHS)

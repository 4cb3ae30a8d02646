"""Does ground carry no cap that passed only in lives which all ended alike, and does an edge keep its own?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from fuzzer.finding import Finding, FindingKind, Halt
from fuzzer.model import Outcome, ProbeSpec
from fuzzer.observation import Observation
from fuzzer.plans.ages import Life
from fuzzer.plans.alike import alike, none_outlived
from fuzzer.plans.bisect import BisectQuestion, bisect
from tests.unit.test_plan_wear import seen_at
from tests.unit.worlds import Played, Request, World, play, prompt_above

EDGE = 9_000


@dataclass
class Told:
    """A world whose engine dies of what `kills` says of the prompts of this life, this one last, and when they came."""

    kills: Callable[[list[tuple[int, float]]], bool]
    limit: int | None = None
    prompts: list[tuple[int, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.world = World(self._rule, limit=self.limit, revival_s=30.0)

    def answer(self, spec: ProbeSpec) -> Observation:
        seen = self.world.answer(spec)
        if seen.deaths:
            self.prompts = []
        return seen

    def _rule(self, request: Request) -> Outcome | None:
        now_s = self.world.log[-1].over_s if self.world.log else 0.0
        self.prompts.append((request.prompt, now_s))
        return Outcome.DEATH if self.kills(self.prompts) else None


def nth_long(number: int) -> Callable[[list[tuple[int, float]]], bool]:
    return lambda prompts: prompts[-1][0] > EDGE and sum(length > EDGE for length, _ in prompts) >= number


def nth_of_all(number: int) -> Callable[[list[tuple[int, float]]], bool]:
    return lambda prompts: len(prompts) >= number


def long_ago(delay_s: float) -> Callable[[list[tuple[int, float]]], bool]:
    def kills(prompts: list[tuple[int, float]]) -> bool:
        first_s = next((at_s for length, at_s in prompts if length > EDGE), prompts[-1][1])
        return prompts[-1][1] - first_s >= delay_s

    return kills


def run(kills: Callable[[list[tuple[int, float]]], bool], limit: int | None, max_deaths: int = 4) -> Played:
    question = BisectQuestion(lo=2_000, hi=None if limit else 30_000, limit=limit, max_deaths=max_deaths)
    return play(bisect(question), Told(kills, limit).answer)


@pytest.mark.parametrize("limit", [None, 32_768])
@pytest.mark.parametrize("number", [5, 7, 10, 20])
@pytest.mark.parametrize("max_deaths", [4, 12])
def test_the_nth_long_prompt_of_each_life_leaves_no_cap_above_what_is_long(
    number: int, limit: int | None, max_deaths: int
) -> None:
    finding = run(nth_long(number), limit, max_deaths).finding
    assert finding.cap is None or finding.cap <= EDGE, finding.reason


@pytest.mark.parametrize("limit", [None, 32_768])
@pytest.mark.parametrize("delay_s", [10.0, 20.0])
def test_a_death_so_long_after_the_first_long_prompt_leaves_no_cap_above_it(delay_s: float, limit: int | None) -> None:
    finding = run(long_ago(delay_s), limit).finding
    assert finding.cap is None or finding.cap <= EDGE, finding.reason


@pytest.mark.parametrize("requests", range(11, 16))
def test_lives_that_end_at_the_same_request_carry_no_cap_though_an_edge_would_explain_them(requests: int) -> None:
    finding = run(nth_of_all(requests), 32_768).finding
    assert (finding.cap, finding.kind in {FindingKind.NOT_LENGTH, FindingKind.INCONCLUSIVE}) == (None, True)


def test_what_seems_to_be_wear_carries_no_cap() -> None:
    for requests in (20, 45, 62):
        for lives in (4, 12, 40):
            finding = run(nth_of_all(requests), 32_768, lives).finding
            assert finding.halt is not Halt.NOT_LENGTH or finding.cap is None


@pytest.mark.parametrize("max_deaths", [2, 3, 4, 12])
def test_an_edge_of_the_length_keeps_its_cap(max_deaths: int) -> None:
    for edge in range(5_000, 29_000, 1_700):
        finding: Finding = play(
            bisect(BisectQuestion(lo=2_000, hi=30_000, max_deaths=max_deaths)), World(prompt_above(edge)).answer
        ).finding
        assert finding.cap is not None
        assert "lives" not in finding.reason


# --- lives, one by one ---


def lives_of(*asked: list[int], living: tuple[int, ...] = ()) -> list[Life]:
    """Lives that ended at the last of these lengths, after the one that we met; and one that lives."""
    lives = [Life(probes=[seen_at(0, 20_000, Outcome.DEATH, 0)], ended=True, gone_s=1.0)]
    for at, lengths in enumerate(asked, start=1):
        *before, last = lengths
        probes = [seen_at(at, length, Outcome.PASS, ordinal) for ordinal, length in enumerate(before)]
        probes.append(seen_at(at, last, Outcome.DEATH, len(before)))
        lives.append(Life(10.0 * at, 10.0 * at, whole=True, probes=probes, ended=True, gone_s=probes[-1].ended_s))
    probes = [seen_at(9, length, Outcome.PASS, ordinal) for ordinal, length in enumerate(living)]
    return [*lives, Life(90.0, 90.0, whole=True, probes=probes)]


THIRD_LONG = ([50, 9_500, 9_700, 9_800], [*[9_000] * 5, 9_500, 9_600, 9_700], [9_900, 9_900, 9_900])


def test_the_same_prompt_above_a_length_is_told_with_the_lowest_such_length() -> None:
    found = alike(lives_of(*THIRD_LONG))
    assert found is not None
    assert (found.above, "at its prompt number 3 of more than 9000 tokens" in found.why) == (9_000, True)


@pytest.mark.parametrize(
    "lives",
    [
        lives_of(*THIRD_LONG, living=(9_900, 9_900, 9_900, 9_900, 9_900, 9_900)),
        lives_of(*THIRD_LONG[:2]),
        lives_of(*THIRD_LONG, [9_950]),
        lives_of([50, 60, 9_500], [70, 9_400], [80, 9_300], [9_200]),
    ],
    ids=["one outlived them", "two may be chance", "one died of its first", "of an edge"],
)
def test_these_lives_are_not_alike(lives: list[Life]) -> None:
    assert alike(lives) is None


def test_lives_that_died_of_what_they_had_answered_are_outlived_by_one_that_was_asked_as_much() -> None:
    sooner_or_later = ([9_500, 9_500], [9_900, 50, 60, 70, 80, 90, 50], [9_700, 9_600, 9_650])
    found = none_outlived(lives_of(*sooner_or_later, living=(2_000,)))
    assert found is not None
    assert found.above == 2_000
    assert none_outlived(lives_of(*sooner_or_later, living=(9_900,))) is None
    assert none_outlived(lives_of([9_500, 9_600], *sooner_or_later)) is None, "that may be an edge's"

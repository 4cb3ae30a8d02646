"""Is an edge found by the server's own counts, where those are more than what was sent, and more for longer prompts?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzzer.finding import FindingKind, Halt
from fuzzer.model import Caching, Outcome, Role
from fuzzer.observation import Observation
from fuzzer.plans.bisect import BisectQuestion, bisect
from fuzzer.plans.offsets import Offsets
from fuzzer.plans.question import Strategy
from tests.unit.worlds import Played, World, any_of, flaky_above, play, prompt_above, total_above, window

QUESTION = BisectQuestion(lo=1_000, hi=40_000)


def more_above(sent: int, more: int) -> Callable[[int], int]:
    """A server that counts so many tokens more of every prompt that is longer."""
    return lambda tokens: tokens + more * (tokens > sent)


def now_so_now_so(seed: int, most: int = 1) -> Callable[[int], int]:
    """A server that counts up to so many tokens more, at random."""
    draws = World(seed=seed)._random
    return lambda tokens: tokens + draws.randint(0, most)


def run(world: World, **asked: object) -> Played:
    return play(bisect(replace(QUESTION, **asked)), world.answer)  # type: ignore[arg-type]


def _counted(sent: int, counted: int, outcome: Outcome = Outcome.PASS) -> Observation:
    source = "usage" if outcome is Outcome.PASS else "inferred"
    return Observation(1, QUESTION.spec(sent, Role.SEARCH, ""), outcome, counted, source, sent_tokens=sent)  # type: ignore[arg-type]


# --- the fold ---


def test_what_is_asked_is_counted_as_it_was_wanted() -> None:
    offsets = Offsets("ids")
    for sent, counted in ((64, 64), (5_000, 5_000), (8_000, 8_007)):
        offsets.take(_counted(sent, counted))
    assert [offsets.to_ask(length) for length in (64, 5_100, 8_007, 9_000)] == [64, 5_100, 8_000, 8_993]


def test_a_length_that_no_prompt_is_counted_as_is_not_asked_with_one_that_is_counted_as_longer() -> None:
    offsets = Offsets("ids")
    for sent, counted in ((64, 64), (5_000, 5_000), (5_001, 5_031)):
        offsets.take(_counted(sent, counted))
    assert {offsets.to_ask(length) for length in range(5_001, 5_031)} == {5_000}


def test_a_failure_is_as_long_as_what_passed_below_it_says() -> None:
    offsets = Offsets("ids")
    failed = _counted(9_000, 9_000, Outcome.DEATH)
    assert not offsets.take(_counted(64, 64))
    assert offsets.length_of(failed) == 9_000
    assert offsets.take(_counted(8_000, 8_007))
    assert offsets.length_of(failed) == 9_007


@given(st.lists(st.tuples(st.integers(1, 500), st.integers(0, 5)), min_size=1, max_size=30))
def test_what_failed_is_asked_again_with_the_very_same_prompt(counts: list[tuple[int, int]]) -> None:
    offsets = Offsets("ids")
    for sent, more in counts:
        offsets.take(_counted(sent, sent + more))
    first = counts[0][1]  # what the driver takes off each prompt that it sends
    for sent in range(min(sent for sent, _ in counts), 520):
        failed = _counted(sent, sent + first, Outcome.ERROR)
        assert offsets.to_ask(offsets.length_of(failed)) == sent + first


# --- worlds ---


@pytest.mark.parametrize("kind", [Outcome.DEATH, Outcome.ERROR])
@pytest.mark.parametrize("lo", [1_000, 8_000])
@pytest.mark.parametrize("edge", [5_000, 6_010, 9_999, 30_000])
def test_an_edge_is_found_exactly_though_more_is_counted_of_long_prompts(edge: int, lo: int, kind: Outcome) -> None:
    played = run(World(prompt_above(edge, kind), counts=more_above(6_000, 7)), lo=lo)
    assert (played.finding.kind.value, played.finding.last_good, played.finding.first_bad) == (kind, edge, edge + 1)
    assert played.finding.flaky is None
    assert played.finding.cap == edge // 16 * 16
    assert len(played.log) < 100


@pytest.mark.parametrize("edge", range(6_000, 6_008))
def test_lengths_that_no_prompt_is_counted_as_are_no_edge(edge: int) -> None:
    finding = run(World(prompt_above(edge), counts=more_above(6_000, 7))).finding
    assert (finding.last_good, finding.halt) == (6_000, None)
    assert finding.first_bad is not None
    assert finding.first_bad <= 6_008


@pytest.mark.parametrize("cache", ["cold", "mixed"])
@pytest.mark.parametrize("every", [100, 1_000, 10_000])
def test_a_lo_that_fails_kills_twice_whatever_it_is_counted_as_by_now(every: int, cache: Caching) -> None:
    """Each pass below it tells a little more of what is added, and `lo` would be another prompt each time."""
    world = World(prompt_above(150_000), counts=lambda tokens: tokens + tokens // every)
    played = run(world, lo=200_000, hi=300_000, cache=cache, max_deaths=14)
    assert (played.finding.last_good, played.finding.halt) == (150_000, None)
    at_lo = Counter(seen.spec.cache for seen in played.log if seen.deaths and seen.spec.role is Role.LO)
    assert max(at_lo.values()) == 2


def test_a_lo_that_is_refused_is_asked_once() -> None:
    played = run(World(limit=150_000, counts=lambda tokens: tokens + tokens // 100), lo=200_000, hi=300_000)
    assert sum(seen.spec.role is Role.LO for seen in played.log) == 1


@pytest.mark.parametrize("strategy", ["auto", "halving"])
@pytest.mark.parametrize("below", [10, 300])
def test_a_top_that_is_counted_as_longer_than_was_thought_is_asked_once_more_at_most(
    below: int, strategy: Strategy
) -> None:
    """What is sent for it overshoots, and its failure leaves the line as soon as that is known."""
    hi = 202_323
    world = World(prompt_above(hi - below), counts=lambda tokens: tokens + tokens // 100)
    played = run(world, lo=100_000, hi=hi, strategy=strategy, max_deaths=20)
    assert (played.finding.last_good, played.finding.halt) == (hi - below, None)
    plain = run(World(prompt_above(hi - below)), lo=100_000, hi=hi, strategy=strategy, max_deaths=20)
    assert played.deaths <= plain.deaths + 2


@pytest.mark.parametrize(
    ("lo", "hi", "edge"), [(244_689, 244_693, 244_690), (244_689, 245_200, 245_000), (32_000, 32_004, 32_002)]
)
@pytest.mark.parametrize("more", [100, 1_000], ids=["a hundredth", "a thousandth"])
def test_a_narrow_bracket_is_checked_again_where_longer_prompts_count_as_more(
    lo: int, hi: int, edge: int, more: int
) -> None:
    """Both its ends overshoot, and the edge lies below what was sent for the lower one."""
    played = run(World(prompt_above(edge), counts=lambda tokens: tokens + tokens // more), lo=lo, hi=hi)
    assert played.finding.halt is None
    assert played.finding.last_good in {edge - 1, edge}  # not each length can be counted
    assert played.deaths <= 7


def test_nothing_fails_and_the_top_is_reached_as_it_is_counted() -> None:
    played = run(World(counts=more_above(6_000, 7)))
    assert (played.finding.kind, played.finding.verified_up_to) == (FindingKind.NONE, 40_000)
    assert len(played.log) < 60


@pytest.mark.parametrize("start", [900, 2_040, 9_500])
@pytest.mark.parametrize("more", [3, 8, 100])
@pytest.mark.parametrize("kind", [Outcome.ERROR, Outcome.DEATH])
def test_a_scan_ends_where_lengths_lie_that_no_prompt_is_counted_as(start: int, more: int, kind: Outcome) -> None:
    """An island there has an end that cannot be asked."""
    world = World(any_of(window(1_700, 2_300, kind), prompt_above(12_000, kind)), counts=more_above(start, more))
    played = run(world, lo=5_000, hi=40_000, scan=30, max_deaths=40)
    assert len(played.log) < 300
    assert all(seen.outcome is not Outcome.TRUNCATED for seen in played.log)
    assert played.finding.cap is None or played.finding.cap <= 12_000


@pytest.mark.parametrize("times", [1.1, 2, 3])
def test_a_server_that_counts_long_prompts_several_times_over_is_soon_known(times: float) -> None:
    """After a preemption some count a prompt twice. Between the two there are many lengths that none is counted as."""
    played = run(World(counts=lambda tokens: int(times * tokens) if tokens > 9_000 else tokens), hi=20_000)
    assert played.finding.kind is FindingKind.NONE
    assert len(played.log) < 60


def test_a_scan_and_a_warm_search_ask_by_the_servers_count_too() -> None:
    world = World(prompt_above(9_999), counts=more_above(1_000, 24))
    for asked in ({"scan": 20}, {"cache": "warm"}, {"cache": "mixed"}):
        played = run(replace(world, log=[]), lo=64, **asked)
        assert played.finding.last_good == 9_999
        assert len(played.log) < 150


def test_a_short_prompt_of_which_less_is_counted_comes_to_light_late() -> None:
    """A mixed search sends its short prompt twice, and what is added to the longer one is taken off the second."""
    world = World(counts=more_above(60, 14), limit=341, style="sum", is_judged=False)
    played = run(world, lo=528, hi=529, cache="mixed")
    assert played.finding.kind is FindingKind.CLEAN_LIMIT
    assert played.finding.cap is not None
    assert played.finding.cap <= 341
    assert len(played.log) < 80


@pytest.mark.parametrize("seed", range(12))
def test_counts_that_are_now_so_now_so_come_to_an_end(seed: int) -> None:
    played = run(World(prompt_above(9_999, Outcome.ERROR), counts=now_so_now_so(seed), seed=seed, is_judged=False))
    finding = played.finding
    assert finding.halt is None
    assert finding.last_good in range(9_995, 10_000)  # never above the edge, whatever was counted
    assert finding.cap is not None
    assert finding.cap <= 9_999
    assert len(played.log) < 150


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("start", [500, 7_000])
def test_a_flaky_edge_comes_to_an_end_too(start: int, seed: int) -> None:
    rule = flaky_above(4_000, 0.8, outcome=Outcome.ERROR)
    played = run(World(rule, counts=more_above(start, 24), seed=seed, limit=9_000), lo=9_100, scan=20)
    assert played.finding.halt is not Halt.CONTRADICTION
    assert len(played.log) < 400


@st.composite
def worlds(draw: st.DrawFn) -> tuple[World, int, int | None]:
    """A monotone world, the longest sum that it bears, and its limit."""
    prompt, total = draw(st.integers(100, 6_000)), draw(st.integers(100, 6_000))
    kind = draw(st.sampled_from([Outcome.DEATH, Outcome.ERROR, Outcome.HANG]))
    limit = draw(st.none() | st.integers(300, 6_500))
    world = World(
        any_of(prompt_above(prompt, kind), total_above(total, kind)),
        counts=more_above(draw(st.integers(60, 6_000)), draw(st.integers(0, 40))),
        limit=limit,
        prompt_room=draw(st.sampled_from([1, 1, 2, 7, 40])),
        style=draw(st.sampled_from(["clamp", "sum", "prompt"])),
    )
    return world, min(prompt + 1, total), limit


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.data())
def test_every_run_is_bounded_and_every_cap_is_safe(data: st.DataObject) -> None:
    world, bears, limit = data.draw(worlds())
    lo = data.draw(st.integers(1, 3_000) if limit is None else st.integers(max(1, limit - 50), limit + 500))
    question = BisectQuestion(
        lo=lo,
        hi=lo + data.draw(st.integers(1, 4_000)),
        output_tokens=data.draw(st.sampled_from([1, 8, 32])),
        cache=data.draw(st.sampled_from(["cold", "mixed"])),
        scan=data.draw(st.sampled_from([0, 20])),
    )
    played = play(bisect(question), world.answer)
    assert len(played.log) <= 250
    assert played.finding.halt is not Halt.CONTRADICTION
    assert played.finding.cap is None or played.finding.cap <= bears

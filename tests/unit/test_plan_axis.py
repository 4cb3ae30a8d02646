"""Does a bisect tell an edge on the prompt from one on prompt + output, at few deaths?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fuzzer.finding import FindingKind
from fuzzer.model import FAIL_ON_DEFAULT, Outcome, ProbeSpec, Role
from fuzzer.observation import Observation
from fuzzer.plans.bisect import BisectQuestion, bisect
from fuzzer.plans.forecast import forecast
from targets.scrape import DraftCounts
from tests.unit.worlds import (
    Played,
    Request,
    Rule,
    World,
    any_of,
    drafts_above,
    flaky_above,
    play,
    prompt_above,
    total_above,
)

PROMPT, SUM, SUM_AND_K = (
    "constant in the prompt alone",
    "constant in prompt + output (",
    "constant in prompt + output + k",
)
UNSETTLED = "was not settled"


def run(world: World, **asked: object) -> Played:
    question = BisectQuestion(**{"lo": 244_689, "hi": 300_000, **asked})  # type: ignore[arg-type]
    return play(bisect(question), world.answer)


def around(played: Played) -> list[tuple[int, int, Outcome]]:
    """The probes that ask for the axis."""
    axis = [seen for seen in played.log if seen.spec.role is Role.AXIS]
    return [(seen.spec.length, seen.spec.output_tokens, seen.outcome) for seen in axis]


@pytest.mark.parametrize(
    ("rule", "k", "words", "asked"),
    [
        (prompt_above(262_144), 0, PROMPT, [(262_144, 41)]),
        (total_above(262_144), 0, SUM, [(262_143, 1), (262_120, 16)]),
        (drafts_above(262_145), 7, SUM_AND_K, [(262_137, 1), (262_115, 16)]),
    ],
)
def test_an_edge_on_a_suspect_is_attributed_without_another_death(
    rule: Rule, k: int, words: str, asked: list[tuple[int, int]]
) -> None:
    played = run(World(rule, k=k))
    assert words in played.finding.reason
    assert around(played) == [(*point, Outcome.PASS) for point in asked]
    plain = run(World(rule, k=k), attribute_axis=False)
    assert played.deaths == plain.deaths <= 4
    assert played.finding.cap == plain.finding.cap
    assert around(plain) == []
    assert "settled" not in plain.finding.reason


@pytest.mark.parametrize(("rule", "words"), [(prompt_above(271_234), PROMPT), (total_above(271_234), SUM)])
def test_an_edge_that_fails_without_dying_is_always_settled(rule: Rule, words: str) -> None:
    played = run(World(lambda request: Outcome.ERROR if rule(request) else None))
    assert words in played.finding.reason


def test_a_guess_is_not_worth_a_fourth_death() -> None:
    played = run(World(total_above(271_234)))
    assert around(played) == []
    assert UNSETTLED in played.finding.reason


def test_what_died_in_decoding_is_no_guess() -> None:
    """The first token had come: the prompt itself was survived."""
    world = World(total_above(271_234))

    def answer(spec: ProbeSpec) -> Observation:
        return replace(world.answer(spec), ttft_s=1.0)

    played = play(bisect(BisectQuestion(lo=244_689, hi=300_000)), answer)
    assert SUM in played.finding.reason
    assert [outcome for _, _, outcome in around(played)] == [Outcome.PASS] * 2


def test_a_wrong_guess_costs_one_death_and_settles_it_all_the_same() -> None:
    """A sum whose edge lies on a suspect of the prompt."""
    played = run(World(total_above(262_144 + 32)))
    assert [outcome for _, _, outcome in around(played)] == [Outcome.DEATH, Outcome.PASS, Outcome.PASS]
    assert SUM in played.finding.reason
    assert played.finding.cause is None
    assert (played.finding.kind, played.finding.cap) == (FindingKind.DEATH, 262_144)


def test_no_death_is_spent_on_it_where_none_is_left() -> None:
    spent = run(World(total_above(262_144 + 32)), max_deaths=2)
    assert around(spent) == []
    assert spent.deaths == 2
    assert UNSETTLED in spent.finding.reason
    assert (spent.finding.kind, spent.finding.cap) == (FindingKind.DEATH, 262_144)


def test_an_edge_that_needs_decoding_lies_on_neither_sum() -> None:
    def decoding(request: Request) -> Outcome | None:
        return Outcome.ERROR if request.prompt > 261_000 and request.output > 8 else None

    world = World(decoding)
    played = play(bisect(BisectQuestion(lo=244_689, hi=300_000)), lambda spec: replace(world.answer(spec), ttft_s=1.0))
    assert UNSETTLED in played.finding.reason
    assert around(played) == [(261_031, 1, Outcome.PASS), (261_008, 16, Outcome.ERROR)]
    assert played.finding.last_good == 261_000


def test_the_cap_leaves_k_on_a_sum_that_falls_on_no_suspect() -> None:
    rule = drafts_above(271_234)
    played = run(World(lambda request: Outcome.ERROR if rule(request) else None, k=7), round_to=1)
    assert played.finding.last_good == 271_234 - 32 - 7
    assert played.finding.cap == 271_234 - 32 - 7 - 7
    assert any("leaves 7 tokens" in words for words in played.finding.assumes)


def test_a_flaky_edge_is_not_attributed() -> None:
    played = run(World(flaky_above(262_144, 0.6), seed=2))
    assert played.finding.flaky is not None
    assert around(played) == []
    assert UNSETTLED in played.finding.reason


def test_nothing_is_asked_above_hi_or_above_the_limit() -> None:
    high = run(World(total_above(262_144)), hi=262_120)
    assert all(length <= 262_120 for length, _, _ in around(high))
    full = run(World(prompt_above(262_144), limit=262_170), limit=262_170)
    assert around(full) == []
    assert UNSETTLED in full.finding.reason


def test_a_clamped_answer_does_not_speak_for_the_output_that_was_asked() -> None:
    played = run(World(prompt_above(262_144), limit=262_170))
    assert [outcome for _, _, outcome in around(played)] == [Outcome.PASS]
    assert UNSETTLED in played.finding.reason


def test_the_forecast_counts_what_is_asked_around_the_edge() -> None:
    asked, plain = (forecast(BisectQuestion(lo=1_000, hi=9_000, attribute_axis=on)) for on in (True, False))
    assert asked.probes == plain.probes + 2
    assert asked.deaths == plain.deaths


# --- k where one output token is asked for ---


def test_k_is_learnt_although_the_search_asks_for_one_token() -> None:
    """An engine drafts nothing for one token, and yet its drafter dies of the prompt."""
    world = World(drafts_above(2_049), k=3)

    def answer(spec: ProbeSpec) -> Observation:
        seen = world.answer(spec)
        drafted = seen.draft if spec.output_tokens > 1 else DraftCounts(0.0, 0.0, 0.0)
        return replace(seen, draft=drafted)

    played = play(bisect(BisectQuestion(lo=1_000, hi=4_000, output_tokens=1)), answer)
    assert played.finding.last_good == 2_045
    assert played.finding.cause == "S - O - k + 1 with S = 2048 (suspect: power of two)"
    assert {seen.spec.output_tokens for seen in played.log if seen.spec.role is Role.SEARCH} == {1}


def seen_in_text(rule: Rule, fewest: int) -> Rule:
    """What is wrong with an answer shows in so many output tokens, and not in fewer."""
    return lambda request: rule(request) if request.total - request.prompt >= fewest else None


@pytest.mark.parametrize("kind", [Outcome.GARBLED, Outcome.DEGRADED])
@pytest.mark.parametrize(("edge", "at", "words"), [(prompt_above, 262_112, PROMPT), (total_above, 262_144, SUM)])
def test_an_answer_too_short_to_be_seen_garbled_tells_nothing_of_the_axis(
    kind: Outcome, edge: Callable[[int, Outcome], Rule], at: int, words: str
) -> None:
    fails = frozenset({*FAIL_ON_DEFAULT, Outcome.DEGRADED})
    played = run(World(seen_in_text(edge(at, kind), 24)), fail_on=fails)
    assert played.finding.kind.value == kind.value
    assert words in played.finding.reason


# --- any edge ---


@settings(max_examples=150, deadline=None)
@example(prompt=476, total=508, k=3, output=32, resolution=1, kind=Outcome.DEATH)
@given(
    st.integers(200, 4_000),
    st.integers(200, 4_000),
    st.sampled_from([0, 3, 7]),
    st.sampled_from([1, 8, 32]),
    st.sampled_from([1, 10]),
    st.sampled_from([Outcome.DEATH, Outcome.ERROR]),
)
def test_what_is_said_of_the_axis_is_true(
    prompt: int, total: int, k: int, output: int, resolution: int, kind: Outcome
) -> None:
    world = World(any_of(prompt_above(prompt, kind), drafts_above(total + k, kind)), k=k)
    question = BisectQuestion(lo=100, hi=5_000, output_tokens=output, resolution=resolution, round_to=1)
    played = play(bisect(question), world.answer)
    if PROMPT in played.finding.reason:
        assert prompt <= total - output
    unknown = 8  # how closely it is told where k is not known
    if "constant in prompt + output" in played.finding.reason:
        assert total - output < prompt + resolution + max(k, unknown)
    room = max(k, unknown) + resolution  # of a control
    both = -room <= prompt + output - total <= output + room  # two edges so close together kill each other's control
    assert sum(outcome is Outcome.DEATH for _, _, outcome in around(played)) <= (2 if both else 1)


@given(st.integers(600, 3_000), st.floats(0, 1), st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_answers_that_the_model_ended_show_no_more_than_they_decoded(edge: int, share: float, seed: int) -> None:
    world = World(total_above(edge), seed=seed, stops=share, stops_within=32)
    found = play(bisect(BisectQuestion(lo=500, hi=4_000)), world.answer).finding
    assert (found.last_good_total or 0) <= edge
    assert (found.cap or 0) <= edge
    assert "constant in the prompt alone" not in found.reason

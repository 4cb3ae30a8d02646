"""Is an edge that takes outputs to reach found over outputs, and is no more claimed than that shows?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzzer.cli.questions import prompts_of
from fuzzer.errors import UsageFault
from fuzzer.finding import FindingKind, Halt
from fuzzer.model import Outcome, ProbeSpec, Role
from fuzzer.observation import Observation
from fuzzer.plans.bisect import BisectQuestion, bisect
from fuzzer.plans.forecast import bracket_of, forecast
from fuzzer.plans.preview import first_steps
from fuzzer.plans.scout import Stages
from fuzzer.report.plan import as_text
from tests.unit.worlds import Played, Request, Rule, World, any_of, drafts_above, play, prompt_above, total_above

QUESTION = BisectQuestion(lo=500, hi=4_000, axis="output")


def run(world: World | Rule, **asked: object) -> Played:
    played = world if isinstance(world, World) else World(world)
    return play(bisect(replace(QUESTION, **asked)), played.answer)  # type: ignore[arg-type]


def output_above(edge: int) -> Rule:
    return lambda request: Outcome.DEATH if request.output > edge else None


def test_an_edge_on_the_sum_is_found_by_outputs_and_its_cap_holds_at_every_corner() -> None:
    played = run(total_above(2_048))
    finding = played.finding
    assert (finding.kind, finding.last_good_output, finding.first_bad_output) == (FindingKind.DEATH, 1_984, 1_985)
    assert (finding.last_good, finding.first_bad, finding.verified_up_to) == (None, None, None)
    assert (finding.last_good_total, finding.first_bad_total, finding.cap) == (2_048, 2_049, 2_048)
    assert finding.cause == "S - P with S = 2048 (suspect: power of two)"
    corners = [(seen.length, seen.spec.output_tokens) for seen in played.log if seen.spec.role is Role.CORNER]
    assert corners == [(16, 2_032), *[(2_016, 32)] * 9, (2_047, 1)], "long prompts pass as often as last_good does"
    assert {seen.spec.length for seen in played.log if seen.spec.role is not Role.CORNER} == {64}


@pytest.mark.parametrize("rule", [output_above(1_984), any_of(prompt_above(1_900), output_above(1_984))])
def test_an_edge_on_something_else_carries_no_cap(rule: Rule) -> None:
    finding = run(rule).finding
    assert (finding.last_good_output, finding.first_bad_output, finding.cap) == (1_984, 1_985, None)
    assert "; no cap, since" in finding.reason


def test_the_cap_leaves_room_for_drafts() -> None:
    finding = run(World(drafts_above(2_048), k=7), round_to=1).finding
    assert (finding.last_good_output, finding.last_good_total, finding.cap) == (1_977, 2_041, 2_034)


def test_a_suspect_that_the_prompt_nearly_fills_is_one() -> None:
    played = run(total_above(8_192), prompt_tokens=7_000)
    assert played.finding.cause == "S - P with S = 8192 (suspect: power of two)"
    assert played.deaths <= 4


def test_what_an_output_search_does_not_show_is_said() -> None:
    finding = run(total_above(2_048)).finding
    assert finding.assumes[0] == "outputs were searched after a prompt of 64 tokens, and after no other"


def test_nothing_fails_over_outputs() -> None:
    finding = run(World()).finding
    assert (finding.kind, finding.last_good_output, finding.first_bad_output) == (FindingKind.NONE, 4_000, None)
    assert (finding.cap, finding.verified_up_to) == (None, None)


@pytest.mark.parametrize("style", ["clamp", "sum"])
def test_the_limit_bounds_what_is_asked(style: str) -> None:
    played = run(World(limit=2_000, style=style), limit=2_000)
    assert played.finding.last_good_output == 1_936
    assert all(seen.total <= 2_000 for seen in played.log)


def test_a_hidden_limit_that_clamps_is_no_pass() -> None:
    finding = run(World(limit=2_000)).finding
    assert (finding.kind, finding.last_good_output, finding.cap) == (FindingKind.CLEAN_LIMIT, 1_936, None)


def test_a_flaky_edge_over_outputs() -> None:
    def rule(request: Request) -> Outcome | None:
        return Outcome.DEATH if request.output > 2_000 and request.draw < 0.6 else None

    finding = run(World(rule, seed=5), max_deaths=40).finding
    assert finding.last_good_output is not None
    assert finding.last_good_output <= 2_000
    assert finding.cap is None or finding.cap <= 2_064


@pytest.mark.parametrize("most", range(6))
def test_deaths_are_bounded_over_outputs_too(most: int) -> None:
    played = run(total_above(1_777), max_deaths=most)
    assert played.deaths <= most
    assert played.finding.cap is None or played.finding.cap <= 1_777


def test_time_is_bounded_over_outputs_too() -> None:
    played = run(total_above(1_777), max_time_s=100.0)
    assert played.finding.halt is Halt.TIME
    assert played.finding.cap is None


def test_the_live_view_counts_outputs() -> None:
    played = run(total_above(2_048))
    stages = Stages(QUESTION, played.log)
    bracket = bracket_of(stages)
    assert (bracket.last_good, bracket.first_bad, bracket.counts) == (1_984, 1_985, "output")
    assert (bracket.low, bracket.high, bracket.deaths) == (500, 4_000, played.deaths)
    assert forecast(replace(QUESTION, limit=1_000)).deaths < forecast(QUESTION).deaths + 1
    assert all(500 < step.length <= 936 for step in first_steps(replace(QUESTION, limit=1_000)))


def test_a_plan_over_outputs_names_what_it_counts_and_its_suspects() -> None:
    text = as_text(replace(QUESTION, prompt_tokens=7_000))
    assert text.startswith("output tokens, after a prompt of 7,000:\n")
    assert "8,192 (power of two)" in text


# --- corners of the cap ---


def at_corner(which: int, **more: object) -> Played:
    """The so-manieth probe of a corner, from 1, comes out like that."""
    world, met = World(total_above(2_048)), iter(range(1, 100))

    def answer(spec: ProbeSpec) -> Observation:
        seen = world.answer(spec)
        return replace(seen, **more) if spec.role is Role.CORNER and next(met) == which else seen  # type: ignore[arg-type]

    return play(bisect(QUESTION), answer)


@pytest.mark.parametrize("which", [1, 2, 3])
def test_a_corner_that_failed_among_neighbours_is_not_cleared_by_one_pass(which: int) -> None:
    played = at_corner(which, outcome=Outcome.DEATH, completion_tokens=None, contended=True, deaths=1, blames="this")
    more = 8 if which == 1 else 0  # else it is the corner that is asked as often anyway
    assert len([seen for seen in played.log if seen.spec.role is Role.CORNER]) == 3 + 9 + more


@pytest.mark.parametrize("outcome", [Outcome.ABANDONED, Outcome.ERROR])
@pytest.mark.parametrize("which", [1, 2, 3])
def test_a_corner_that_was_not_answered_or_failed_by_chance_is_asked_again(which: int, outcome: Outcome) -> None:
    played = at_corner(which, outcome=outcome, completion_tokens=None, reason="ctxfuzz was killed")
    assert (played.finding.kind, played.finding.cap) == (FindingKind.DEATH, 2_048)
    asked = [seen.length for seen in played.log if seen.spec.role is Role.CORNER]
    more = 8 if which == 1 else 0
    assert len(asked) == (4 + 8 if outcome is Outcome.ABANDONED else 3 + 13 + more)  # that outweigh one failure


def test_an_error_that_comes_again_at_a_corner_keeps_the_cap_back() -> None:
    def rule(request: Request) -> Outcome | None:
        return Outcome.ERROR if request.prompt > 2_000 else total_above(2_048)(request)

    played = run(rule)
    assert played.finding.cap is None
    assert "; no cap, since 2016 + 32 tokens ended in error" in played.finding.reason
    assert sum(seen.outcome is Outcome.ERROR for seen in played.log) == 2


@pytest.mark.parametrize(("most", "cap"), [(2, None), (3, 2_048)])
def test_corners_that_no_death_is_left_for_halt_the_run(most: int, cap: int | None) -> None:
    finding = run(total_above(2_048), lo=1_900, hi=2_100, max_deaths=most).finding
    assert (finding.last_good_output, finding.cap) == (1_984, cap)
    assert finding.halt is (None if cap else Halt.DEATHS)
    assert ("; no cap: nothing tells whether 16 + 2032 tokens pass" in finding.reason) is (cap is None)


def test_corners_that_no_time_is_left_for_halt_the_run() -> None:
    begun_s = next(seen.started_s for seen in run(total_above(2_048)).log if seen.spec.role is Role.CORNER)
    finding = run(total_above(2_048), max_time_s=begun_s).finding
    assert (finding.halt, finding.last_good_output, finding.cap) == (Halt.TIME, 1_984, None)
    assert "; no cap: nothing tells whether 16 + 2032 tokens pass" in finding.reason


@settings(deadline=None, max_examples=40)
@given(st.integers(300, 4_200), st.sampled_from([total_above, output_above, prompt_above]), st.integers(0, 12))
def test_any_beginning_of_a_turned_run_asks_the_same_next(at: int, kind: Callable[[int], Rule], most: int) -> None:
    question = replace(QUESTION, max_deaths=most)
    log = play(bisect(question), World(kind(at)).answer).log
    assert BisectQuestion.from_json(question.to_json()) == question
    for count in {0, len(log) // 3, len(log) // 2, len(log) - 1}:
        assert next(bisect(question, log[:count])) == log[count].spec


def test_what_cannot_be_asked_over_outputs_is_refused() -> None:
    for wrong in ({"cache": "mixed"}, {"limit": 500}):
        with pytest.raises(ValueError, match=r"mixed|leaves no output"):
            replace(QUESTION, **wrong)


# --- sums ---


def test_sums_are_prompts_with_the_output_held() -> None:
    asked = prompts_of({"lo": 1_000, "hi": 5_000, "axis": "total"}, 32)
    finding = play(bisect(BisectQuestion(**asked)), World(total_above(2_048)).answer).finding
    assert (finding.last_good, finding.first_bad) == (2_016, 2_017)
    assert (finding.last_good_total, finding.first_bad_total, finding.cap) == (2_048, 2_049, 2_016)
    with pytest.raises(UsageFault, match="leaves no prompt"):
        prompts_of({"lo": 32, "hi": 5_000, "axis": "total"}, 32)
    assert prompts_of({"lo": 32, "hi": 5_000, "axis": "prompt"}, 32)["lo"] == 32


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_an_output_that_the_model_ended_is_no_ground(share: float) -> None:
    """It never came as far as the edge: a cap there would be above all that was seen."""
    finding = run(World(total_above(2_048), stops=share)).finding
    assert finding.cap is None or finding.cap <= 2_048
    assert (finding.last_good_output or 0) <= 1_984


def test_an_island_of_outputs_is_not_said_to_be_what_a_scan_of_prompts_looks_for() -> None:
    finding = run(lambda request: Outcome.DEATH if request.output == 2_048 or request.output > 3_900 else None).finding
    assert "2048 fails, alone" in finding.reason
    assert (finding.cap, "--scan" in finding.reason) == (None, False)

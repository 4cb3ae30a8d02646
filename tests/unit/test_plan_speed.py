"""Does the plan warm up, take its figures, ask again what was spoilt, and stop where something fails?"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzzer.cli.exits import Exit, exit_of
from fuzzer.finding import Finding, FindingKind, Halt
from fuzzer.measure.firstrun import MOST_WARM_UPS
from fuzzer.measure.reading import Mark
from fuzzer.measure.speed import cells
from fuzzer.model import Outcome, ProbeSpec, Role
from fuzzer.observation import Observation
from fuzzer.plans.speed import SpeedQuestion, place_of, speed
from tests.unit.paces import QUESTION, Pace, measure, only_cell
from tests.unit.worlds import play


def roles(pace: Pace, question: SpeedQuestion = QUESTION) -> list[Role]:
    return [seen.spec.role for seen in measure(pace, question).log]


def test_a_warm_engine_is_warmed_up_twice_and_measured_five_times() -> None:
    assert roles(Pace()) == [Role.BASELINE, *[Role.WARM_UP] * 2, *[Role.MEASURE] * 5]


def test_one_warm_up_is_not_enough() -> None:
    """The baseline takes the first slow run, the first warm-up the second: 15.3 s, then 1.3 s."""
    cell = only_cell(Pace(first_runs=2, noise=0.001))
    assert [round(took) for took in cell.warm_ups] == [19, 2, 2]
    assert cell.reliable


def test_slow_runs_that_look_alike_are_still_no_figures() -> None:
    """Two warm-ups that are as slow as each other seem warm; the leap that follows tells that they were not."""
    cell = only_cell(Pace(first_runs=4, noise=0.001))
    assert cell.left_out == {Mark.PROVISIONAL: 1}
    assert (len(cell.figures), cell.reliable) == (5, True)
    assert cell.speed == pytest.approx(100, rel=0.01)


def test_an_engine_that_never_warms_up_gives_provisional_figures_and_no_answer() -> None:
    played = measure(Pace(drift=-0.13, noise=0.001))
    (cell,) = cells(played.log, 5).values()
    assert sum(seen.spec.role is Role.WARM_UP for seen in played.log) == MOST_WARM_UPS
    assert cell.provisional
    assert "1 provisional" in played.finding.reason
    assert exit_of(played.finding) is Exit.INCONCLUSIVE


def test_scattered_figures_are_taken_three_times_as_often() -> None:
    assert roles(Pace(noise=0.1)).count(Role.MEASURE) == 15


def test_cells_that_others_disturb_are_asked_again() -> None:
    cell = only_cell(Pace(neighbours=0.3, seed=3))
    assert cell.left_out[Mark.CONTENDED] > 0
    assert len(cell.figures) == 5
    assert cell.speed == pytest.approx(100, rel=0.02)


def test_where_others_never_leave_there_is_no_figure_and_no_answer() -> None:
    played = measure(Pace(neighbours=1.0))
    assert sum(seen.spec.role is Role.MEASURE for seen in played.log) == 10
    assert (played.finding.kind, played.finding.halt) == (FindingKind.INCONCLUSIVE, Halt.CONTENDED)
    assert exit_of(played.finding) is Exit.INCONCLUSIVE


def test_a_death_before_the_first_figure_is_no_answer() -> None:
    played = measure(Pace(dies_at=frozenset({2})), SpeedQuestion(lengths=(8_000,), output_tokens=128))
    assert (played.deaths, played.finding.kind, played.finding.first_bad) == (1, FindingKind.INCONCLUSIVE, 8_000)
    assert exit_of(played.finding) is Exit.INCONCLUSIVE


def test_the_first_death_ends_it_and_the_figures_below_stand() -> None:
    question = SpeedQuestion(lengths=(8_000, 64_000), output_tokens=128)
    played = measure(Pace(dies_at=frozenset({9})), question)
    finding = played.finding
    assert (finding.kind, finding.first_bad, finding.last_good) == (FindingKind.DEATH, 64_000, 8_000)
    assert "1 of 2 cells have figures" in finding.reason
    assert (played.deaths, exit_of(finding)) == (1, Exit.ANSWERED)


@pytest.mark.parametrize(("hits", "kind"), [({3}, FindingKind.NONE), ({3, 9}, FindingKind.INCONCLUSIVE)])
def test_deaths_of_nobodys_leave_no_answer_from_the_second_on(hits: set[int], kind: FindingKind) -> None:
    pace = Pace()

    def answer(spec: ProbeSpec) -> Observation:
        seen = pace.answer(spec)
        if len(pace.log) not in hits:
            return seen
        return replace(seen, outcome=Outcome.ABANDONED, completion_tokens=None, deaths=1, blames="nobody")

    finding = play(speed(QUESTION), answer).finding
    assert finding.kind is kind
    assert ("between two probes" in finding.reason) == (kind is FindingKind.INCONCLUSIVE)


def test_a_refusal_answers_only_where_something_was_measured() -> None:
    def refused_above(limit: int, *lengths: int) -> Finding:
        pace = Pace()

        def answer(spec: ProbeSpec) -> Observation:
            seen = pace.answer(spec)
            return seen if spec.length <= limit else replace(seen, outcome=Outcome.REJECTED)

        return play(speed(SpeedQuestion(lengths=lengths)), answer).finding

    assert exit_of(refused_above(9_000, 8_000, 10_000)) is Exit.ANSWERED
    assert exit_of(refused_above(9_000, 10_000)) is Exit.INCONCLUSIVE


def test_without_a_short_prompt_that_passes_nothing_is_measured() -> None:
    played = measure(Pace(dies_at=frozenset({1})))
    assert (played.finding.halt, len(played.log)) == (Halt.NOT_LENGTH, 1)


def test_where_no_death_is_allowed_only_the_shortest_cells_are_measured() -> None:
    played = measure(Pace(), SpeedQuestion(lengths=(8_000, 64_000), max_deaths=0))
    assert {seen.spec.length for seen in played.log} == {64, 8_000}
    assert played.finding.halt is Halt.DEATHS


def test_every_length_content_and_concurrency_is_a_cell() -> None:
    question = SpeedQuestion(lengths=(100, 50), contents=("words", "copy"), concurrencies=(1, 3), repeats=2)
    played = measure(Pace(), question)
    measuring = [seen.spec for seen in played.log if seen.spec.role is Role.MEASURE]
    assert len(question.cells) == 8
    assert list(dict.fromkeys((spec.length, spec.content, spec.companions) for spec in measuring)) == [
        (length, content, (length,) * more) for length in (50, 100) for content in ("words", "copy") for more in (0, 2)
    ]


def test_how_far_an_arm_is_is_told_by_its_probe() -> None:
    question = SpeedQuestion(lengths=(100, 50))
    second = question.cells[1]
    assert place_of(question, question.baseline("words"), 0) == (-1, -1)
    assert place_of(question, question.probe(second, Role.WARM_UP), 0) == (1, -1)
    assert place_of(question, question.probe(second, Role.MEASURE), 4) == (1, 4)


@pytest.mark.parametrize(
    "asked", [{"lengths": ()}, {"lengths": (0,)}, {"stream": False}, {"repeats": 0}, {"concurrencies": (0,)}]
)
def test_what_cannot_be_measured_is_refused(asked: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"needs|no decode"):
        SpeedQuestion(**{"lengths": (100,), **asked})  # type: ignore[arg-type]


def test_a_question_survives_its_record() -> None:
    question = SpeedQuestion(lengths=(50, 100), contents=("copy",), concurrencies=(1, 2), repeats=3)
    assert SpeedQuestion.from_json(question.to_json()) == question


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    noise=st.sampled_from([0.001, 0.05]),
    neighbours=st.sampled_from([0.0, 0.3]),
    dies_at=st.frozensets(st.integers(2, 20), max_size=2),
    cut=st.integers(0, 30),
)
def test_resuming_is_replaying(seed: int, noise: float, neighbours: float, dies_at: frozenset[int], cut: int) -> None:
    question = SpeedQuestion(lengths=(8_000, 16_000), repeats=3)
    played = measure(Pace(seed=seed, noise=noise, neighbours=neighbours, dies_at=dies_at), question)
    plan, asked = speed(question), list[ProbeSpec]()
    asked.append(next(plan))
    for seen in played.log[:cut][:-1]:
        asked.append(plan.send(seen))
    assert asked == [seen.spec for seen in played.log[: len(asked)]]

"""Does a sweep fill its table shortest first, and stop where it must?"""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzzer.finding import FindingKind, Halt
from fuzzer.model import Outcome, Role
from fuzzer.observation import Observation
from fuzzer.plans.answers import Answers
from fuzzer.plans.sweep import SweepQuestion, spaced, sweep
from tests.unit.worlds import Played, World, any_of, play, prompt_above, wears_out, window

LENGTHS = (3_000, 1_000, 2_000)


def swept(world: World, **asked: object) -> Played:
    return play(sweep(SweepQuestion(**{"lengths": LENGTHS, **asked})), world.answer)  # type: ignore[arg-type]


def rows(played: Played) -> list[tuple[int, str]]:
    return [(seen.spec.length, seen.spec.content) for seen in played.log if seen.spec.role is Role.SCAN]


def test_every_length_is_asked_once_shortest_first_after_a_short_prompt() -> None:
    played = swept(World())
    assert played.log[0].spec.role is Role.BASELINE
    assert rows(played) == [(1_000, "words"), (2_000, "words"), (3_000, "words")]
    assert (played.finding.kind, played.finding.verified_up_to) == (FindingKind.NONE, 3_000)
    assert played.finding.cap is None


def test_each_content_makes_a_row() -> None:
    played = swept(World(), contents=("copy", "words"))
    assert rows(played)[:4] == [(1_000, "copy"), (1_000, "words"), (2_000, "copy"), (2_000, "words")]


def test_the_first_failure_ends_it_and_is_the_finding() -> None:
    played = swept(World(prompt_above(1_500)))
    assert [length for length, _ in rows(played)] == [1_000, 2_000]
    finding = played.finding
    assert (finding.kind, finding.last_good, finding.first_bad) == (FindingKind.DEATH, 1_000, 2_000)


def test_told_to_keep_going_it_fills_the_table_and_the_lowest_failure_is_the_finding() -> None:
    played = swept(World(window(1_500, 2_500, Outcome.ERROR)), keep_going=True)
    assert [length for length, _ in rows(played)] == [1_000, 2_000, 3_000]
    finding = played.finding
    assert (finding.kind, finding.last_good, finding.first_bad) == (FindingKind.ERROR, 1_000, None)
    assert finding.islands == ((2_000, 2_000),)  # what is longer passes


def test_what_fails_above_all_that_passes_is_where_it_begins() -> None:
    finding = swept(World(window(1_500, 9_000, Outcome.ERROR)), keep_going=True).finding
    assert (finding.last_good, finding.first_bad, finding.islands) == (1_000, 2_000, ())


def test_with_the_deaths_spent_nothing_longer_is_sent() -> None:
    played = swept(World(prompt_above(1_500)), keep_going=True, max_deaths=1)
    assert played.deaths == 1
    assert played.finding.halt is Halt.DEATHS
    assert (played.finding.last_good, played.finding.first_bad) == (1_000, 2_000)


def test_without_any_death_to_spend_only_the_shortest_length_is_sent_first() -> None:
    assert [length for length, _ in rows(swept(World(), max_deaths=0))] == [1_000]


def test_with_the_deaths_spent_no_other_row_is_sent() -> None:
    world = World(lambda request: Outcome.DEATH if request.ordinal == 3 else None)
    played = swept(world, max_deaths=1, keep_going=True, contents=("words", "copy"))
    assert (played.deaths, played.finding.halt) == (1, Halt.DEATHS)
    assert played.log[-1].deaths == 1


def test_a_refusal_is_the_limit_and_no_failure() -> None:
    finding = swept(World(limit=1_500)).finding
    assert (finding.kind, finding.first_rejected, finding.first_bad) == (FindingKind.CLEAN_LIMIT, 2_000, None)


def test_a_target_on_which_a_short_prompt_fails_is_not_measured() -> None:
    played = swept(World(wears_out(1, Outcome.ERROR)))
    assert rows(played) == []
    assert played.finding.halt is Halt.NOT_LENGTH


def test_a_death_that_comes_to_light_later_takes_the_pass_before_it_away() -> None:
    world = World()

    def answer(spec: object) -> object:
        seen = world.answer(spec)  # type: ignore[arg-type]
        if seen.spec.length == 2_000:
            return replace(seen, outcome=Outcome.ABANDONED, deaths=1, blames="nobody", reason="it died just before")
        return seen

    played = play(sweep(SweepQuestion(lengths=(1_000, 2_000))), answer)  # type: ignore[arg-type]
    assert (played.finding.kind, played.finding.first_bad, played.deaths) == (FindingKind.DEATH, 1_000, 2)
    assert "the engine died a while after it was answered: it died just before" in played.finding.reason


def seen_as(seq: int, length: int, outcome: Outcome = Outcome.PASS, **more: object) -> Observation:
    spec = SweepQuestion(lengths=(length,)).spec(length, Role.SINGLE, "")
    return replace(Observation(seq, spec, outcome, length, "usage"), **more)  # type: ignore[arg-type]


def test_who_died_of_its_own_may_have_met_the_death_of_the_one_before_as_well() -> None:
    met = seen_as(2, 2_000, Outcome.DEATH, deaths=2, blames="this")
    once = Answers([seen_as(1, 1_000), met])
    assert [seen.length for seen in once.evidence] == [2_000], "1000 is asked again"
    again = Answers([seen_as(1, 1_000), met, seen_as(3, 1_000), replace(met, seq=4)])
    assert [(seen.length, seen.outcome) for seen in again.evidence if seen.seq == 3] == [(1_000, Outcome.DEATH)]


def test_a_death_between_two_probes_eats_no_older_pass() -> None:
    gone = [seen_as(seq, 3_000, Outcome.ABANDONED, deaths=1, blames="nobody") for seq in (3, 4, 5)]
    answers = Answers([seen_as(1, 1_000), seen_as(2, 2_000), *gone])
    assert [seen.length for seen in answers.evidence] == [1_000]


def test_the_time_that_was_given_ends_it() -> None:
    played = swept(World(), max_time_s=1.5)
    assert played.finding.halt is Halt.TIME


def test_a_replayed_prefix_asks_the_same_next_and_a_record_brings_the_question_back() -> None:
    question = SweepQuestion(lengths=LENGTHS, contents=("copy", "words"), keep_going=True)
    again = SweepQuestion.from_json(json.loads(json.dumps(question.to_json())))
    assert again == question
    whole = play(sweep(question), World(any_of(window(1_500, 2_500))).answer)
    for cut in range(len(whole.log)):
        assert next(sweep(again, whole.log[:cut])) == whole.log[cut].spec


@given(st.integers(1, 10**6), st.integers(1, 10**6), st.integers(2, 40), st.sampled_from(["log", "linear"]))
def test_spaced_lengths_ascend_from_end_to_end(start: int, more: int, points: int, spacing: str) -> None:
    lengths = spaced(start, start + more, points, spacing)  # type: ignore[arg-type]
    assert (lengths[0], lengths[-1]) == (start, start + more)
    assert list(lengths) == sorted(set(lengths))
    assert len(lengths) <= points


def test_spacing_is_by_equal_steps_or_equal_factors() -> None:
    assert spaced(1_000, 4_000, 3, "log") == (1_000, 2_000, 4_000)
    assert spaced(1_000, 4_000, 4, "linear") == (1_000, 2_000, 3_000, 4_000)


@pytest.mark.parametrize("lengths", [(), (0, 5)])
def test_a_sweep_of_nothing_is_refused(lengths: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="1 token and more"):
        SweepQuestion(lengths=lengths)

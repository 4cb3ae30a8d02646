"""Does one arm of a comparison ask each prompt twice, shortest first, and end with the first failure?"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from fuzzer.finding import FindingKind
from fuzzer.model import Outcome, ProbeSpec, Role
from fuzzer.observation import Observation
from fuzzer.plans.same import SameQuestion, same, up_to

QUESTION = SameQuestion(lengths=(900, 100), contents=("words", "needle"), output_tokens=16)


def answered(spec: ProbeSpec, seq: int, outcome: Outcome = Outcome.PASS) -> Observation:
    return Observation(seq, spec, outcome, spec.length, "usage", reason="as told")


def played(fails_from: int) -> tuple[list[ProbeSpec], FindingKind]:
    """What is asked of an engine that dies of so many tokens, and what is found."""
    plan, asked = same(QUESTION), []
    spec = next(plan)
    try:
        while True:
            asked.append(spec)
            spec = plan.send(answered(spec, len(asked), Outcome.DEATH if spec.length >= fails_from else Outcome.PASS))
    except StopIteration as end:
        return asked, end.value.kind


def test_every_prompt_is_asked_twice_in_a_row() -> None:
    asked, kind = played(fails_from=10_000)
    assert kind is FindingKind.NONE
    assert asked[0].role is Role.BASELINE
    assert [(one.length, one.content, one.compared) for one in asked[1:]] == [
        (length, content, time) for length in (100, 900) for content in ("words", "needle") for time in (1, 2)
    ]
    assert {one.role for one in asked[1:]} == {Role.MEASURE}
    assert len(asked) == QUESTION.most_probes


def test_the_first_death_ends_it_with_that_finding() -> None:
    asked, kind = played(fails_from=500)
    assert kind is FindingKind.DEATH
    assert [one.length for one in asked if one.length >= 500] == [900]


def test_a_resumed_arm_goes_on_where_it_stood() -> None:
    asked, _ = played(fails_from=10_000)
    facts = [answered(spec, at) for at, spec in enumerate(asked[:4], 1)]
    assert next(same(QUESTION, facts)) == asked[4]


def test_the_question_survives_its_record() -> None:
    assert SameQuestion.from_json(QUESTION.to_json()) == QUESTION


def test_a_needle_needs_room() -> None:
    with pytest.raises(ValueError, match="a needle needs"):
        replace(QUESTION, lengths=(63, 900))


def test_the_lengths_reach_from_a_short_prompt_to_what_the_cap_admits() -> None:
    lengths = up_to(245_760, 128)
    assert (len(lengths), lengths[0], lengths[-1]) == (8, 64, 245_632)
    assert [late / early for early, late in pairwise(lengths)] == pytest.approx([3838 ** (1 / 7)] * 7, rel=0.01)


def test_a_tiny_cap_leaves_one_length() -> None:
    assert up_to(150, 128) == (22,)
    assert up_to(100, 128) == (1,)

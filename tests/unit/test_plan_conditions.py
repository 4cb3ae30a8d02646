"""Under which conditions does a bisect send its probes, and what does it say of those that it did not try?"""

from __future__ import annotations

from fuzzer.finding import FindingKind
from fuzzer.model import Role
from fuzzer.plans.assumed import MONOTONE, not_tried
from fuzzer.plans.bisect import BisectQuestion, bisect
from fuzzer.plans.sweep import SweepQuestion, sweep
from tests.unit.worlds import World, play, prompt_above


def test_every_probe_but_the_short_one_has_company() -> None:
    played = play(bisect(BisectQuestion(lo=1_000, hi=5_000, companions=3)), World(prompt_above(2_000)).answer)
    alone = [seen.spec.role for seen in played.log if not seen.spec.companions]
    assert alone == [Role.BASELINE]
    assert {seen.spec.companions for seen in played.log[1:]} == {(512, 512, 512)}


def test_a_companion_fits_the_limit_with_room_to_spare() -> None:
    asked = BisectQuestion(lo=20, hi=99, limit=100, companions=2).spec(80, Role.SEARCH, "")
    assert asked.companions == (50, 50)


def test_a_list_of_probes_has_company_too() -> None:
    question = SweepQuestion(lengths=(1_000, 2_000), companions=1, companion_length=700)
    assert SweepQuestion.from_json(question.to_json()) == question
    played = play(sweep(question), World().answer)
    assert [seen.spec.companions for seen in played.log] == [(), (700,), (700,)]


def test_what_was_not_tried_is_what_was_not_tried() -> None:
    for companions, missing in ((0, "companions, other contents,"), (2, "other contents, a warm prefix,")):
        question = BisectQuestion(lo=1_000, hi=5_000, companions=companions)
        finding = play(bisect(question), World(prompt_above(2_000)).answer).finding
        assert any(words.startswith(missing) for words in finding.assumes), finding.assumes


def test_other_ways_of_sending_are_said_not_to_be_tried() -> None:
    streamed = not_tried(BisectQuestion(lo=1_000, hi=5_000), 2_000)
    assert "text and chat prompts, a temperature above 0 and unstreamed answers were not tried" in streamed
    whole = not_tried(BisectQuestion(lo=1_000, hi=5_000, stream=False, mode="chat"), 2_000)
    assert "prompts without a template, a temperature above 0 and streamed answers were not tried" in whole
    fuzzed = BisectQuestion(lo=1_000, hi=5_000, fuzzed=("mode", "stream"), fuzzed_cap=2_000)
    assert "unstreamed answers" not in not_tried(fuzzed, 2_000)


def test_that_nothing_fails_rests_on_as_much_as_a_cap_does() -> None:
    alone = play(bisect(BisectQuestion(lo=1_000, hi=5_000)), World().answer).finding
    assert (alone.kind, alone.cap) == (FindingKind.NONE, None)
    monotone, between, untried = alone.assumes
    assert monotone == MONOTONE
    assert between.startswith("lengths between those that were sent were not")
    assert untried.endswith("were not tried; `ctxfuzz fuzz --cap 5000` samples them")
    scanned = play(bisect(BisectQuestion(lo=1_000, hi=5_000, scan=8)), World().answer).finding
    assert any(words.endswith("places up to 5000 where engines like to fail passed") for words in scanned.assumes)


def test_a_question_of_an_older_version_was_asked_without_company() -> None:
    plain = BisectQuestion(lo=1, hi=2).to_json()
    del plain["companions"], plain["companion_length"]
    assert BisectQuestion.from_json(plain).companions == 0

"""Is what the user says of `hi` told from what was seen there?"""

from __future__ import annotations

from dataclasses import replace

from fuzzer.finding import Finding, FindingKind
from fuzzer.plans.bisect import BisectQuestion, bisect
from fuzzer.report.summary import Facts, summary
from fuzzer.store import Run, RunRecord
from tests.unit.worlds import Played, World, play, prompt_above

QUESTION = BisectQuestion(lo=1_000, hi=5_041, trust_hi=True)
TAKEN = "hi (5041) was taken as known to fail, not sent"


def run(world: World, question: BisectQuestion = QUESTION) -> Played:
    return play(bisect(question), world.answer)


def shown(finding: Finding, question: BisectQuestion) -> tuple[str, str]:
    record = RunRecord("bisect", (), "http://host", "m", "vllm", "bisect", question=question.to_json())
    row = Run("1m8abc", record, "2026-11-29T17:00:00.000Z", "sre", "box", "0.1.0", "done")
    made = summary(Facts(row, finding, (), 1.0, "runs.db"))
    return made.title, made.tone


def test_a_hi_that_passes_contradicts_the_trust_and_all_say_so() -> None:
    played = run(World())
    assert any(seen.length == 5_041 for seen in played.log)
    finding = played.finding
    assert (finding.kind, finding.verified_up_to) == (FindingKind.NONE, 5_041)
    assert finding.reason == (
        "nothing fails up to 5041 prompt tokens, though hi was taken as known to fail: under these conditions it "
        "passed 9 times"
    )
    title = "Nothing fails up to 5,041 prompt tokens, a length that was taken as known to fail"
    assert shown(finding, QUESTION) == (title, "unsure")
    plain = run(World(), replace(QUESTION, trust_hi=False)).finding
    assert shown(plain, replace(QUESTION, trust_hi=False)) == ("Nothing fails up to 5,041 prompt tokens", "good")


def test_outputs_that_pass_contradict_it_too() -> None:
    question = replace(QUESTION, axis="output")
    finding = run(World(), question).finding
    assert "nothing fails up to 5041 output tokens, though hi was taken as known to fail" in finding.reason
    title = "Nothing fails up to 5,041 output tokens, a length that was taken as known to fail"
    assert shown(finding, question) == (title, "unsure")


def test_a_hi_above_the_limit_is_said_not_to_have_been_sent() -> None:
    finding = run(World(limit=4_096), replace(QUESTION, limit=4_096)).finding
    assert finding.kind is FindingKind.CLEAN_LIMIT
    assert TAKEN in finding.assumes


def test_outputs_that_the_limit_cuts_are_not_those_that_are_known_to_fail() -> None:
    question = replace(QUESTION, axis="output", limit=4_096)
    finding = run(World(limit=4_096), question).finding
    assert (finding.kind, finding.last_good_output) == (FindingKind.NONE, 4_032)
    assert "known to fail" not in finding.reason


def test_a_hi_that_no_death_was_left_for_is_not_said_to_have_failed() -> None:
    finding = run(World(), replace(QUESTION, max_deaths=0)).finding
    assert "(1000 passes, 5041 is taken not to)" in finding.reason
    assert TAKEN in finding.assumes


def test_an_edge_below_hi_leaves_nothing_to_say_of_it() -> None:
    finding = run(World(prompt_above(3_000))).finding
    assert finding.first_bad == 3_001
    assert not any("known to fail" in said for said in finding.assumes)

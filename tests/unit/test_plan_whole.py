"""Does a server that tells its counts in whole answers alone get asked for those, and is what nobody counts told?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fuzzer.finding import FindingKind
from fuzzer.model import Outcome, ProbeSpec, Role
from fuzzer.observation import Observation
from fuzzer.plans.bisect import bisect
from fuzzer.plans.question import BisectQuestion
from fuzzer.plans.single import single
from fuzzer.plans.sweep import SweepQuestion, sweep
from fuzzer.plans.verify import VerifyQuestion, verify
from fuzzer.plans.whole import ASKED_WHOLE, counted, went_whole
from tests.unit.worlds import Played, World, play

if TYPE_CHECKING:
    from fuzzer.plans.whole import Ask

QUESTION = BisectQuestion(lo=1_000, hi=10_000)
CUT = 8_192  # the prompt tokens that are read, whatever is sent


def silent(seen: Observation) -> Observation:
    """The same from an answer without a usage: whatever was cut, it looks whole."""
    if seen.outcome not in {Outcome.PASS, Outcome.TRUNCATED}:
        return seen
    told = replace(seen, outcome=Outcome.PASS, length=seen.sent_tokens, length_source="inferred")
    return replace(told, completion_tokens=None)


def played(ask: Ask, question: object = QUESTION, *, streams: bool = False, whole: bool = True) -> Played:
    """Against a server that cuts prompts: do its streams tell a count, and its whole answers?"""
    world = World(counts=lambda sent: min(sent, CUT))

    def answer(spec: ProbeSpec) -> Observation:
        seen = world.answer(spec)
        return seen if (streams if spec.stream else whole) else silent(seen)

    return play(counted(ask)(question, ()), answer)


def test_where_streams_tell_no_count_whole_answers_find_the_cut() -> None:
    one = played(bisect)
    found = one.finding
    assert (found.kind, found.last_good, found.first_bad) == (FindingKind.TRUNCATED, CUT, CUT + 1)
    assert ASKED_WHOLE in found.assumes
    assert any("and streamed answers were not tried" in said for said in found.assumes)
    assert [seen.spec.stream for seen in one.log[:3]] == [True, False, False]
    assert [seen.spec.role for seen in one.log[:2]] == [Role.BASELINE, Role.BASELINE]
    assert went_whole(one.log)


def test_where_streams_are_counted_nothing_changes() -> None:
    one = played(bisect, streams=True)
    assert (one.finding.last_good, one.finding.kind) == (CUT, FindingKind.TRUNCATED)
    assert all(seen.spec.stream for seen in one.log)
    assert not any("did not tell" in said for said in one.finding.assumes)
    assert not went_whole(one.log)


def test_where_nothing_is_counted_the_finding_says_so() -> None:
    for question in (QUESTION, replace(QUESTION, stream=False)):
        found = played(bisect, question, whole=False).finding
        assert found.kind is FindingKind.NONE
        assert any(said.endswith("prompts may be cut") for said in found.assumes)
        assert ASKED_WHOLE not in found.assumes


def test_other_plans_ask_whole_answers_too() -> None:
    assert played(single, replace(QUESTION, lo=9_000)).finding.kind is FindingKind.TRUNCATED
    swept = played(sweep, SweepQuestion(lengths=(1_000, 9_000)))
    assert swept.finding.kind is FindingKind.TRUNCATED
    assert swept.finding.last_good == 1_000


def test_a_stream_that_a_plan_wants_all_the_same_is_told_as_not_counted() -> None:
    """`verify` sends both kinds, whatever the terms are."""
    world = World(limit=CUT)
    question = VerifyQuestion(cap=CUT, far=2 * CUT)

    def answer(spec: ProbeSpec) -> Observation:
        seen = world.answer(spec)
        return silent(seen) if spec.stream else seen

    finding = play(counted(verify)(question, ()), answer).finding
    assert (finding.kind, finding.cap) == (FindingKind.CLEAN_LIMIT, CUT)
    assert ASKED_WHOLE in finding.assumes
    assert any(said.startswith("1 of ") for said in finding.assumes)


def test_a_run_that_is_replayed_asks_the_same_and_one_that_takes_facts_goes_on() -> None:
    first = played(bisect)
    plan = counted(bisect)(QUESTION, ())
    spec = next(plan)
    for seen in first.log[:-1]:
        assert spec == seen.spec
        spec = plan.send(seen)
    assert spec == first.log[-1].spec
    assert next(counted(bisect)(QUESTION, first.log[:-1])) == first.log[-1].spec


def test_a_death_before_the_first_good_answer_is_not_forgotten() -> None:
    world = World(rule=lambda request: Outcome.DEATH if request.ordinal == 0 and request.prompt < 100 else None)
    deaths = 0

    def answer(spec: ProbeSpec) -> Observation:
        nonlocal deaths
        seen = world.answer(spec)
        deaths += seen.deaths
        return silent(seen) if spec.stream else seen

    finding = play(counted(bisect)(replace(QUESTION, max_deaths=1), ()), answer).finding
    assert (finding.halt, deaths) == ("max-deaths", 1)

"""Does a plan that works through a list ask a lone failure among neighbours again, and is no list too long for it?"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from fuzzer.cli.exits import Exit, exit_of
from fuzzer.finding import FindingKind, Halt
from fuzzer.model import Outcome, ProbeSpec
from fuzzer.observation import Observation
from fuzzer.plans import Plan
from fuzzer.plans.answers import Answers
from fuzzer.plans.fuzz import FuzzQuestion, fuzz
from fuzzer.plans.interruption import MOST_PROBES, stopped
from fuzzer.plans.speed import SpeedQuestion, speed
from fuzzer.plans.sweep import SweepQuestion, sweep
from fuzzer.plans.verify import VerifyQuestion, checks, verify
from tests.unit.worlds import Played, World, play

CAP = 8_192
LONG = 5_000
LENGTHS = (100, LONG, 6_000, 6_500, 7_000, 7_500)
FAILED = re.compile(r": (error|hang|death)\b")
Make = Callable[[int], Plan]

LISTS: dict[str, Make] = {
    "sweep": lambda deaths: sweep(SweepQuestion(lengths=LENGTHS, max_deaths=deaths)),
    "speed": lambda deaths: speed(SpeedQuestion(lengths=LENGTHS, max_deaths=deaths)),
    "verify": lambda deaths: verify(VerifyQuestion(cap=CAP, limit=CAP, far=2 * CAP, max_deaths=deaths)),
}


class Neighbours:
    """Serves others too: of the long prompts, so many first ones fail beside them, and no other does."""

    def __init__(self, failing: int, outcome: Outcome = Outcome.ERROR, *, contended: bool = True) -> None:
        self.world, self.failing, self.outcome, self.contended = (
            World(limit=CAP, style="sum"),
            failing,
            outcome,
            contended,
        )

    def answer(self, spec: ProbeSpec) -> Observation:
        seen = self.world.answer(spec)
        if seen.outcome is not Outcome.PASS or spec.length < LONG or self.failing == 0:
            return seen
        self.failing -= 1
        died = {"deaths": 1, "blames": "this"} if self.outcome is Outcome.DEATH else {}
        return replace(seen, outcome=self.outcome, contended=self.contended, completion_tokens=None, **died)  # type: ignore[arg-type]


class Unlucky:
    """Each long prompt dies the first time that it is sent, beside requests of others."""

    def __init__(self) -> None:
        self.world, self.met = World(limit=CAP, style="sum"), set[int]()

    def answer(self, spec: ProbeSpec) -> Observation:
        seen = self.world.answer(spec)
        if seen.outcome is not Outcome.PASS or spec.length < LONG or spec.length in self.met:
            return seen
        self.met.add(spec.length)
        return replace(seen, outcome=Outcome.DEATH, contended=True, deaths=1, blames="this", completion_tokens=None)


class LateDeath:
    """Dies a while after each long answer: the next probe finds nobody, and nobody is to blame for it."""

    def __init__(self) -> None:
        self.world, self.dead = World(limit=CAP, style="sum"), False

    def answer(self, spec: ProbeSpec) -> Observation:
        seen = self.world.answer(spec)
        if self.dead:
            self.dead = False
            return replace(seen, outcome=Outcome.ABANDONED, reason="refused", deaths=1, blames="nobody")
        self.dead = spec.length >= LONG and seen.outcome is Outcome.PASS
        return seen


World_ = Neighbours | Unlucky | LateDeath


def played(name: str, world: World_, *, deaths: int = 12) -> Played:
    return play(LISTS[name](deaths), world.answer)


def is_well(name: str, found: Played) -> bool:
    """Did it come to its end, with no failure told? (A world has no clock, so a cell of it has no figures.)"""
    kinds = {"verify": FindingKind.CLEAN_LIMIT, "sweep": FindingKind.NONE, "speed": FindingKind.INCONCLUSIVE}
    finding = found.finding
    return (finding.kind, finding.halt) == (kinds[name], None) and not FAILED.search(finding.reason)


@pytest.mark.parametrize("outcome", [Outcome.ERROR, Outcome.HANG, Outcome.DEATH])
@pytest.mark.parametrize("name", LISTS)
def test_one_failure_beside_neighbours_is_asked_again_and_is_no_finding(name: str, outcome: Outcome) -> None:
    found = played(name, Neighbours(1, outcome))
    if (name, outcome) == ("verify", Outcome.DEATH):  # a gate does not call it a neighbour's
        finding = found.finding
        assert (finding.kind, finding.halt, finding.cap) == (FindingKind.INCONCLUSIVE, Halt.NOT_LENGTH, None)
        assert re.search(r"the engine died once at \d+ prompt tokens, among requests of others", finding.reason)
    else:
        assert is_well(name, found)


@pytest.mark.parametrize("name", LISTS)
def test_a_failure_beside_neighbours_that_comes_again_is_one(name: str) -> None:
    found = played(name, Neighbours(2))
    assert not is_well(name, found)
    assert ": error" in found.finding.reason


@pytest.mark.parametrize("name", LISTS)
def test_a_failure_that_nobody_else_can_have_made_counts_at_once(name: str) -> None:
    found = played(name, Neighbours(1, contended=False))
    assert ": error" in found.finding.reason
    assert found.log[-1].outcome is Outcome.ERROR


@pytest.mark.parametrize("name", LISTS)
def test_a_death_beside_neighbours_is_not_asked_for_again_past_the_budget(name: str) -> None:
    found = played(name, Neighbours(2, Outcome.DEATH), deaths=1)
    assert (found.deaths, found.finding.kind, found.finding.halt) == (1, FindingKind.INCONCLUSIVE, Halt.DEATHS)


@pytest.mark.parametrize("name", LISTS)
def test_what_did_not_repeat_is_told(name: str) -> None:
    told = played(name, Neighbours(1, Outcome.HANG)).finding.assumes
    assert any("ended once in hang, among requests of others, and passed when" in words for words in told)
    assert not any("ended once" in words for words in played(name, Neighbours(0)).finding.assumes)


@pytest.mark.parametrize("name", LISTS)
def test_what_is_not_asked_again_is_told(name: str) -> None:
    finding = played(name, Neighbours(1, Outcome.DEATH), deaths=1).finding
    assert "1 death, and --max-deaths is 1" in finding.reason
    assert "among requests of others, and was not asked again" in finding.reason
    assert exit_of(finding) is Exit.INCONCLUSIVE


def test_a_check_that_failed_once_and_was_not_asked_again_is_not_well() -> None:
    question = VerifyQuestion(cap=CAP, limit=CAP, far=2 * CAP, max_deaths=1)
    log = played("verify", Neighbours(1, Outcome.DEATH), deaths=1).log
    assert "failed" in {check.result for check in checks(question, log)}


@pytest.mark.parametrize("shrink_deaths", [0, 10])
def test_what_a_fuzz_met_once_among_neighbours_is_told(shrink_deaths: int) -> None:
    """Where no death may be spent on asking again it is a failure as it was met."""
    question = FuzzQuestion(cap=CAP, most_samples=20, shrink_deaths=shrink_deaths)
    finding = play(fuzz(question), Neighbours(1, Outcome.DEATH).answer).finding
    assert (len(finding.reproducers), finding.kind) == ((0, "none") if shrink_deaths else (1, "death"))
    assert any("ended once in death" in words for words in finding.assumes) is bool(shrink_deaths)


def test_two_deaths_among_neighbours_leave_no_fuzz_well() -> None:
    finding = play(fuzz(FuzzQuestion(cap=CAP, most_samples=20)), Unlucky().answer).finding
    assert (finding.kind, finding.reproducers) == (FindingKind.INCONCLUSIVE, ())
    assert "times, among requests of others" in finding.reason


@pytest.mark.parametrize("world", [LateDeath, Unlucky])
@pytest.mark.parametrize("deaths", [0, 1, 2, 12])
@pytest.mark.parametrize("name", LISTS)
def test_no_list_kills_more_often_than_was_said_before_it(
    name: str, deaths: int, world: type[LateDeath | Unlucky]
) -> None:
    found = played(name, world(), deaths=deaths)
    said = {
        "sweep": SweepQuestion(lengths=LENGTHS, max_deaths=deaths).most_deaths,
        "speed": SpeedQuestion(lengths=LENGTHS, max_deaths=deaths).most_deaths,
        "verify": VerifyQuestion(cap=CAP, limit=CAP, far=2 * CAP, max_deaths=deaths).most_deaths,
    }
    assert found.deaths <= max(1, said[name])
    assert not is_well(name, found) or found.deaths == 0


def test_a_fuzz_is_as_long_as_was_asked() -> None:
    sampled = play(fuzz(FuzzQuestion(cap=CAP, most_samples=MOST_PROBES + 50)), World(limit=CAP, style="sum").answer)
    assert (sampled.finding.kind, sampled.finding.halt) == (FindingKind.NONE, None)


def test_a_list_is_as_long_as_was_asked_and_a_search_is_not() -> None:
    question = SweepQuestion(lengths=(100,))
    answers = Answers([World().answer(question.baseline)] * MOST_PROBES)
    assert stopped(answers, question.max_deaths) is not None
    assert answers.ended(question, MOST_PROBES) is None

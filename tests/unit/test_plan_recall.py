"""Does a cap admit what killed this very build in an earlier run?"""

from __future__ import annotations

import json

import pytest

from fuzzer.finding import FindingKind, Halt
from fuzzer.model import Outcome
from fuzzer.plans.bisect import BisectQuestion, bisect
from fuzzer.plans.verify import VerifyQuestion
from tests.unit.worlds import Played, Rule, World, any_of, play, prompt_above, window

ISLAND = 32_768
EDGE = 50_001
WITH_ISLAND = any_of(prompt_above(EDGE - 1), window(ISLAND, ISLAND))


def played(rule: Rule, *known_bad: int, lo: int = 40_000, **asked: object) -> Played:
    question = BisectQuestion(**{"lo": lo, "hi": 60_000, "limit": 131_072, "known_bad": known_bad, **asked})  # type: ignore[arg-type]
    return play(bisect(question), World(rule=rule, limit=131_072).answer)


def asked_of(run: Played, length: int) -> int:
    return sum(seen.spec.length == length for seen in run.log)


@pytest.mark.parametrize("scan", [0, 20])
@pytest.mark.parametrize(("lo", "hi"), [(50_000, EDGE), (40_000, 60_000)])
def test_no_cap_admits_an_island_below_lo_that_is_on_record(lo: int, hi: int, scan: int) -> None:
    run = played(WITH_ISLAND, ISLAND, EDGE, lo=lo, hi=hi, scan=scan)
    assert (run.finding.last_good, run.finding.first_bad) == (EDGE - 1, EDGE)
    assert run.finding.islands[0][0] == ISLAND
    assert run.finding.cap is None or run.finding.cap <= ISLAND
    assert (run.finding.verified_up_to or 0) < ISLAND


def test_one_death_tells_that_it_still_kills() -> None:
    before = played(prompt_above(EDGE - 1))
    run = played(WITH_ISLAND, ISLAND, EDGE)
    assert asked_of(run, ISLAND) == 1
    assert run.deaths == before.deaths + 1


def test_what_kills_again_is_not_called_open_or_outweighed() -> None:
    run = played(window(ISLAND, ISLAND), ISLAND, hi=131_072)
    assert (run.finding.cap, asked_of(run, ISLAND)) == (None, 1)
    assert f"{ISLAND} killed this build in an earlier run, fails now as well" in run.finding.reason
    assert not any(f"{ISLAND} failed" in said for said in run.finding.assumes)
    spent = played(window(ISLAND, ISLAND), ISLAND, hi=131_072, max_deaths=0)
    assert asked_of(spent, ISLAND) == 0


def test_an_engine_that_was_mended_is_not_capped_for_ever() -> None:
    run = played(prompt_above(EDGE - 1), ISLAND, EDGE)
    assert run.finding.cap == EDGE - 1
    assert asked_of(run, ISLAND) == 9
    assert f"{ISLAND} killed this build in an earlier run, and passes now" in run.finding.assumes
    limit = played(lambda _: None, ISLAND, hi=131_072)
    assert (limit.finding.kind, limit.finding.cap) == (FindingKind.CLEAN_LIMIT, 131_072)


def test_what_is_on_record_above_the_edge_is_not_sent_for_its_own_sake() -> None:
    run = played(prompt_above(EDGE - 1), 55_000)
    assert run.finding.cap == EDGE - 1
    assert asked_of(run, 55_000) == 0
    assert run.log == played(prompt_above(EDGE - 1)).log


@pytest.mark.parametrize("max_deaths", [0, 1, 2])
def test_without_a_death_to_spend_the_record_stands(max_deaths: int) -> None:
    run = played(WITH_ISLAND, ISLAND, EDGE, max_deaths=max_deaths)
    assert asked_of(run, ISLAND) == 0
    assert (run.finding.cap, run.finding.halt, run.deaths) == (None, Halt.DEATHS, max_deaths)
    assert f"{ISLAND} killed this build in an earlier run" in run.finding.reason


def test_a_failure_that_the_engine_lives_through_now_is_one_too() -> None:
    rule = any_of(prompt_above(EDGE - 1), window(ISLAND, ISLAND, Outcome.ERROR))
    run = played(rule, ISLAND)
    assert asked_of(run, ISLAND) == 1
    assert run.finding.cap is None or run.finding.cap <= ISLAND


def test_the_record_is_part_of_the_question() -> None:
    question = BisectQuestion(lo=1, hi=9, known_bad=(4, 7))
    assert BisectQuestion.from_json(json.loads(json.dumps(question.to_json()))) == question


@pytest.mark.parametrize("known_bad", [5, None, "abc", ["a"], [None], [[1]], [["a", "ids", True, ""]], [{"a": 1}]])
def test_a_record_of_others_that_names_no_lengths_names_none(known_bad: object) -> None:
    question = BisectQuestion(lo=40_000, hi=60_000).to_json() | {"known_bad": known_bad}
    assert BisectQuestion.from_json(question).known_bad == ()
    gate = VerifyQuestion(cap=50_000, first_bad=None, far=100_000).to_json() | {"known_bad": known_bad}
    assert VerifyQuestion.from_json(gate).known_bad == ()

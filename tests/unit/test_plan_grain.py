"""Does a cap admit holes that recur with the length, as the blocks of a KV cache do?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fuzzer.finding import FindingKind
from fuzzer.model import Outcome, Role
from fuzzer.plans.bisect import BisectQuestion, bisect, next_step
from fuzzer.plans.cap import cap_of
from fuzzer.plans.forecast import forecast_from
from fuzzer.plans.grain import BESIDE, echo, grain, grain_words, recurring
from fuzzer.plans.ledger import Ledger
from tests.unit.worlds import (
    Played,
    Request,
    Rule,
    World,
    any_of,
    drafts_above,
    play,
    prompt_above,
    total_above,
    window,
)

EDGE = 52_345
PERIODS = (16, 32, 64, 128, 256, 1_024)  # no more than a sixteenth of the ground


def holes(step: int, side: int, outcome: Outcome = Outcome.DEATH) -> Rule:
    """Every length that leaves such a remainder fails, but for the short prompt."""
    return lambda request: outcome if request.prompt > 64 and (request.prompt - side) % step == 0 else None


def asked(rule: Rule, limit: int | None = None, **told: Any) -> Played:
    question = BisectQuestion(**{"lo": 20_003, "hi": 100_000, "limit": limit, **told})
    return play(bisect(question), World(rule, limit=limit, k=3).answer)


def scans(played: Played) -> list[int]:
    return [seen.length for seen in played.log if seen.spec.role is Role.SCAN]


@pytest.mark.parametrize("step", PERIODS)
@pytest.mark.parametrize("side", BESIDE)
@pytest.mark.parametrize("limit", [None, 65_536])
@pytest.mark.parametrize("edge", [EDGE, None])
@pytest.mark.parametrize("max_deaths", [3, 12])
def test_no_cap_admits_holes_that_recur(
    step: int, side: int, limit: int | None, edge: int | None, max_deaths: int
) -> None:
    hole = holes(step, side)
    rule = hole if edge is None else any_of(prompt_above(edge), hole)
    played = asked(rule, limit, max_deaths=max_deaths)
    finding = played.finding
    assert finding.cap is None
    assert finding.kind in {FindingKind.DEATH, FindingKind.INCONCLUSIVE}
    assert played.deaths <= max_deaths


@pytest.mark.parametrize("outcome", [Outcome.DEATH, Outcome.ERROR, Outcome.HANG, Outcome.GARBLED])
def test_two_failures_a_step_apart_are_told_and_end_it(outcome: Outcome) -> None:
    """Nothing else of the world fails, and the engine is not killed for a third time."""
    played = asked(holes(256, 1, outcome), 65_536, suspects=(), lo=60_000)
    finding = played.finding
    failed = [seen.length for seen in played.log if seen.outcome is outcome]
    assert (finding.cap, finding.kind, finding.halt) == (None, FindingKind(outcome.value), None)
    if not finding.first_bad:
        assert len(failed) == 2
        assert f"{min(failed)} and {max(failed)} end in {outcome}" in finding.reason
        assert [first for first, _ in finding.islands] == sorted(failed)


@pytest.mark.parametrize("rule", [prompt_above(EDGE), total_above(EDGE), drafts_above(EDGE), lambda _: None])
def test_ordinary_ground_takes_three_passes_at_most_and_no_death(rule: Rule) -> None:
    played = asked(rule)
    assert 0 < len(scans(played)) <= 3
    assert not [seen for seen in played.log if seen.spec.role is Role.SCAN and seen.deaths]
    good = played.finding.last_good or 0
    assert all(good * 14 // 16 <= length <= good for length in scans(played))


def test_what_the_search_itself_passed_is_not_sent_again() -> None:
    """A suspect, and its neighbours, are of the three remainders."""
    played = asked(prompt_above(65_540), suspects=())
    near = {seen.length for seen in played.log if seen.spec.role is Role.SEARCH and seen.outcome is Outcome.PASS}
    assert {65_536, 65_537} & near
    assert len(scans(played)) < 3


def hole_at(length: int) -> Played:
    return asked(any_of(prompt_above(EDGE), window(length, length)))


def test_a_lone_hole_is_an_island_and_the_cap_is_below_it() -> None:
    middle = scans(asked(prompt_above(EDGE)))[0]
    finding = hole_at(middle).finding
    assert finding.islands == ((middle, middle),)
    assert finding.cap == (middle - 1 - 3) // 16 * 16
    assert finding.last_good == EDGE


def test_a_stray_death_there_costs_no_cap() -> None:
    middle = scans(asked(prompt_above(EDGE)))[0]
    left = [middle]

    def rule(request: Request) -> Outcome | None:
        if request.prompt in left:
            left.clear()
            return Outcome.DEATH
        return prompt_above(EDGE)(request)

    finding = asked(rule).finding
    assert (finding.cap, finding.islands) == (asked(prompt_above(EDGE)).finding.cap, ())
    assert f"the place {middle} failed once" in " ".join(finding.assumes)


def test_a_wide_hole_does_not_recur() -> None:
    middle = scans(asked(prompt_above(EDGE)))[0]
    finding = asked(any_of(prompt_above(EDGE), window(middle - 20_000, middle + 100)), max_deaths=40).finding
    assert "recurs every" not in finding.reason
    assert finding.cap is None or finding.cap <= middle - 20_000


def test_before_the_last_deaths_are_risked_the_ground_is_asked() -> None:
    played = asked(prompt_above(EDGE), max_deaths=1)
    first = next(at for at, seen in enumerate(played.log) if seen.spec.role is Role.SCAN)
    death = next(at for at, seen in enumerate(played.log) if seen.deaths)
    assert first < death
    assert played.finding.cap is not None


def test_without_a_death_to_spend_the_grain_is_not_asked_and_that_is_said() -> None:
    assert scans(asked(prompt_above(EDGE), max_deaths=0)) == []
    question = BisectQuestion(lo=20_003, hi=100_000)
    passed = [seen for seen in asked(prompt_above(EDGE)).log if seen.spec.role is Role.CONFIRM_GOOD]
    assert "were not looked for" in grain_words(Ledger(question, passed), EDGE)


def test_what_was_told_is_said_with_the_cap() -> None:
    finding = asked(prompt_above(EDGE)).finding
    assert any(said.startswith("nothing recurs at a multiple of 2048") for said in finding.assumes)


def test_a_record_that_ended_before_the_grain_is_read_as_it_is() -> None:
    """What was asked before is asked as ever, so an older record goes on just where it stood."""
    played = asked(prompt_above(EDGE))
    question = BisectQuestion(lo=20_003, hi=100_000)
    ledger = Ledger(question)
    older = [seen for seen in played.log if seen.spec.role not in {Role.SCAN, Role.CORNER}]
    for seen in older:
        assert next_step(ledger) == seen.spec
        ledger.take(seen)
    step = next_step(ledger)
    assert step == grain(ledger, EDGE)
    assert (echo(ledger), recurring(ledger)) == (None, None)
    assert forecast_from(ledger).deaths == 0


@pytest.mark.parametrize("of_others", [True, False])
def test_what_may_be_the_doing_of_others_does_not_count_before_it_repeats(of_others: bool) -> None:
    played = asked(any_of(prompt_above(EDGE), holes(256, 0)))
    failed = [seen for seen in played.log if seen.spec.role is Role.SCAN and seen.deaths]
    ledger = Ledger(BisectQuestion(lo=20_003, hi=100_000))
    for seen in played.log:
        ledger.take(replace(seen, contended=of_others) if seen in failed else seen)
    assert len(failed) == 2
    assert (recurring(ledger) is None) == of_others
    assert cap_of(ledger, halted=True) is None


@pytest.mark.parametrize(("step", "side", "lo"), [(64, 1, 21_889), (32, 1, 21_889), (128, 0, 20_480)])
def test_where_lo_lies_in_a_hole_the_short_ground_below_it_is_asked_too(step: int, side: int, lo: int) -> None:
    assert (asked(holes(step, side), 65_536, lo=lo, max_deaths=4).finding.cap or 0) < side + 2 * step

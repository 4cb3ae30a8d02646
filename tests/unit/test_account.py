"""Is an engine that dies again and again while nothing is asked of it waited for until the last death is spent?"""

from __future__ import annotations

from dataclasses import replace

import pytest

from fuzzer.events import EngineDied, Event
from fuzzer.evidence import Canary
from fuzzer.lifetime.account import MOST_ALONE, Account
from fuzzer.lifetime.relapse import Relapse
from fuzzer.lifetime.revival import Revival
from fuzzer.model import Corroboration, Outcome, ProbeSpec, Role
from fuzzer.observation import Observation

ALONE = Relapse(Corroboration.PROVEN, "another process")
OF_A_CANARY = Relapse(Corroboration.PROVEN, "another process", Canary(ok=False, duration_s=0.1, fault="cut"))


class NoJournal:
    """Nothing is kept."""

    def relapsed(self, seen: Observation, relapse: Relapse, *, at_s: float, took_s: float) -> None: ...

    def ended(self, seen: Observation, relapse: Relapse, *, at_s: float) -> None: ...

    def revived(self, seen: Observation, revival: Revival, *, at_s: float) -> None: ...


def account(max_deaths: int = 12) -> Account:
    return Account(NoJournal(), lambda _: None, lambda: 0.0, max_deaths)


def test_lives_that_end_with_nothing_asked_are_not_waited_out() -> None:
    paying = account()
    assert [paying.bury(ALONE, 1.0) for _ in range(MOST_ALONE)] == [True] * (MOST_ALONE - 1) + [False]
    assert (paying.spent, paying.spares()) == (MOST_ALONE, True)


def test_a_canary_in_between_begins_the_count_anew() -> None:
    paying = account()
    assert all(paying.bury(relapse, 1.0) for relapse in (ALONE, ALONE, OF_A_CANARY, ALONE, ALONE))


def test_a_wedge_whose_end_is_seen_is_a_death_that_is_paid_for_once() -> None:
    told: list[Event] = []
    paying = Account(NoJournal(), told.append, lambda: 7.0, 1)
    hung = Observation(
        2, ProbeSpec(300, 8, Role.SEARCH, ""), Outcome.HANG, 300, "inferred", reason="it hung", wedged=True
    )
    paying.charge([hung])
    assert paying.bury(Relapse(Corroboration.PROVEN, "another start", of_wedged=True), 1.0), "it must still come back"
    assert paying.last is not None
    assert (paying.last.outcome, paying.last.deaths, paying.last.relapses) == (Outcome.DEATH, 1, 0)
    assert paying.last.reason == "it hung; then another start"
    assert (paying.spent, paying.last.toll, paying.relapses, paying.alone) == (1, 1, 0, 0)
    assert told == [EngineDied(2, 300, "another start", Corroboration.PROVEN)]


def test_a_wedge_that_met_a_death_before_pays_for_both_once_its_end_is_seen() -> None:
    paying = account()
    spec = ProbeSpec(300, 8, Role.SEARCH, "")
    hung = Observation(2, spec, Outcome.HANG, 300, "inferred", wedged=True, deaths=1, blames="nobody")
    paying.charge([hung])
    paying.bury(Relapse(Corroboration.PROVEN, "another start", of_wedged=True), 1.0)
    assert paying.last is not None
    assert paying.spent == paying.last.toll == 2
    assert paying.last.died_before, "and the one before it is still known to have been another's"


@pytest.mark.parametrize("outcome", list(Outcome))
def test_only_a_hang_has_its_death_in_a_late_end(outcome: Outcome) -> None:
    wedged = Observation(2, ProbeSpec(300, 8, Role.SEARCH, ""), outcome, 300, "inferred", wedged=True)
    assert wedged.ends_late == (outcome is Outcome.HANG)
    assert not replace(wedged, wedged=False).ends_late


def test_the_budget_comes_first() -> None:
    paying = account(max_deaths=2)
    assert [paying.bury(OF_A_CANARY, 1.0) for _ in range(2)] == [True, False]


ANSWERED = Observation(
    2, ProbeSpec(64, 32, Role.BASELINE, ""), Outcome.DEATH, 64, "usage", completion_tokens=32, deaths=1, canaries=1
)
PASSED = replace(ANSWERED, seq=1, outcome=Outcome.PASS, deaths=0)


@pytest.mark.parametrize(
    ("observed", "goes_on"),
    [
        ([ANSWERED], False),
        ([PASSED, ANSWERED], True),  # a canary sang before: these are lives that are too young for one
        ([replace(ANSWERED, completion_tokens=None)], True),  # the probe itself may have been too early
    ],
)
def test_an_engine_that_dies_of_each_canary_is_sent_no_third_one(observed: list[Observation], goes_on: bool) -> None:
    paying = account()
    paying.charge(observed)
    assert [paying.bury(OF_A_CANARY, 1.0) for _ in range(2)] == [True, goes_on]
    assert paying.spares()


def test_lives_that_end_by_themselves_are_not_the_canarys_doing() -> None:
    paying = account()
    paying.charge([ANSWERED])
    assert all(paying.bury(relapse, 1.0) for relapse in (OF_A_CANARY, ALONE, OF_A_CANARY))


@pytest.mark.parametrize(
    ("last", "died_at", "helped_for_s"),
    [
        (replace(ANSWERED, revival_s=30.0), 40.0, None),
        (ANSWERED, 40.0, 0.0),  # a session ended as it had begun to wait
        (replace(ANSWERED, revived=False, revival_s=25.0, relapses=1), 65.0, 25.0),
        (replace(ANSWERED, outcome=Outcome.ABANDONED), 40.0, None),  # nobody saw it die
        (PASSED, None, None),
    ],
)
def test_a_later_session_knows_when_it_died_last_and_for_how_long_it_is_on_its_way(
    last: Observation, died_at: float | None, helped_for_s: float | None
) -> None:
    paying = account()
    paying.charge([replace(last, ended_s=40.0)])
    assert (paying.died_at, paying.helped_for_s()) == (died_at, helped_for_s)


def test_a_later_session_knows_how_long_it_took_to_come_back() -> None:
    paying = account()
    paying.charge(replace(ANSWERED, revival_s=took_s, revived=took_s < 100.0) for took_s in (20.0, 30.0, 1800.0))
    assert paying.longest_revival_s == 30.0


@pytest.mark.parametrize(
    ("last", "open_s"),
    [
        (ANSWERED, 60.0),  # of which an earlier session waited for the first part
        (replace(ANSWERED, outcome=Outcome.ABANDONED), 60.0),
        (replace(ANSWERED, revived=False, revival_s=25.0, cost_s=26.0), 35.0),
        (replace(ANSWERED, revival_s=30.0), 0.0),
        (PASSED, 0.0),
    ],
)
def test_a_wait_that_an_earlier_session_broke_off_is_charged_from_its_beginning(
    last: Observation, open_s: float
) -> None:
    paying = Account(NoJournal(), lambda _: None, lambda: 100.0, 12)
    paying.charge([replace(last, started_s=39.0, ended_s=40.0)])
    assert paying.open_s() == open_s
    assert paying.is_open() == (open_s > 0)

"""Is an engine that dies again and again while nothing is asked of it waited for until the last death is spent?"""

from __future__ import annotations

from dataclasses import replace

import pytest

from fuzzer.account import MOST_ALONE, Account
from fuzzer.evidence import Canary
from fuzzer.model import Corroboration, Observation, Outcome, ProbeSpec, Role
from fuzzer.relapse import Relapse
from fuzzer.revival import Revival

ALONE = Relapse(Corroboration.PROVEN, "another process")
OF_A_CANARY = Relapse(Corroboration.PROVEN, "another process", Canary(ok=False, duration_s=0.1, fault="cut"))


class NoJournal:
    """Nothing is kept."""

    def relapsed(self, seen: Observation, relapse: Relapse, *, at_s: float, took_s: float) -> None: ...

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

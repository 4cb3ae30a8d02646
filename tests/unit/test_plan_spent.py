"""Is what stands in the way told as it was counted: deaths, wedges, relapses?"""

from __future__ import annotations

from dataclasses import replace

import pytest

from fuzzer.finding import Halt
from fuzzer.model import Outcome, ProbeSpec, Role
from fuzzer.observation import Observation
from fuzzer.plans.answers import Answers
from fuzzer.plans.bisect import BisectQuestion
from fuzzer.plans.interruption import spent, stopped
from fuzzer.plans.ledger import Ledger

SPEC = ProbeSpec(length=300, output_tokens=8, role=Role.SEARCH, reason="")
DEATH = Observation(1, SPEC, Outcome.DEATH, 300, "inferred", deaths=1, blames="this")
WEDGE = Observation(2, SPEC, Outcome.HANG, 300, "inferred", wedged=True)


@pytest.mark.parametrize(
    ("seen", "counted"),
    [
        ([DEATH], "1 death, and --max-deaths is 1"),
        ([DEATH, DEATH], "2 deaths, and"),
        ([WEDGE], "1 death (1 of a wedged engine, which only a restart helps), and"),
        ([DEATH.relapsed(2)], "3 deaths (2 as it revived), and"),
        ([WEDGE.relapsed(1)], "2 deaths (1 of a wedged engine, which only a restart helps, 1 as it revived), and"),
    ],
)
def test_deaths_are_told_as_they_were_counted(seen: list[Observation], counted: str) -> None:
    answers = Answers(seen)
    assert spent(answers, 1).startswith(counted)
    assert answers.deaths == sum(one.toll for one in seen)


@pytest.mark.parametrize(("max_deaths", "halt"), [(3, Halt.DEATHS), (4, Halt.LOST)])
def test_an_engine_that_dies_again_and_again_is_not_said_to_be_left_alone(max_deaths: int, halt: Halt) -> None:
    end = stopped(Answers([replace(DEATH.relapsed(2), revived=False)]), max_deaths)
    assert end is not None
    assert end[0] is halt
    assert end[1].startswith("it dies again as it revives: 2 times after 300 tokens")
    assert "supervisor" not in end[1]


@pytest.mark.parametrize(("lost", "advice"), [(DEATH, "Restart=always"), (WEDGE, "--on-death")])
def test_who_does_not_come_back_is_helped_by_what_helps(lost: Observation, advice: str) -> None:
    end = stopped(Answers([replace(lost, revived=False)]), 12)
    assert end is not None
    assert end[0] is Halt.LOST
    assert advice in end[1]


BASELINE = replace(SPEC, length=64, role=Role.BASELINE)
OF_CANARIES = Observation(
    2, BASELINE, Outcome.DEATH, 64, "usage", completion_tokens=8, deaths=3, relapses=2, canaries=3, revived=False,
)  # fmt: skip


def test_what_each_canary_kills_is_not_said_to_have_an_edge() -> None:
    question = BisectQuestion(lo=100, hi=400)
    ledger = Ledger(question, [OF_CANARIES])
    halted = stopped(ledger, max_deaths=12)
    assert halted is not None
    assert (halted[0], "each time of the canary" in halted[1]) == (Halt.LOST, True)
    assert (ledger.deaths, ledger.bounds.first_bad) == (3, None)


@pytest.mark.parametrize("before", [Outcome.PASS, Outcome.REJECTED])
def test_where_a_canary_ever_sang_the_length_is_to_blame(before: Outcome) -> None:
    well = Observation(1, BASELINE, before, 64, "usage", completion_tokens=8)
    late = replace(OF_CANARIES, spec=replace(SPEC, length=300), length=300)
    ledger = Ledger(BisectQuestion(lo=100, hi=400, output_tokens=8), [well, late])
    halted = stopped(ledger, max_deaths=12)
    assert halted is not None
    assert "it dies again as it revives" in halted[1]
    assert ledger.bounds.first_bad == 300

"""Are the ages of a life that has ended, which are worked out once, those that they would be if worked out again?"""

from __future__ import annotations

import pytest

from fuzzer.plans.ages import CLOCKS, QUIET, Life, live_on
from fuzzer.plans.bisect import BisectQuestion, bisect
from fuzzer.plans.ledger import Ledger
from tests.unit.worlds import Rule, World, flaky_above, play, prompt_above, wears_out

QUESTION = BisectQuestion(lo=100, hi=20_000)
CASES = {"edge": prompt_above(9_000), "flaky": flaky_above(9_000, 0.6, 0.02), "wear": wears_out(7)}


@pytest.mark.parametrize("rule", CASES.values(), ids=CASES)
def test_the_ages_of_lives_are_those_of_what_was_seen(rule: Rule) -> None:
    ledger = Ledger(QUESTION)
    anew: list[Life] = []
    for seen in play(bisect(QUESTION), World(rule).answer).log:
        ledger.take(seen)
        anew = [Life()]
        for each in ledger.seen:
            live_on(anew, each)
        assert ledger.lives == anew
        for life, same in zip(ledger.lives, anew, strict=True):
            assert [life.age(clock) for clock, _ in (*CLOCKS, *QUIET)] == [
                clock(same) for clock, _ in (*CLOCKS, *QUIET)
            ]
    assert len(anew) > 2

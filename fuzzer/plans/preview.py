"""Which lengths would be asked first? PURE: the search by what is believed before anything is sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fuzzer.plans.narrowing import belief_of, search_of
from fuzzer.plans.scout import Stages

if TYPE_CHECKING:
    from fuzzer.plans.question import BisectQuestion

STEPS = 8


@dataclass(frozen=True, slots=True)
class Step:
    """A length that is asked if all before it pass: how likely it is to pass, and what comes next if it does not."""

    length: int
    chance: float
    after_failure: int | None


def first_steps(question: BisectQuestion) -> tuple[Step, ...]:
    """The first lengths of the search, as long as each of them passes."""
    ledger = Stages(question).current
    question = ledger.question
    search = search_of(question, ledger.draft_tokens)
    belief = belief_of(question, ledger.draft_tokens)
    low, high = question.start, question.top if question.top_is_trusted else question.top + 1
    steps: list[Step] = []
    while high - low > 1 and len(steps) < STEPS:
        length = search.next(low, high, ledger.search_price)
        after = search.next(low, length, ledger.search_price) if length - low > 1 else None
        steps.append(Step(length, belief.survival(low, high, length), after))
        low = length
    return tuple(steps)

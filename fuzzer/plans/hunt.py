"""Where does a fuzz stand? PURE: the fold of its observations, and how it asks for one that is evidence."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from fuzzer.finding import Halt
from fuzzer.model import Outcome, ProbeSpec, Side, side_of
from fuzzer.observation import Observation
from fuzzer.plans.answers import Answers
from fuzzer.plans.interruption import spent

if TYPE_CHECKING:
    from fuzzer.plans.fuzz import FuzzQuestion
    from fuzzer.plans.samples import Grounds
    from fuzzer.plans.trials import Asking


class Ended(Exception):
    """Why nothing more can be asked."""

    def __init__(self, halt: Halt, why: str) -> None:
        super().__init__(why)
        self.halt, self.why = halt, why


@dataclass(slots=True)
class Hunt:
    """The fold of a fuzz. `life` are the probes that the engine was sent since it was born, `past` those before the
    last failure, in its life; `late` is a failure that came to light one probe after it, and `doubted` one that may be
    such, or nobody's death.
    """

    question: FuzzQuestion
    answers: Answers = field(default_factory=Answers)
    life: list[ProbeSpec] = field(default_factory=list)
    past: list[ProbeSpec] = field(default_factory=list)
    late: Observation | None = None
    doubted: Observation | None = None

    @property
    def grounds(self) -> Grounds:
        return self.question

    @property
    def deaths(self) -> int:
        return self.answers.deaths

    def is_bad(self, seen: Observation) -> bool:
        return side_of(seen.outcome, self.question.fail_on) is Side.BAD

    def take_late(self, *, surely: bool = True) -> Observation | None:
        late = self.late or (None if surely else self.doubted)
        self.late = self.doubted = None
        return late

    def ask(self, spec: ProbeSpec) -> Asking:
        """The answer that is evidence. Raises Ended where there can be none."""
        while True:
            if (end := self.answers.ended(self.question, math.inf)) is not None:
                raise Ended(*end)
            if self.deaths >= self.question.max_deaths:
                raise Ended(Halt.DEATHS, spent(self.answers, self.question.max_deaths))
            seen = yield self.answers.wait() or spec
            self._take(seen)
            if seen.outcome.is_evidence or fell_for_company(seen):
                return seen

    def _take(self, seen: Observation) -> None:
        self.answers.take(replace(seen, outcome=Outcome.ABANDONED) if fell_for_company(seen) else seen)
        self.late = self.answers.late or self.late
        self.doubted = self.answers.doubted or self.doubted
        met = seen.died_before and seen.blames != "this"  # the end of a life that it was no part of
        if met:
            self.past, self.life = self.life[:-1], []
        if seen.outcome.is_evidence:
            self.life.append(seen.spec)
        ended = seen.wedged or bool(seen.deaths and not met)
        if ended or self.is_bad(seen):
            self.past = self.life[:-1]
        if ended:
            self.life = []


def fell_for_company(seen: Observation) -> bool:
    """Did its companions fail by themselves, or were they or it turned away? That says nothing of the probe."""
    kept_out = seen.outcome is Outcome.BUSY or (
        seen.outcome is Outcome.INFRA and not seen.unusable and not seen.several
    )
    return kept_out and bool(seen.spec.companions)

"""How do flags, and what the target says of itself, become a question that a plan can answer?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fuzzer.errors import UsageFault
from fuzzer.plans.bisect import bisect
from fuzzer.plans.question import BisectQuestion
from fuzzer.plans.single import single
from fuzzer.search import Suspect

if TYPE_CHECKING:
    from fuzzer.cli.session import Session
    from fuzzer.model import Observation
    from fuzzer.plans import Plan
    from fuzzer.store import Run

PLANS = {"bisect": bisect, "probe": single}


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and the plan that answers it, by the name under which a run records it."""

    plan_name: str
    question: BisectQuestion

    def to_json(self) -> dict[str, Any]:
        return self.question.to_json()

    def plan(self, facts: Sequence[Observation] = ()) -> Plan:
        return PLANS[self.plan_name](self.question, facts)


def to_bisect(session: Session, asked: Mapping[str, Any], suspects: Sequence[int]) -> BisectQuestion:
    """The question of `bisect`; `asked` are the fields that its own flags fill. Raises UsageFault."""
    named = tuple(Suspect(value, "--suspect") for value in suspects)
    return _question(session, suspects=named, **asked)


def to_probe(session: Session, length: int) -> Asked:
    """The question of `probe`: what does this one length show?"""
    return Asked("probe", _question(session, lo=length, hi=length + 1))


def recorded(run: Run) -> Asked:
    """The question that a run was begun with."""
    return Asked(run.record.plan, BisectQuestion.from_json(run.record.question))


def _question(session: Session, **asked: Any) -> BisectQuestion:  # noqa: ANN401  (fields of the question)
    flags = session.flags
    try:
        return BisectQuestion(
            limit=session.survey.limit,
            largest_prompt_below_limit=session.target.traits.largest_prompt_below_limit,
            output_tokens=flags.output_tokens,
            draft_tokens=flags.draft_tokens,
            max_deaths=flags.max_deaths,
            max_time_s=flags.max_time_s,
            fail_on=flags.fail_on,
            content=flags.content,
            mode=session.mode,
            stream=flags.stream,
            cache=flags.cache,
            **asked,
        )
    except ValueError as error:
        raise UsageFault(f"There is nothing to ask: {error}. Choose --lo and --hi anew.") from None

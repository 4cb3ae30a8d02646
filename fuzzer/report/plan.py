"""How does a bisect read before it is run? PURE: its first lengths, and the suspects that it goes by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fuzzer.plans.narrowing import suspects_of
from fuzzer.plans.preview import first_steps
from fuzzer.plans.scout import Stages
from fuzzer.report.plain import plain
from fuzzer.report.words import tokens

if TYPE_CHECKING:
    from fuzzer.plans.question import BisectQuestion
    from fuzzer.search import Suspect


def plan_object(question: BisectQuestion) -> dict[str, Any]:
    """What `plan --json` adds to the forecast."""
    return {
        "suspects": [{"length": one.value, "name": one.name, "weight": one.weight} for one in _near(question)],
        "first_lengths": [
            {"length": step.length, "chance_to_pass": round(step.chance, 3), "if_it_fails": step.after_failure}
            for step in first_steps(question)
        ],
    }


def as_text(question: BisectQuestion) -> str:
    """A line a length, as long as all pass, and one for the suspects."""
    short = "a short answer" if question.is_turned else "a short prompt"
    lines = [f"{tokens(question.baseline):>12}  {short}, which tells offset, time and k"]
    if question.is_turned:
        lines.insert(0, f"output tokens, after a prompt of {tokens(question.prompt_tokens)}:")
    if not question.trust_lo:
        lines.append(f"{tokens(question.start):>12}  lo")
    for step in first_steps(question):
        then = "the edge is found" if step.after_failure is None else f"{tokens(step.after_failure)} is next"
        lines.append(f"{tokens(step.length):>12}  likely to pass: {step.chance:.0%}; if it does not, {then}")
    named = [f"{tokens(one.value)} ({plain(one.name)})" for one in _near(question)]
    lines.append(f"suspects: {', '.join(named) or 'none between lo and hi'}")
    return "\n".join(lines)


def _near(question: BisectQuestion) -> list[Suspect]:
    """The suspects that an edge between lo and hi may fall on, with what is held beside it."""
    asked = Stages(question).current.question
    highest = asked.top + asked.output_tokens + (asked.draft_tokens or 0)
    return [one for one in suspects_of(asked) if asked.start <= one.value <= highest]

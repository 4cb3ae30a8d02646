"""How does the target do at each of these lengths? PURE: a plan that walks a list, shortest first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from fuzzer.finding import Finding, FindingKind, Halt
from fuzzer.model import Outcome, ProbeSpec, Role, Side, side_of
from fuzzer.observation import Observation
from fuzzer.plans.answers import Answers
from fuzzer.plans.doubt import MOST_OF_A_LIST
from fuzzer.plans.terms import SHORT, Terms
from fuzzer.recommend import confidence_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fuzzer.plans import Plan

Spacing = Literal["log", "linear"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepQuestion(Terms):
    """Lengths are prompt tokens, asked in ascending order, each with every content. `keep_going`: past a failure.

    Raises ValueError where there is no length to ask.
    """

    lengths: tuple[int, ...]
    contents: tuple[str, ...] = ("words",)
    keep_going: bool = False

    def __post_init__(self) -> None:
        if not self.lengths or min(self.lengths) < 1:
            raise ValueError("a sweep needs lengths of 1 token and more")

    @property
    def baseline(self) -> ProbeSpec:
        length = max(1, min(SHORT, min(self.lengths) - 1))
        return self.spec(length, Role.BASELINE, "what a short prompt shows")

    @property
    def most_deaths(self) -> int:
        """The first one ends it, unless told to go on; one that may be nobody's is asked for again."""
        return self.max_deaths if self.keep_going else min(self.max_deaths, MOST_OF_A_LIST)

    @property
    def most_probes(self) -> int:
        return 1 + sum(1 for _ in self.specs())

    def specs(self) -> Iterator[ProbeSpec]:
        """The rows of the table, in the order in which they are asked."""
        for length in sorted(set(self.lengths)):
            for content in self.contents:
                yield self.spec(length, Role.SCAN, "a length of the table", content=content)


def spaced(start: int, stop: int, points: int, spacing: Spacing) -> tuple[int, ...]:
    """So many lengths from `start` to `stop`, both included, evenly or by equal factors; each once."""
    steps = range(points)
    if spacing == "linear":
        return tuple(dict.fromkeys(start + round(step * (stop - start) / (points - 1)) for step in steps))
    return tuple(dict.fromkeys(round(start * (stop / start) ** (step / (points - 1))) for step in steps))


def sweep(question: SweepQuestion, facts: Iterable[Observation] = ()) -> Plan:
    """A plan that fills the table. It recommends no cap: between two lengths anything may happen."""
    answers = Answers(facts, question.fail_on)
    while not isinstance(step := _next_step(question, answers), Finding):
        answers.take((yield step))
    return step


def _next_step(question: SweepQuestion, answers: Answers) -> ProbeSpec | Finding:
    if (end := answers.ended(question, question.most_probes)) is not None:
        return _finding(question, answers, *end)
    return answers.wait() or _opening(question, answers) or _row(question, answers)


def _opening(question: SweepQuestion, answers: Answers) -> ProbeSpec | Finding | None:
    """A short prompt that passes: without one, a failure says nothing about a length."""
    short = answers.to(question.baseline)
    if short is None:
        return question.baseline
    if side_of(short.outcome, question.fail_on) is Side.GOOD:
        return None
    reason = f"even {short.length} tokens do not pass: {short.outcome}: {short.reason}"
    return Finding(FindingKind.NOT_LENGTH, reason, halt=Halt.NOT_LENGTH)


def _row(question: SweepQuestion, answers: Answers) -> ProbeSpec | Finding:
    """The next row of the table, or the finding."""
    for spec in question.specs():
        seen = answers.to(spec)
        if seen is None:
            if _affordable(question, answers, spec):
                return spec
            why = answers.spent(question.max_deaths)
            return _finding(question, answers, Halt.DEATHS, why)
        if side_of(seen.outcome, question.fail_on) is not Side.GOOD and not question.keep_going:
            break
    return _finding(question, answers, None, "")


def _affordable(question: SweepQuestion, answers: Answers, spec: ProbeSpec) -> bool:
    """With the deaths spent, no other row is sent; where none was allowed to begin with, the shortest ones are."""
    if answers.deaths < question.most_deaths:
        return True
    return answers.deaths == 0 and spec.length == min(question.lengths)


def _finding(question: SweepQuestion, answers: Answers, halt: Halt | None, why: str) -> Finding:
    rows = [seen for seen in answers.evidence if seen.spec.role is not Role.BASELINE]
    lowest = next((seen for seen in rows if side_of(seen.outcome, question.fail_on) is not Side.GOOD), None)
    below = [seen for seen in rows if lowest is None or seen.spec.length < lowest.spec.length]
    good = max(below, key=lambda seen: seen.length, default=None)
    refused = lowest is not None and lowest.outcome is Outcome.REJECTED
    if halt is not None:
        kind, reason = FindingKind.INCONCLUSIVE, why
    elif lowest is None:
        kind, reason = FindingKind.NONE, f"all {len(rows)} rows passed"
    else:
        kind = FindingKind.CLEAN_LIMIT if refused else FindingKind(lowest.outcome.value)
        reason = f"{lowest.length} prompt tokens: {lowest.outcome}: {lowest.reason}"
    if halt is None and (lowest is None or refused) and (died := answers.died_in_doubt()) is not None:
        kind, reason = FindingKind.INCONCLUSIVE, f"{reason}; but {died}"
    failed = [seen.length for seen in rows if side_of(seen.outcome, question.fail_on) is Side.BAD]
    passed = [seen.length for seen in rows if side_of(seen.outcome, question.fail_on) is Side.GOOD]
    below_a_pass = sorted({length for length in failed if length < max(passed, default=0)})
    return Finding(
        kind,
        reason,
        last_good=good.length if good else None,
        first_bad=min((length for length in failed if length not in below_a_pass), default=None),
        islands=tuple((length, length) for length in below_a_pass),
        last_good_total=good.total if good else None,
        first_rejected=lowest.length if lowest and refused else None,
        verified_up_to=good.length if good else None,
        confidence=confidence_of(1 if good else 0, 0, 1 if lowest and not refused else 0),
        assumes=("between the lengths of the table nothing was tried", *answers.did_not_repeat()),
        halt=halt,
    )

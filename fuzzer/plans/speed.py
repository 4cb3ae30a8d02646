"""How fast is the target in each of these cells? PURE: a plan that warms each cell up, then takes its figures."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fuzzer.finding import Finding, FindingKind, Halt
from fuzzer.measure.reading import Mark
from fuzzer.measure.speed import Cell, cells, measured
from fuzzer.model import Outcome, ProbeSpec, Role, Side, side_of
from fuzzer.observation import Observation
from fuzzer.plans.answers import Answers
from fuzzer.plans.doubt import MOST_OF_A_LIST
from fuzzer.plans.terms import SHORT, Terms
from fuzzer.recommend import confidence_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fuzzer.plans import Plan

ASSUMES = (
    "what the counters do not tell was not there: without metrics, requests of others are not seen",
    "the first event of an answer carries one token",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedQuestion(Terms):
    """Lengths are prompt tokens; `concurrencies` count the requests in flight, the probe's own among them.

    `repeats` figures are taken from each cell, and three times as many where these scatter.
    Raises ValueError where there is nothing to measure.
    """

    lengths: tuple[int, ...]
    contents: tuple[str, ...] = ("words",)
    concurrencies: tuple[int, ...] = (1,)
    repeats: int = 5

    def __post_init__(self) -> None:
        if not self.lengths or min(self.lengths) < 1:
            raise ValueError("a cell needs a length of 1 token and more")
        if not self.concurrencies or min(self.concurrencies) < 1 or self.repeats < 1:
            raise ValueError("a cell needs 1 request in flight and 1 repeat, or more")
        if not self.stream or self.output_tokens < 2:
            raise ValueError("without a stream of 2 tokens and more there is no decode speed")

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The rows of the table, shortest first, in the order in which they are measured."""
        return tuple(
            Cell(length, content, concurrency, self.cache)
            for length in sorted(set(self.lengths))
            for content in self.contents
            for concurrency in sorted(set(self.concurrencies))
        )

    @property
    def most_deaths(self) -> int:
        """The first one ends it; one that may be nobody's, or a neighbour's, is asked for again."""
        return min(self.max_deaths, MOST_OF_A_LIST)

    @property
    def most_probes(self) -> int:
        """As many as it takes where all goes well."""
        return len(self.contents) + len(self.cells) * (2 + self.repeats)

    def baseline(self, content: str) -> ProbeSpec:
        length = max(1, min(SHORT, min(self.lengths) - 1))
        return self.spec(length, Role.BASELINE, "what a short prompt shows", content=content, cache="cold")

    def probe(self, cell: Cell, role: Role) -> ProbeSpec:
        """A probe of this cell."""
        reason = "until the first-run effect is gone" if role is Role.WARM_UP else "a figure of the table"
        company = (cell.length,) * (cell.concurrency - 1)
        return self.spec(cell.length, role, reason, content=cell.content, cache=cell.cache, companions=company)


def speed(question: SpeedQuestion, facts: Iterable[Observation] = ()) -> Plan:
    """A plan that fills the table. The first probe that fails ends it: what it dies of is for `bisect` to find."""
    answers = Answers(facts, question.fail_on)
    while not isinstance(step := _next_step(question, answers), Finding):
        answers.take((yield step))
    return step


def place_of(question: SpeedQuestion, spec: ProbeSpec, taken: int) -> tuple[int, int]:
    """How far an arm is that is about to send this: its cell, and how many figures it has `taken` there."""
    if spec.role is Role.BASELINE:
        return -1, -1
    return question.cells.index(Cell.of(spec)), taken if spec.role is Role.MEASURE else -1


def _next_step(question: SpeedQuestion, answers: Answers) -> ProbeSpec | Finding:
    if (end := answers.ended(question, question.most_probes)) is not None:
        return _finding(question, answers, *end)
    if (again := answers.wait()) is not None:
        return again
    if (failed := _failed(question, answers)) is not None:
        return _failure(question, answers, failed)
    spec = _next_probe(question, answers)
    if spec is None:
        return _finding(question, answers, None, "")
    if _affordable(question, answers, spec):
        return spec
    why = answers.spent(question.max_deaths)
    return _finding(question, answers, Halt.DEATHS, why)


def _next_probe(question: SpeedQuestion, answers: Answers) -> ProbeSpec | None:
    for content in question.contents:
        short = question.baseline(content)
        if answers.to(short) is None:
            return short
    life = _life(answers)
    for cell in question.cells:
        so_far = measured([seen for seen in answers.evidence if _is_of(seen, cell)], question.repeats)
        if not so_far.wants_more:
            continue
        return question.probe(cell, Role.WARM_UP if so_far.wants_warm_up(life) else Role.MEASURE)
    return None


def _is_of(seen: Observation, cell: Cell) -> bool:
    return seen.spec.role in {Role.WARM_UP, Role.MEASURE} and Cell.of(seen.spec) == cell


def _life(answers: Answers) -> int:
    """Which of its lives the engine is in now."""
    return answers.seen[-1].incarnation + bool(answers.seen[-1].deaths) if answers.seen else 0


def _affordable(question: SpeedQuestion, answers: Answers, spec: ProbeSpec) -> bool:
    """With the deaths spent, nothing more is sent; where none was allowed to begin with, the shortest cells are."""
    if answers.deaths < question.most_deaths:
        return True
    return answers.deaths == 0 and spec.length <= min(question.lengths)


def _failed(question: SpeedQuestion, answers: Answers) -> Observation | None:
    return next((seen for seen in answers.evidence if side_of(seen.outcome, question.fail_on) is not Side.GOOD), None)


def _failure(question: SpeedQuestion, answers: Answers, failed: Observation) -> Finding:
    if failed.spec.role is Role.BASELINE:
        reason = f"even {failed.length} tokens do not pass: {failed.outcome}: {failed.reason}"
        return Finding(FindingKind.NOT_LENGTH, reason, halt=Halt.NOT_LENGTH)
    refused = failed.outcome is Outcome.REJECTED
    below = [seen for seen in answers.evidence if seen is not failed and seen.length < failed.length]
    good = max(below, key=lambda seen: seen.length, default=None)
    kind = FindingKind.CLEAN_LIMIT if refused else FindingKind(failed.outcome.value)
    if not _reliable(question, answers):
        kind = FindingKind.INCONCLUSIVE
    return Finding(
        kind,
        f"{failed.length} prompt tokens: {failed.outcome}: {failed.reason}; {_told(question, answers)}",
        last_good=good.length if good else None,
        first_bad=None if refused else failed.length,
        first_rejected=failed.length if refused else None,
        verified_up_to=good.length if good else None,
        confidence=confidence_of(1 if good else 0, 0, 0 if refused else 1),
        assumes=(*ASSUMES, *answers.did_not_repeat()),
    )


def _finding(question: SpeedQuestion, answers: Answers, halt: Halt | None, why: str) -> Finding:
    found = cells(answers.evidence, question.repeats)
    longest = max((cell.length for cell, figures in found.items() if figures.figures), default=None)
    kind, told = FindingKind.NONE, _told(question, answers)
    if halt is None and not _reliable(question, answers):
        kind, halt = FindingKind.INCONCLUSIVE, _throughout(answers, question)
    elif halt is not None:
        kind = FindingKind.INCONCLUSIVE
    elif (died := answers.died_in_doubt()) is not None:
        kind, told = FindingKind.INCONCLUSIVE, f"{told}; but {died}"
    assumes = (*ASSUMES, *answers.did_not_repeat())
    return Finding(kind, f"{why}; {told}" if why else told, verified_up_to=longest, assumes=assumes, halt=halt)


def _reliable(question: SpeedQuestion, answers: Answers) -> bool:
    """True where some cell has a figure to rely on."""
    return any(figures.reliable for figures in cells(answers.evidence, question.repeats).values())


def _throughout(answers: Answers, question: SpeedQuestion) -> Halt | None:
    """Where no cell has a figure to rely on: whether others are the reason."""
    why: Counter[Mark] = Counter()
    for figures in cells(answers.evidence, question.repeats).values():
        why += figures.left_out
    return Halt.CONTENDED if why[Mark.CONTENDED] else None


def _told(question: SpeedQuestion, answers: Answers) -> str:
    """How much of the table is filled, in words."""
    found = list(cells(answers.evidence, question.repeats).values())
    reliable = sum(figures.reliable for figures in found)
    provisional = sum(figures.provisional for figures in found)
    rest = len(found) - reliable - provisional
    parts = [f"{reliable} of {len(question.cells)} cells have figures"]
    if provisional:
        parts.append(f"{provisional} provisional ones: the first-run effect never went")
    if rest:
        parts.append(f"{rest} none")
    return ", ".join(parts)

"""Do two results of lm-evaluation-harness differ? PURE: reads their counts; `significance` tests them.

Only metrics that are a share of right answers are tested: their value times the number of samples is a whole number.
Where the samples were logged the two are paired item by item, else they are two proportions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from fuzzer.measure.sameness import Verdict
from fuzzer.measure.significance import (
    ALPHA,
    Paired,
    Score,
    holm,
    mcnemar,
    smallest_paired,
    smallest_unpaired,
    two_proportions,
)

MOST_ITEMS: Final = 2**53  # beyond it a float is no count
WHOLE: Final = 1e-6  # how far from a whole number a count may be, for floats that were written and read again


class Test(StrEnum):
    """How two results of a task were compared."""

    __test__ = False  # no test class of pytest's

    PROPORTIONS = "two-proportions"
    PAIRED = "mcnemar-exact"


@dataclass(frozen=True, slots=True)
class Row:
    """One task and metric in both. Shares run from 0 to 1; `smallest` is the least difference that would have been
    seen in four of five such comparisons, `p_holm` the p-value for as many tests as there are rows.
    """

    task: str
    metric: str
    target: Score
    control: Score
    test: Test
    p: float
    smallest: float
    p_holm: float = 1.0
    discordant: tuple[int, int] | None = None

    @property
    def difference(self) -> float:
        return self.target.share - self.control.share

    @property
    def verdict(self) -> Verdict:
        return Verdict.DIFFERENT if self.p_holm < ALPHA else Verdict.SAME


@dataclass(frozen=True, slots=True)
class Evals:
    """All rows, and what cannot be compared, a sentence each."""

    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """One difference is enough; without a row nothing was compared."""
        if not self.rows:
            return Verdict.UNDECIDABLE
        return Verdict.DIFFERENT if any(row.verdict is Verdict.DIFFERENT for row in self.rows) else Verdict.SAME


Results = Mapping[str, Any]
Samples = Mapping[str, Sequence[Mapping[str, Any]]]  # task -> its logged samples


def compare(target: Results, control: Results, ours: Samples, theirs: Samples) -> Evals:
    """The table of two results files. `ours` and `theirs` are the samples that were logged with each, if any.

    Raises ValueError where one of them is no results file of lm-evaluation-harness.
    """
    one, other = scores(target), scores(control)
    rows = [
        _row(task, metric, score, other[task, metric], paired(metric, ours.get(task, ()), theirs.get(task, ())))
        for (task, metric), score in one.items()
        if (task, metric) in other
    ]
    adjusted = holm([row.p for row in rows])
    shown = tuple(replace(row, p_holm=p) for row, p in zip(rows, adjusted, strict=True))
    return Evals(shown, tuple(_notes(target, control, shown)))


def scores(results: Results) -> dict[tuple[str, str], Score]:
    """(task, metric) -> its count, for every metric that counts right answers. Raises ValueError."""
    found, sizes = results.get("results"), results.get("n-samples")
    if not isinstance(found, Mapping) or not isinstance(sizes, Mapping):
        raise ValueError("it has no `results` and `n-samples`, as lm-evaluation-harness 0.4 writes")  # noqa: TRY004
    told = {}
    for task, metrics in found.items():
        size = sizes.get(task)
        items = size.get("effective") if isinstance(size, Mapping) else None
        if not isinstance(items, int) or not 1 <= items <= MOST_ITEMS or not isinstance(metrics, Mapping):
            continue
        for name, value in metrics.items():
            score = _score(name, value, items)
            if score is not None:
                told[str(task), str(name)] = score
    return told


def paired(metric: str, ours: Sequence[Mapping[str, Any]], theirs: Sequence[Mapping[str, Any]]) -> Paired | None:
    """Items that both logs have, with the same question; None where they do not pair off one to one."""
    one, other = _answers(metric, ours), _answers(metric, theirs)
    if not one or one.keys() != other.keys():
        return None
    both = [(one[key], other[key]) for key in one]
    return Paired(len(both), sum(a and not b for a, b in both), sum(b and not a for a, b in both))


def _row(task: str, metric: str, one: Score, other: Score, pairs: Paired | None) -> Row:
    if pairs is None or not (pairs.items == one.items == other.items):
        p, smallest = two_proportions(one, other), smallest_unpaired(one, other)
        return Row(task, metric, one, other, Test.PROPORTIONS, p, smallest)
    parted = (pairs.only_target, pairs.only_control)
    return Row(task, metric, one, other, Test.PAIRED, mcnemar(pairs), smallest_paired(pairs), discordant=parted)


def _score(name: object, value: object, items: int) -> Score | None:
    """A share as a count; None for what is no share of the items (a mean of parts, an error, a perplexity)."""
    if not isinstance(value, int | float) or isinstance(value, bool) or "_stderr" in str(name):
        return None
    right = round(value * items) if 0 <= value <= 1 else -1
    return Score(right, items) if abs(value * items - right) <= WHOLE * items else None


def _answers(metric: str, samples: Sequence[Mapping[str, Any]]) -> dict[tuple[object, ...], bool]:
    """Item -> was it right? Empty where an item comes twice, or where it is not a matter of right and wrong."""
    name, _, sieve = metric.partition(",")
    found: dict[tuple[object, ...], bool] = {}
    for sample in samples:
        if str(sample.get("filter", sieve)) != sieve:
            continue
        key, value = (sample.get("doc_id"), sample.get("doc_hash")), sample.get(name)
        if key in found or not isinstance(value, bool | int | float) or value not in {0, 1}:
            return {}
        found[key] = bool(value)
    return found


def _notes(target: Results, control: Results, rows: Sequence[Row]) -> list[str]:
    """What a reader must know before the p-values: what was left out, and what was not asked alike."""
    notes = []
    for name, whose, there in (("--eval", target, control), ("--eval-control", control, target)):
        alone = sorted(map(str, set(whose["results"]) - set(there["results"])))
        if alone:
            notes.append(f"only {name} has {', '.join(alone)}")
    tested = {row.task for row in rows}
    both = [task for task in target["results"] if task in control["results"]]
    if left := [str(task) for task in both if task not in tested]:
        notes.append(f"no metric counts right answers: {', '.join(left)}")
    for task in both:
        for field, what in (("n-shot", "shots"), ("versions", "version")):
            was, now = (_of(results, field, task) for results in (control, target))
            if was != now:
                notes.append(f"{task}: {what} {now} against {was}: these are two tasks")
    return notes


def _of(results: Results, field: str, task: object) -> object:
    told = results.get(field)
    return told.get(task) if isinstance(told, Mapping) else None

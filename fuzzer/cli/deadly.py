"""Which prompts are on record to have killed this very build? PURE, from what runs.db holds of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

from fuzzer.finding import FindingKind
from fuzzer.model import Role
from fuzzer.plans.question import BisectQuestion
from fuzzer.plans.verify import Deadly, VerifyQuestion
from fuzzer.report.reached import is_of_its_machine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from fuzzer.observation import Observation
    from fuzzer.store import Run
    from fuzzer.store.records import Failure

    Drafts = Callable[[Run], int]


def deadly(failures: Iterable[Failure], runs: Sequence[Run], drafts: Drafts) -> list[Failure]:
    """Those that the engine died of, or was wedged by. `runs`: newest first; `drafts`: how many tokens a run's engine
    drafted at once.

    Those of a run that found them to be not by length say nothing of any; nor does what a later run cleared.
    """
    not_by_length = {run.run for run in runs if run.finding is not None and run.finding.kind is FindingKind.NOT_LENGTH}
    killed = [one for one in failures if kills(one.observation) and one.run not in not_by_length]
    told = {run.run: (at, run) for at, run in enumerate(runs)}
    clearing = [_Clearing.by(run, at) for at, run in enumerate(runs) if _settles(run)] if killed else []
    return [one for one in killed if one.run not in told or not _is_cleared(one, *told[one.run], clearing, drafts)]


def unsettled(question: BisectQuestion, killed: Iterable[Failure], runs: Iterable[Run]) -> list[Failure]:
    """Of those that killed: one of each length that no cap of this question may admit unless it passes now.

    They were asked in the same way. From a run's first_bad on its lowest stands for all.
    """
    edges = {run.run: run.finding.first_bad for run in runs if run.finding is not None}
    alike = sorted((one for one in killed if _is_asked_like(one.observation, question)), key=attrgetter("run"))
    found: dict[int, Failure] = {}
    for name, group in groupby(alike, key=attrgetter("run")):
        for one in _apart(group, edges.get(name)):
            if one.observation.length <= question.top:
                found.setdefault(one.observation.length, one)
    return [found[length] for length in sorted(found)]


def against(run: Run, killed: Iterable[Failure]) -> Failure | None:
    """What another run recorded that speaks against the cap of this one: the shortest that killed, asked in the same
    way, and that the cap admits; None: nothing does. What it asked itself it has weighed.
    """
    finding = run.finding
    if finding is None or finding.cap is None:
        return None
    others = (one for one in killed if one.run != run.run and is_under(one, finding.cap) and _speaks_against(one, run))
    return min(others, key=lambda one: one.observation.length, default=None)


def is_under(failure: Failure, cap: int) -> bool:
    """Does a cap admit it, with its output?"""
    return failure.observation.length + failure.observation.spec.output_tokens <= cap


def _speaks_against(failure: Failure, run: Run) -> bool:
    """Was it asked as the run asks, and is it no older than what the run itself saw of that length?"""
    seen = failure.observation
    match run.record.plan:
        case "bisect":
            question = BisectQuestion.from_json(run.record.question)
            asked_again = seen.length in question.known_bad and failure.at_utc <= run.started_utc
            return not question.is_turned and not asked_again and _is_asked_like(seen, question)
        case "verify":  # which asks in several ways, and under its cap at few lengths
            gate = VerifyQuestion.from_json(run.record.question)
            asked_again = Deadly.of(seen) in gate.known_bad and failure.at_utc <= run.started_utc
            return not asked_again and is_asked_by(gate, seen)
        case _:
            return False


def deed(failure: Failure) -> str:
    """What it did, for a sentence that goes on with whom."""
    seen = failure.observation
    return f"{seen.length} tokens {'killed' if seen.deaths else 'wedged'}"


def kills(seen: Observation) -> bool:
    """Did it cost the engine its life, and by its own doing?"""
    return seen.toll > 0 and seen.blames in {None, "this"}


def is_asked_by(gate: VerifyQuestion, seen: Observation) -> bool:
    """Would a gate ask that length so, in one of the ways in which it asks?"""
    return _is_asked_like(seen, replace(gate, mode=seen.spec.mode, stream=seen.spec.stream))


def _is_asked_like(seen: Observation, question: BisectQuestion | VerifyQuestion) -> bool:
    """Was it asked as the question would ask that length? To ask for less output is no excuse."""
    would = question.spec(seen.length, Role.SEARCH, "")
    asked = replace(seen.spec, length=seen.length, role=Role.SEARCH, reason="", wait_s=0.0)
    return asked.output_tokens <= would.output_tokens and replace(asked, output_tokens=would.output_tokens) == would


def _apart(failures: Iterable[Failure], edge: int | None) -> Iterator[Failure]:
    """Those below the edge that their run found, and the lowest above it."""
    for one in sorted(failures, key=lambda one: one.observation.length):
        yield one
        if edge is not None and one.observation.length >= edge:
            return


@dataclass(frozen=True, slots=True)
class _Clearing:
    """A run that asked again what had killed, and came to a cap. `nth`: its place among all runs, newest first."""

    nth: int
    run: Run
    question: BisectQuestion
    cap: int

    @classmethod
    def by(cls, run: Run, nth: int) -> _Clearing:
        cap = 0 if run.finding is None else run.finding.cap or 0
        return cls(nth, run, BisectQuestion.from_json(run.record.question), cap)

    def clears(self, failure: Failure, nth: int, of: Run) -> bool:
        """Was this failure, of the `nth` run, recorded before, and asked again by this one, whose cap admits it?"""
        length = failure.observation.length
        asked_again = self.nth < nth and length in self.question.known_bad and length < self.cap
        return asked_again and _is_asked_like(failure.observation, self.question) and is_one_place(self.run, of)


def _is_cleared(failure: Failure, nth: int, of: Run, clearing: Iterable[_Clearing], drafts: Drafts) -> bool:
    """By an engine that drafted as much as the one that died, and more of it can only have made it worse."""
    cleared_by = (later.run for later in clearing if later.clears(failure, nth, of))
    return any(drafts(run) >= drafts(of) for run in cleared_by)


def is_one_place(run: Run, other: Run) -> bool:
    """Did both ask the same engine? The `localhost` of another host, whose runs were merged, is another one's."""
    return run.host == other.host or not (is_of_its_machine(run.record.url) or is_of_its_machine(other.record.url))


def _settles(run: Run) -> bool:
    """Not a gate, which asks each length once: it speaks for its own cap alone."""
    asked_again = run.record.plan in {"bisect", "probe"} and run.record.question.get("known_bad")
    return bool(asked_again) and run.finding is not None and run.finding.cap is not None

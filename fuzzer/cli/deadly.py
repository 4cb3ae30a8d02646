"""Which prompts are on record to have killed this very build? PURE, from what runs.db holds of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

from fuzzer.finding import FindingKind
from fuzzer.model import Role
from fuzzer.plans.drafting import drafts_more
from fuzzer.plans.known import Deadly
from fuzzer.plans.question import BisectQuestion
from fuzzer.plans.verify import VerifyQuestion
from fuzzer.report.reached import is_of_its_machine

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from fuzzer.observation import Observation
    from fuzzer.plans.drafting import Drafts
    from fuzzer.store import Run
    from fuzzer.store.records import Failure

    Drafting = Callable[[Run], Drafts]


def deadly(failures: Iterable[Failure], runs: Sequence[Run], drafts: Drafting) -> list[Failure]:
    """Those that the engine died of, or was wedged by. `runs`: newest first; `drafts`: how many tokens a run's engine
    drafted at once.

    Those of a run that found them to be not by length say nothing of any; nor does what a later run cleared.
    """
    not_by_length = {run.run for run in runs if run.finding is not None and run.finding.kind is FindingKind.NOT_LENGTH}
    killed = [one for one in failures if kills(one.observation) and one.run not in not_by_length]
    told = {run.run: (at, run) for at, run in enumerate(runs)}
    clearing = [_Clearing.by(run, at) for at, run in enumerate(runs) if _settles(run)] if killed else []
    return [one for one in killed if one.run not in told or not _is_cleared(one, *told[one.run], clearing, drafts)]


def edges_of(runs: Iterable[Run]) -> dict[str, int]:
    """From where on bad, in prompt tokens, by the runs that looked for one edge: samples meet islands anywhere."""
    return {
        run.run: run.finding.first_bad
        for run in runs
        if run.finding is not None
        and run.finding.first_bad is not None
        and run.record.plan != "fuzz"
        and run.record.question.get("axis") != "output"
    }


def unsettled(question: BisectQuestion, killed: Iterable[Failure], runs: Iterable[Run]) -> list[Failure]:
    """Of those that killed: one of each length that no cap of this question may admit unless it passes now.

    They were asked in the same way. From a run's first_bad on its lowest stands for all.
    """
    alike = (one for one in killed if _is_asked_like(one.observation, question))
    found: dict[int, Failure] = {}
    for one in _standing(alike, edges_of(runs)):
        if one.observation.length <= question.top:
            found.setdefault(one.observation.length, one)
    return [found[length] for length in sorted(found)]


def unsettled_under(gate: VerifyQuestion, killed: Iterable[Failure], runs: Iterable[Run]) -> tuple[Deadly, ...]:
    """The same for a gate: what its cap admits, of each length and way in which it asks, shortest first."""
    ways: dict[tuple[str, bool], list[Failure]] = {}
    for one in killed:
        if _is_of_gate(gate, one):
            ways.setdefault((one.observation.spec.mode, one.observation.spec.stream), []).append(one)
    edges = edges_of(runs)
    found: dict[Deadly, Deadly] = {}
    for way in ways.values():
        for one in _standing(way, edges):
            at = Deadly.of(one.observation, one.run)
            found.setdefault(at._replace(run=""), at)
    return tuple(sorted(found.values()))


def against(run: Run, killed: Iterable[Failure], edges: Mapping[str, int]) -> Failure | None:
    """What another run recorded that speaks against the cap of this one: the shortest that killed, asked in the same
    way, and that the cap admits; None: nothing does. What it asked itself it has weighed. `edges`: of all runs.
    """
    finding = run.finding
    if finding is None or finding.cap is None:
        return None
    others = (one for one in killed if one.run != run.run and is_under(one, finding.cap))
    speaking = (one for one in others if _speaks_against(one, run, edges.get(one.run)))
    return min(speaking, key=lambda one: one.observation.length, default=None)


def seen_since(run: Run, killed: Iterable[Failure]) -> list[Failure]:
    """What other runs recorded since this one began, asked in its way: its question does not know of that."""
    since = [one for one in killed if one.run != run.run and one.at_utc > run.started_utc]
    match run.record.plan:
        case "bisect":
            question = BisectQuestion.from_json(run.record.question)
            return [] if question.is_turned else [one for one in since if _is_asked_like(one.observation, question)]
        case "verify":
            gate = VerifyQuestion.from_json(run.record.question)
            return [one for one in since if _is_of_gate(gate, one)]
        case _:
            return []


def is_under(failure: Failure, cap: int) -> bool:
    """Does a cap admit it, with its output?"""
    return failure.observation.length + failure.observation.spec.output_tokens <= cap


def _speaks_against(failure: Failure, run: Run, edge: int | None) -> bool:
    """Was it asked as the run asks, and is it no older than what the run itself saw of that length, or of the edge
    that it is above?
    """
    seen, is_older = failure.observation, failure.at_utc <= run.started_utc
    match run.record.plan:
        case "bisect":
            question = BisectQuestion.from_json(run.record.question)
            is_settled = is_older and _is_stood_for(seen.length, edge, question.known_bad)
            # what was searched over outputs has a cap of prompts too
            return not is_settled and _is_asked_like(seen, replace(question, axis="prompt"))
        case "verify":  # which asks in several ways, and under its cap at few lengths
            gate = VerifyQuestion.from_json(run.record.question)
            way = (seen.spec.mode, seen.spec.stream)
            asked = [one.length for one in gate.known_bad if (one.mode, one.stream) == way]
            return not (is_older and _is_stood_for(seen.length, edge, asked)) and _is_asked_by(gate, seen)
        case _:
            return False


def _is_stood_for(length: int, edge: int | None, asked: Collection[int]) -> bool:
    """Was it asked, or where the edge that it is above was: what passes there, under a cap that admits both, has moved
    that edge above either?
    """
    return length in asked or (edge is not None and any(edge <= one <= length for one in asked))


def deed(failure: Failure) -> str:
    """What it did, for a sentence that goes on with whom."""
    seen = failure.observation
    return f"{seen.length} tokens {'killed' if seen.deaths else 'wedged'}"


def kills(seen: Observation) -> bool:
    """Did it cost the engine its life, and by its own doing?"""
    return seen.toll > 0 and seen.blames in {None, "this"}


def _is_of_gate(gate: VerifyQuestion, failure: Failure) -> bool:
    """Does its cap admit it, and can it be sent so here?"""
    seen = failure.observation
    return is_under(failure, gate.cap) and seen.spec.mode in gate.modes and _is_asked_by(gate, seen)


def _is_asked_by(gate: VerifyQuestion, seen: Observation) -> bool:
    """Would a gate ask that length so, in one of the ways in which it asks?"""
    return _is_asked_like(seen, replace(gate, mode=seen.spec.mode, stream=seen.spec.stream))


def _is_asked_like(seen: Observation, question: BisectQuestion | VerifyQuestion) -> bool:
    """Was it asked as the question would ask that length? To ask for less output is no excuse."""
    would = question.spec(seen.length, Role.SEARCH, "")
    asked = replace(seen.spec, length=seen.length, role=Role.SEARCH, reason="", wait_s=0.0)
    return asked.output_tokens <= would.output_tokens and replace(asked, output_tokens=would.output_tokens) == would


def _standing(failures: Iterable[Failure], edges: Mapping[str, int]) -> Iterator[Failure]:
    """Of each run those below the edge that it found, and the lowest above it, which stands for all."""
    for name, group in groupby(sorted(failures, key=attrgetter("run")), key=attrgetter("run")):
        for one in sorted(group, key=lambda one: one.observation.length):
            yield one
            if name in edges and one.observation.length >= edges[name]:
                break


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
        length, edge = failure.observation.length, edges_of([of]).get(of.run)
        asked_again = self.nth < nth and length < self.cap and _is_stood_for(length, edge, self.question.known_bad)
        return asked_again and _is_asked_like(failure.observation, self.question) and is_one_place(self.run, of)


def _is_cleared(failure: Failure, nth: int, of: Run, clearing: Iterable[_Clearing], drafts: Drafting) -> bool:
    """By an engine that drafted as much as the one that died, and more of it can only have made it worse."""
    cleared_by = (later.run for later in clearing if later.clears(failure, nth, of))
    return any(not drafts_more(drafts(of), drafts(run)) for run in cleared_by)


def is_one_place(run: Run, other: Run) -> bool:
    """Did both ask the same engine? The `localhost` of another host, whose runs were merged, is another one's."""
    return run.host == other.host or not (is_of_its_machine(run.record.url) or is_of_its_machine(other.record.url))


def _settles(run: Run) -> bool:
    """Not a gate, which asks each length once: it speaks for its own cap alone."""
    asked_again = run.record.plan in {"bisect", "probe"} and run.record.question.get("known_bad")
    return bool(asked_again) and run.finding is not None and run.finding.cap is not None

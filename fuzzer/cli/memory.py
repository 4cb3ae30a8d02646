"""What does runs.db already know of this very build, under the very conditions that are asked for?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fuzzer.model import Note, Role
from fuzzer.plans.question import BisectQuestion
from fuzzer.store import History

if TYPE_CHECKING:
    from fuzzer.cli.session import Session
    from fuzzer.model import ProbeSpec
    from fuzzer.store import Run

CONDITIONS = ("output_tokens", "content", "mode", "stream", "cache")


def remembered(session: Session, question: BisectQuestion) -> tuple[BisectQuestion, list[Note]]:
    """The question with what earlier runs found, and what is to be said about it.

    A recorded failure at `hi` is as good as --trust-hi; a recorded last_good is ground that --max-deaths 0 may cover.
    """
    flags, url, model, version = session.flags, session.target.url, session.survey.model or "", session.survey.version
    if version is None or not flags.db.exists():
        return question, []
    with History.open(flags.db) as history:
        failures = history.known_failures(url, model, version, flags.fail_on)
        runs = [run for run in history.runs(url=url, model=model) if _alike(run, url, model, version, question)]
    notes = []
    at_hi = next((one for one in failures if _same_question(one.observation.spec, question)), None)
    if at_hi is not None and not question.trust_hi:
        outcome = at_hi.observation.outcome
        notes.append(Note(f"hi ({question.hi}) is known to fail: run {at_hi.run} recorded a {outcome}; it is trusted"))
        question = replace(question, trust_hi=True)
    good = [run.finding.last_good for run in runs if run.finding is not None and run.finding.last_good is not None]
    return replace(question, known_good=max(good, default=None)), notes


def _alike(run: Run, url: str, model: str, version: str, question: BisectQuestion) -> bool:
    record = run.record
    same_target = (record.url, record.model, record.engine_version) == (url, model, version)
    return same_target and all(record.question.get(name) == getattr(question, name) for name in CONDITIONS)


def _same_question(spec: ProbeSpec, question: BisectQuestion) -> bool:
    if question.hi is None:
        return False
    return replace(spec, role=Role.SEARCH, reason="") == question.spec(question.hi, Role.SEARCH, "")

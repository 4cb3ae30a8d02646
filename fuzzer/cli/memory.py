"""What does runs.db already know of this very build, under the very conditions that are asked for?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fuzzer.events import Note
from fuzzer.model import FindingKind, Role
from fuzzer.plans.question import BisectQuestion
from fuzzer.store import History

if TYPE_CHECKING:
    from fuzzer.cli.session import Session
    from fuzzer.model import Observation
    from fuzzer.store import Run

PLANS = frozenset({"bisect", "probe"})
CONDITIONS = ("output_tokens", "content", "mode", "stream", "cache")


def remembered(session: Session, question: BisectQuestion) -> tuple[BisectQuestion, list[Note]]:
    """The question with what earlier runs found, and what is to be said about it.

    A failure at `hi` is as good as --trust-hi, what passed is ground that --max-deaths 0 may cover: both only of runs
    that came to an answer.
    """
    flags, url, model, version = session.flags, session.target.url, session.survey.model or "", session.survey.version
    if version is None or not flags.db.exists():
        return question, []
    with History.open(flags.db) as history:
        failures = history.known_failures(url, model, version, flags.fail_on)
        answered = [run for run in history.runs() if _is_answered(run)]
    notes = []
    bad_from = {run.run: run.finding.first_bad for run in answered if run.finding is not None}
    at_hi = next((one for one in failures if _tells(one.observation, question, bad_from.get(one.run))), None)
    if at_hi is not None and not question.trust_hi:
        outcome = at_hi.observation.outcome
        notes.append(Note(f"hi ({question.hi}) is known to fail: run {at_hi.run} recorded a {outcome}; it is trusted"))
        question = replace(question, trust_hi=True)
    alike = [run.finding for run in answered if _alike(run, url, model, version, question)]
    good = [finding.verified_up_to for finding in alike if finding is not None and finding.verified_up_to is not None]
    return replace(question, known_good=max(good, default=None)), notes


def _is_answered(run: Run) -> bool:
    """Did it come to an answer about lengths, by the plans that ask for one length at a time?"""
    finding = run.finding
    if run.record.plan not in PLANS or finding is None or finding.halt is not None:
        return False
    return finding.kind not in {FindingKind.NOT_LENGTH, FindingKind.INCONCLUSIVE}


def _alike(run: Run, url: str, model: str, version: str, question: BisectQuestion) -> bool:
    record = run.record
    was = (record.url, record.model, record.engine_version, record.limit)
    same_target = was == (url, model, version, question.limit)
    return same_target and all(record.question.get(name) == getattr(question, name) for name in CONDITIONS)


def _tells(seen: Observation, question: BisectQuestion, bad_from: int | None) -> bool:
    """Does this failure say that `hi` fails? Not one that others may have caused, or that passes outweighed.

    `bad_from` is the first_bad that its run came to.
    """
    if question.hi is None or seen.contended or bad_from is None or seen.length < bad_from:
        return False
    asked = replace(seen.spec, role=Role.SEARCH, reason="", wait_s=0.0)
    return asked == question.spec(question.hi, Role.SEARCH, "")

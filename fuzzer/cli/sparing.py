"""What does the record of this very build speak against: which caps, and, where no death is allowed, which prompts?"""

from __future__ import annotations

import os
import socket
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from fuzzer.cli.deadly import against, deadly, deed, is_asked_by, is_under
from fuzzer.errors import RunStopped
from fuzzer.plans.verify import Deadly
from fuzzer.report.finding import draft_tokens
from fuzzer.report.reached import is_of_its_machine
from fuzzer.store import History, NothingRecorded

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fuzzer.cli.session import Session
    from fuzzer.plans.verify import VerifyQuestion
    from fuzzer.store import Run
    from fuzzer.store.records import Failure


def contradicted(history: History, run: Run) -> Failure | None:
    """What another run recorded that the cap of this one admits: the shortest that killed; None: nothing."""
    record = run.record
    return against(run, killed(history, record.url, record.model, record.engine_version))


def killed(history: History, url: str, model: str, version: str | None) -> list[Failure]:
    """What killed a build, or wedged it, and was not cleared since."""
    known = history.known_failures(url, model, version)
    return deadly(known, history.runs(), partial(drafts, history)) if known else []


def with_deadly(session: Session, question: VerifyQuestion) -> VerifyQuestion:
    """The question of a gate with what killed this build before, and its cap admits: shortest first."""
    survey = session.survey
    with past(session.flags.db) as history:
        if history is None:
            return question
        known = killed(history, session.target.url, survey.model or "", survey.version)
    seen = [one.observation for one in known if is_under(one, question.cap)]
    alike = {Deadly.of(one) for one in seen if one.spec.mode in question.modes and is_asked_by(question, one)}
    return replace(question, known_bad=tuple(sorted(alike)))


def spare(session: Session, length: int) -> None:
    """Raises RunStopped where no death is allowed, and this build is on record as killed by so many tokens or fewer,
    or as wedged.
    """
    for failure in _feared(session):
        if failure.observation.length <= length:
            raise RunStopped(
                f"With --max-deaths 0, {length} tokens are not sent: run {failure.run} recorded that "
                f"{deed(failure)} this engine. Choose shorter ones, or allow a death."
            )


def spare_under(session: Session, cap: int) -> None:
    """Raises RunStopped where no death is allowed, and this build is on record as killed by what a cap admits."""
    for failure in _feared(session):
        if is_under(failure, cap):
            raise RunStopped(
                f"With --max-deaths 0, what a cap of {cap} admits is not sent: run {failure.run} recorded that "
                f"{deed(failure)} this engine. Choose a lower one, or allow a death."
            )


def _feared(session: Session) -> list[Failure]:
    """What killed this build, or wedged it, where no death is allowed."""
    flags, survey = session.flags, session.survey
    if flags.max_deaths > 0:
        return []
    with past(flags.db) as history:
        if history is None:
            return []
        return killed(history, session.target.url, survey.model or "", survey.version)


@contextmanager
def past(db: Path) -> Iterator[History | None]:
    """What is recorded; None where nothing is yet, also by a run that was killed as it made the file."""
    try:
        history = History.open(db) if os.path.lexists(db) else None
    except NothingRecorded:
        history = None
    with history or nullcontext():
        yield history


def drafts(history: History, run: Run) -> int:
    """How many tokens its engine drafted at once; 0 where nobody told."""
    told = run.record.question.get("draft_tokens")
    return draft_tokens(history.observations(run.run)) or (told if isinstance(told, int) else 0)


def is_of_here(run: Run) -> bool:
    """Is it no `localhost` of another machine, whose runs were merged?"""
    return run.host == socket.gethostname() or not is_of_its_machine(run.record.url)

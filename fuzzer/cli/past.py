"""What is on record, of whose engine, and how much did that draft? Of another machine's `localhost` nothing is ours."""

from __future__ import annotations

import os
import socket
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

from fuzzer.cli.acquaintance import COUNT_DRAFTS
from fuzzer.plans.drafting import drafted_at_once
from fuzzer.report.reached import is_of_its_machine
from fuzzer.store import History, NothingRecorded
from fuzzer.store.errors import Unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fuzzer.cli.session import Session
    from fuzzer.plans.drafting import Drafts
    from fuzzer.store import Run


@contextmanager
def past(db: Path) -> Iterator[History | None]:
    """What is recorded; None where nothing is yet, also by a run that was killed as it made the file."""
    try:
        history = History.open(db) if os.path.lexists(db) else None
    except NothingRecorded:
        history = None
    with history or nullcontext():
        yield history


def drafts(history: History, run: Run) -> Drafts:
    """How many tokens its engine drafted at once. What cannot be read tells of no drafter, and stops nobody."""
    k, counts_drafters = run.record.question.get("draft_tokens"), run.record.engine in COUNT_DRAFTS
    told = k if isinstance(k, int) else None
    try:
        seen = history.observations(run.run)
    except Unreadable:
        seen = []
    return drafted_at_once(seen, told, counts_drafters=counts_drafters)


def has_drafter(session: Session) -> bool | None:
    """Does the engine draft, by its metrics, before anything is asked? None: they do not tell."""
    return session.company.drafts if session.survey.engine in COUNT_DRAFTS else None


def is_of_here(run: Run) -> bool:
    """Is it no `localhost` of another machine, whose runs were merged?"""
    return run.host == socket.gethostname() or not is_of_its_machine(run.record.url)

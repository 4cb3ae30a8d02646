"""What does the record of this very build speak against: which caps, and, where no death is allowed, which prompts?"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from fuzzer.cli.deadly import against, deadly, deed, edges_of, is_under, seen_since, unsettled_under
from fuzzer.cli.past import drafts, past
from fuzzer.errors import RunStopped
from fuzzer.plans.verify import VerifyQuestion

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fuzzer.cli.questions import Question
    from fuzzer.cli.session import Session
    from fuzzer.store import History, Run
    from fuzzer.store.records import Failure

MOST_ASKED_AGAIN: Final = 24  # lengths that a gate asks for what earlier runs say of them


def contradicted(history: History, run: Run) -> Failure | None:
    """What another run recorded that the cap of this one admits: the shortest that killed; None: nothing."""
    record = run.record
    known = killed(history, record.url, record.model, record.engine_version)
    return against(run, known, edges_of(history.runs())) if known else None


def last_that_holds(history: History, runs: Iterable[Run]) -> Run | None:
    """The first of these runs of one build, newest first, that nothing on record speaks against."""
    known: list[Failure] | None = None
    edges = edges_of(history.runs())
    for run in runs:
        if known is None:
            known = killed(history, run.record.url, run.record.model, run.record.engine_version)
        if against(run, known, edges) is None:
            return run
    return None


def killed(history: History, url: str, model: str, version: str | None) -> list[Failure]:
    """What killed a build, or wedged it, and was not cleared since."""
    known = history.known_failures(url, model, version)
    if not known:
        return []
    runs = history.runs()
    by_name = {run.run: run for run in runs}
    drafts_of = cache(lambda name: drafts(history, by_name[name]))
    return deadly(known, runs, lambda run: drafts_of(run.run))


def with_deadly(session: Session, question: VerifyQuestion) -> VerifyQuestion:
    """The question of a gate with what killed this build before, and its cap admits: shortest first.

    Raises RunStopped where that is more than a gate asks: unasked, `recommend` would refuse what the gate lets pass.
    """
    with past(session.flags.db) as history:
        if history is None:
            return question
        known = _killed_here(session, history)
        unsettled = unsettled_under(question, known, history.runs() if known else ())
    if len(unsettled) > MOST_ASKED_AGAIN:
        raise RunStopped(
            f"What a cap of {question.cap} admits killed this build at {len(unsettled)} lengths on record, and a gate "
            f"asks {MOST_ASKED_AGAIN} of them again at most. Bisect with this database: that asks each."
        )
    return replace(question, known_bad=unsettled)


def asked_again(question: Question) -> list[str]:
    """Sentences: what a gate asks first for what earlier runs saw of it."""
    known = question.known_bad if isinstance(question, VerifyQuestion) else ()
    return [
        f"run {one.run} recorded that {one.length} tokens killed this build: it is asked before the cap is"
        for one in known
    ]


def spare(session: Session, length: int, *, of: str = "") -> None:
    """Raises RunStopped where no death is allowed, and this build is on record as killed by so many tokens or fewer,
    or as wedged; but what run `of` saw itself it has weighed.
    """
    for failure in _feared(session, of):
        if failure.observation.length <= length:
            raise RunStopped(
                f"With --max-deaths 0, {length} tokens are not sent: run {failure.run} recorded that "
                f"{deed(failure)} this engine. Choose shorter ones, or allow a death."
            )


def spare_under(session: Session, cap: int, *, of: str = "") -> None:
    """Raises RunStopped where no death is allowed, and this build is on record as killed by what a cap admits."""
    for failure in _feared(session, of):
        if is_under(failure, cap):
            raise RunStopped(
                f"With --max-deaths 0, what a cap of {cap} admits is not sent: run {failure.run} recorded that "
                f"{deed(failure)} this engine. Choose a lower one, or allow a death."
            )


def heed(session: Session, run: Run) -> list[Failure]:
    """What other runs saw kill this build since a bisect that goes on began: it is to ask that too.

    Raises RunStopped where a gate would hold over such a length, and where no death is allowed and one is on record.
    """
    _spare_again(session, run)
    with past(session.flags.db) as history:
        since = [] if history is None else seen_since(run, _killed_here(session, history))
    if since and run.record.plan == "verify":
        raise RunStopped(
            f"Run {since[0].run} recorded, since run {run.run} began, that {deed(since[0])} this build, and this gate "
            "would not ask that. Begin a new one: it asks it first."
        )
    return since


def _spare_again(session: Session, run: Run) -> None:
    asked: Mapping[str, Any] = run.record.question
    if run.record.plan == "verify":
        spare_under(session, asked["cap"], of=run.run)
    elif asked.get("axis") != "output":
        lengths = asked.get("lengths") or ()
        listed = (max if run.record.plan == "same" else min)(lengths, default=0)  # a comparison sends each of them
        longest = max(asked.get("lo", 0), asked.get("known_good") or 0, listed)
        spare(session, longest, of=run.run)


def _feared(session: Session, but: str) -> list[Failure]:
    """What killed this build, or wedged it, where no death is allowed."""
    if session.flags.max_deaths > 0:
        return []
    with past(session.flags.db) as history:
        known = [] if history is None else _killed_here(session, history)
    return [one for one in known if one.run != but]


def _killed_here(session: Session, history: History) -> list[Failure]:
    return killed(history, session.target.url, session.survey.model or "", session.survey.version)

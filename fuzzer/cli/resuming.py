"""What is left to be asked of a recorded run, and how does it go on? On the terms on which it was begun.

Its controls are runs of their own, but part of it: whatever is left of them is asked too, and what is printed, and left
with, is the run's own result.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Never

from fuzzer.cli import attribution, comparing, conduct, measuring, memory, provenance, questions, sparing
from fuzzer.cli.common import ADDRESSES, CommonFlags, flag_of, withheld
from fuzzer.cli.session import Result
from fuzzer.errors import Interrupted, UsageFault
from fuzzer.plans.question import BisectQuestion
from fuzzer.report.plain import plain
from fuzzer.report.reached import is_as_kept
from fuzzer.store import History
from fuzzer.store.masking import masked_url

if TYPE_CHECKING:
    from pathlib import Path

    import anyio

    from fuzzer.cli import session
    from fuzzer.cli.watching import Listeners
    from fuzzer.store import Run


@dataclass(frozen=True, slots=True)
class Left:
    """What is left of the run that was `named`: `run`, itself or one of its controls, and controls never asked.

    `ended` is its own result, where only controls are left.
    """

    named: Run
    run: Run
    unasked: list[tuple[str, str]]
    ended: Result | None


def resume(name: str, db: Path, given: Mapping[str, Any]) -> Never:
    """Go on with a recorded run, or else with a control of it, and leave.

    Raises UsageFault where all have ended, StoreError where there is none.
    """
    with History.open(db) as history:
        left = _left_of(name, history)
        named, run = left.named, left.run
        asked = questions.recorded(run)
        provenance.require_own_controls(named, history, given)
        flags = _as_begun(run, history, db, given)
    provenance.tell_commands(flags, given)

    async def drive(opened: session.Session, listeners: Listeners, stop: anyio.Event) -> conduct.Ending:
        since = [] if run.status == "done" else sparing.heed(opened, run)
        if measuring.controls_of(run) and left.ended is None:
            return await measuring.resumed(opened, run, listeners, stop)
        result = left.ended
        if run.status != "done":
            question, notes = memory.with_deaths(asked.question, since)
            for note in notes:
                conduct.tell(listeners, note)
            going_on = replace(asked, question=question)
            gone_on = await opened.resume(run, going_on, conduct.followed(question, listeners), stop)
            result = result or gone_on
        assert result is not None, "a run that has ended was left with its result"
        await attribution.ask_controls(flags, left.unasked, result, listeners, stop)
        if run.run == named.run:
            await comparing.ask_control(opened, result, listeners, stop)
        return result

    ending = conduct.ended(flags, drive)
    if isinstance(ending, Interrupted) and not ending.run:  # before the run went on
        ending = Interrupted(named.run)
    question = questions.recorded(named).question
    conduct.conclude(flags, ending, question.require if isinstance(question, BisectQuestion) else None)


def _left_of(name: str, history: History) -> Left:
    """Raises UsageFault where nothing is."""
    named = history.trusted(name)
    asked = attribution.asked_of(history, named)
    ended = None
    if named.status == "done" and named.finding is not None:
        ended = Result(named.finding, named, history.observations(named.run), history.active_s(named.run))
    unasked = [(name, url) for name, url in attribution.controls_of(named) if name not in asked]
    run = next((one for one in (named, *asked.values()) if one.status != "done"), named)
    if ended is not None and run.status == "done":
        waits = unasked if attribution.edge_of(ended.finding) is not None else []
        if not waits and not comparing.is_unasked(ended, asked):
            raise UsageFault(f"Run {run.run} has ended: there is nothing to go on with. See it: ctxfuzz show {run.run}")
    return Left(named, run if run is named else history.trusted(run.run), unasked, ended)


def _as_begun(run: Run, history: History, db: Path, given: Mapping[str, Any]) -> CommonFlags:
    """The flags that a run goes on with. Raises UsageFault where the record cannot give all of them, or may not."""
    lost = [name for name in withheld(run.record.settings) if given[name] is None]
    if lost:
        named = " and ".join(map(flag_of, lost))
        raise UsageFault(
            f"Run {run.run} was begun with a secret in {named}, and the record keeps none: add {named} to this command."
        )
    if unsaid := provenance.unsaid(run, history, given):
        raise provenance.refusal(run, unsaid)
    provenance.require_headers(run, given)
    said = {name: url for name in ADDRESSES if (url := given[name]) is not None}
    begun = {"url": run.record.url, **run.record.settings}
    for name, url in said.items():
        was = str(begun.get(name))
        if masked_url(url).rstrip("/") != was.rstrip("/") and not is_as_kept(url, was):
            raise UsageFault(
                f"Run {run.run} was begun with another {flag_of(name)}, {plain(was, 400)}: give it as it was, with its "
                "secret if it had one, or begin a new run."
            )
    others = {name: value for name, value in given.items() if name not in ADDRESSES}
    return replace(CommonFlags(url="", db=db, **others).restored(begun), **said)

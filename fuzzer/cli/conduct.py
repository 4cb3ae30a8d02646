"""How is one question driven from the command line: who watches, what does a signal do, what is printed at the end?"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Never

import anyio
import click

from fuzzer.cli import (
    attribution,
    comparing,
    concluding,
    measuring,
    memory,
    opening,
    questions,
    results,
    session,
    sparing,
)
from fuzzer.cli.bracketing import Bracketing
from fuzzer.cli.common import CommonFlags, names_of
from fuzzer.cli.exits import Exit
from fuzzer.cli.faults import OF_CLICK, sole, told
from fuzzer.cli.sending import either_way
from fuzzer.cli.signals import stop_on_signals
from fuzzer.cli.streams import say
from fuzzer.cli.watching import watching
from fuzzer.errors import Interrupted, UsageFault
from fuzzer.events import Note
from fuzzer.plans.forecast import Forecast, forecast
from fuzzer.plans.question import BisectQuestion
from fuzzer.report.reached import header_flags
from fuzzer.report.verify import JUNIT
from fuzzer.report.words import in_database

if TYPE_CHECKING:
    from pathlib import Path

    from fuzzer.cli.watching import Listeners
    from fuzzer.plans.fuzz import FuzzQuestion
    from fuzzer.plans.same import SameQuestion
    from fuzzer.plans.sweep import SweepQuestion
    from fuzzer.plans.verify import VerifyQuestion
    from fuzzer.search import Suspect

SINGLE = Forecast(probes=2, deaths=1, seconds=None)


@dataclass(frozen=True, slots=True)
class Ahead:
    """What a dry run ends with. `at_most`: deaths that the limits allow."""

    forecast: Forecast
    at_most: int


Ending = session.Result | Interrupted | Ahead
Drive = Callable[[session.Session, "Listeners", anyio.Event], Awaitable[Ending]]


def bisect(
    flags: CommonFlags, asked: Mapping[str, Any], suspects: Sequence[Suspect], controls: Sequence[tuple[str, str]]
) -> Never:
    """Find the edge, and leave. Raises UsageFault where there is nothing between lo and hi."""
    if asked["hi"] <= asked["lo"]:
        raise UsageFault(f"--hi ({asked['hi']}) is not above --lo ({asked['lo']}): swap them, or raise --hi.")
    conclude(flags, ended(flags, either_way(bisecting(asked, suspects, controls))), asked["require"])


def bisecting(
    asked: Mapping[str, Any], suspects: Sequence[Suspect] = (), controls: Sequence[tuple[str, str]] = ()
) -> Drive:
    """How a bisect is driven; `asked` are the fields of its question that its own flags fill."""

    async def drive(opened: session.Session, listeners: Listeners, stop: anyio.Event) -> Ending:
        question, notes = memory.remembered(opened, questions.to_bisect(opened, asked, suspects))
        for note in notes:
            tell(listeners, note)
        if opened.flags.dry_run:
            return Ahead(forecast(question), question.max_deaths)
        await attribution.reached(opened.flags, controls)
        result = await opened.run(
            "bisect",
            questions.Asked("bisect", question),
            followed(question, listeners),
            stop,
            notes={attribution.CONTROLS: [list(control) for control in controls]} if controls else {},
        )
        await attribution.ask_controls(opened.flags, controls, result, listeners, stop)
        return result

    return drive


def listed(
    flags: CommonFlags,
    command: str,
    question: Callable[[session.Session], FuzzQuestion | SweepQuestion | VerifyQuestion],
    *,
    junit: Path | None = None,
) -> Never:
    """Work through a list of probes, and leave. `junit` is on record: whoever goes on with the run writes it too."""
    notes = {} if junit is None else {JUNIT: str(junit.absolute())}

    async def drive(opened: session.Session, listeners: Listeners, stop: anyio.Event) -> Ending:
        asked = question(opened)
        for text in sparing.asked_again(asked):
            tell(listeners, Note(text))
        if flags.dry_run:
            return Ahead(Forecast(asked.most_probes, min(asked.most_deaths, 1), None), asked.most_deaths)
        return await opened.run(command, questions.Asked(command, asked), listeners, stop, notes=notes)

    conclude(flags, ended(flags, either_way(drive)), junit=junit)


def measured(flags: CommonFlags, question: measuring.Ask, controls: Sequence[tuple[str, str]]) -> Never:
    """Measure the target and its controls in turns, and leave."""

    async def drive(opened: session.Session, listeners: Listeners, stop: anyio.Event) -> Ending:
        if flags.dry_run:
            asked, arms = question(opened), 1 + len(controls)
            return Ahead(Forecast(asked.most_probes * arms, 0, None), asked.most_deaths * arms)
        return await measuring.side_by_side(opened, question, controls, listeners, stop)

    conclude(flags, ended(flags, either_way(drive)))


def compared(
    flags: CommonFlags, question: Callable[[session.Session], SameQuestion], control: tuple[str, str]
) -> Never:
    """Ask the target and its control the very same, and leave."""
    flags = flags.seeded()  # one seed for both: the prompts are drawn from it

    async def drive(opened: session.Session, listeners: Listeners, stop: anyio.Event) -> Ending:
        asked = question(opened)
        if flags.dry_run:
            return Ahead(Forecast(2 * asked.most_probes, 0, None), 2 * asked.most_deaths)
        return await comparing.compared(opened, asked, control, listeners, stop)

    conclude(flags, ended(flags, either_way(drive)))


def probe(flags: CommonFlags, length: int) -> Never:
    """Ask one length, and leave."""

    async def drive(opened: session.Session, listeners: Listeners, stop: anyio.Event) -> Ending:
        asked = questions.to_probe(opened, length)
        if flags.dry_run:
            return Ahead(SINGLE, flags.max_deaths)
        return await opened.run("probe", asked, listeners, stop)

    conclude(flags, ended(flags, either_way(drive)))


def ended(flags: CommonFlags, drive: Drive) -> Ending:
    """What driving it ended with."""
    with faults_for_programs(flags):
        return anyio.run(watched, flags, drive)


@contextmanager
def faults_for_programs(flags: CommonFlags) -> Iterator[None]:
    """A fault, or a bug, is told on stdout too where a program reads that: with `--json`."""
    try:
        yield
    except Exception as error:
        if flags.json and not isinstance(error, OF_CLICK):
            results.emit_fault(*told(sole(error)))
        raise


async def watched(flags: CommonFlags, drive: Drive) -> Ending:
    """Connect and drive, with somebody watching it and with signals that end it well."""
    with watching(flags) as listeners:

        def notice(text: str) -> None:
            tell(listeners, Note(text, level="warning"))

        async with stop_on_signals(notice) as stop:
            try:
                async with opening.opened(flags, stop=stop) as opened:
                    return await drive(opened, listeners, stop)
            except Interrupted as interrupted:
                return interrupted


def followed(question: questions.Question, listeners: Listeners) -> Listeners:
    """The listeners of a bisect: they are told the bracket too. Where nobody listens, nobody reckons."""
    if not listeners or not isinstance(question, BisectQuestion):
        return listeners
    return (*listeners, Bracketing(question, listeners))


def tell(listeners: Listeners, note: Note) -> None:
    for listener in listeners:
        listener(note)


def conclude(
    flags: CommonFlags,
    ending: Ending,
    require: int | None = None,
    *,
    next_: Sequence[str] = (),
    junit: Path | None = None,
) -> Never:
    """Print what it ended with, and leave with its exit code. `next_`: commands to name instead of the usual ones."""
    match ending:
        case session.Result():
            code = concluding.conclude(flags, ending, require, next_=next_, junit=junit)
        case Ahead(ahead, at_most):
            results.emit_forecast(ahead, at_most, as_json=flags.json)
            code = Exit.ANSWERED
        case Interrupted(run=name):
            resume = f"ctxfuzz resume {name}{header_flags(names_of(flags.headers))}{in_database(str(flags.db))}"
            kept = f"every probe so far is kept. Go on with: {resume}"
            words = f"Interrupted; {kept if name else 'no run had begun.'}"
            code = Exit.INTERRUPTED
            say(words)
            if flags.json:
                results.emit_fault(words, code)
    raise click.exceptions.Exit(code)

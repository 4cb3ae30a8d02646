"""How is an engine looked over from the command line? Connects, looks, asks one length over the limit if told to."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Never

import anyio
import click

from fuzzer.before import inspector
from fuzzer.before.inspection import Beyond, Facts, Inspection, conclude
from fuzzer.cli import conduct, opening, questions, results, session
from fuzzer.cli.exits import Exit
from fuzzer.cli.secrecy import hidden
from fuzzer.cli.signals import stop_on_signals
from fuzzer.cli.streams import emit, say
from fuzzer.cli.watching import console, is_dumb, watching
from fuzzer.errors import Interrupted, UsageFault
from fuzzer.events import Note
from fuzzer.model import Role, Settings
from fuzzer.prompts import PromptSource
from fuzzer.report import inspection
from fuzzer.rig import Rig
from fuzzer.watch import scrape

if TYPE_CHECKING:
    from fuzzer.cli.common import CommonFlags
    from fuzzer.cli.watching import Listeners
    from fuzzer.observation import Observation


def inspect(flags: CommonFlags, *, probe_limit: bool) -> Never:
    """Look, print, and leave. Raises UsageFault where there is no limit to go beyond."""
    try:
        with conduct.faults_for_programs(flags):
            seen = anyio.run(_watched, flags, probe_limit)
    except Interrupted:
        words = "Interrupted; nothing was concluded."
        say(words)
        if flags.json:
            results.emit_fault(words, Exit.INTERRUPTED)
        raise click.exceptions.Exit(Exit.INTERRUPTED) from None
    if flags.json:
        results.emit_json(inspection.inspection_object(seen))
    elif sys.stdout.isatty() and not is_dumb():
        from fuzzer.console.panel import show_rows  # noqa: PLC0415  (rich only where it is seen)

        show_rows(console(sys.stdout), [(label, hidden(text)) for label, text in inspection.rows(seen)])
    else:
        emit(inspection.as_text(seen))
    raise click.exceptions.Exit(Exit.ANSWERED)


async def _watched(flags: CommonFlags, probe_limit: bool) -> Inspection:  # noqa: FBT001  (anyio.run's arguments)
    with watching(flags) as listeners:

        def notice(text: str) -> None:
            for listener in listeners:
                listener(Note(text, level="warning"))

        async with stop_on_signals(notice) as stop:
            return await _look(flags, listeners, stop, probe_limit=probe_limit)


async def _look(flags: CommonFlags, listeners: Listeners, stop: anyio.Event, *, probe_limit: bool) -> Inspection:
    """Company is a fact here and no obstacle; only the request over the limit may do harm."""
    async with opening.opened(replace(flags, allow_busy=True, allow_replicas=True), stop=stop) as opened:
        facts = Facts(opened.target.url, opened.survey, opened.company)
        if not flags.dry_run:
            rig = await _rig(opened)
            facts = replace(
                facts, health=await inspector.idle_health(rig), tries=await inspector.tries(rig, opened.mode)
            )
            if stop.is_set():
                raise Interrupted("")
        facts = replace(facts, scrape=await scrape(opened.target))
        if probe_limit and not flags.dry_run:
            facts = replace(facts, beyond=await _beyond(replace(opened, flags=flags), listeners, stop))
        return conclude(facts)


async def _rig(opened: session.Session) -> Rig:
    tokenize = opened.target.tokenize if opened.survey.has_tokenize else None
    prompts = await PromptSource.open(tokenizer=opened.flags.tokenizer, tokenize=tokenize)
    return Rig(opened.target, prompts, Settings(seed=opened.flags.seeded().seed or 0), opened.survey.limit)


async def _beyond(opened: session.Session, listeners: Listeners, stop: anyio.Event) -> Beyond:
    """One prompt of limit + 1 tokens, recorded like any probe. Raises UsageFault."""
    limit = opened.survey.limit
    if limit is None:
        raise UsageFault("The target names no limit: there is nothing for --probe-limit to go beyond.")
    if opened.flags.max_deaths == 0:
        raise UsageFault(
            "A prompt over the limit may kill, and --max-deaths is 0: leave out --probe-limit, or allow one."
        )
    if opened.company.traffic and not opened.flags.allow_busy:
        raise UsageFault(
            f"The target is serving somebody else ({opened.company.traffic}): --probe-limit may kill it. "
            "Take it out of rotation, or pass --allow-busy."
        )
    ended = await opened.run("probe", questions.to_probe(opened, limit + 1), listeners, stop)
    seen = _the_one(ended.observations)
    return Beyond(limit + 1, str(seen.outcome), seen.reason, seen.refusal_limit)


def _the_one(observations: Sequence[Observation]) -> Observation:
    return next(seen for seen in reversed(observations) if seen.spec.role is Role.SINGLE)

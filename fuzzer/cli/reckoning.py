"""How is a capacity found from the command line? Connects to target and controls, reads, records, prints."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, Never

import anyio
import click

from fuzzer.cli import attribution, opening, results, session
from fuzzer.cli.conduct import faults_for_programs
from fuzzer.cli.exits import exit_of
from fuzzer.cli.streams import emit
from fuzzer.finding import Finding, FindingKind
from fuzzer.measure.capacity import Capacity, Pool, pool_of
from fuzzer.measure.capacity import capacity as reckoned
from fuzzer.report.capacity import SCHEMA, capacity_object, capacity_text
from fuzzer.report.finding import finding_object
from fuzzer.store import codec
from fuzzer.watch import scrape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fuzzer.cli.common import CommonFlags
    from fuzzer.store import Run

FIGURES: Final = "capacity"


def capacity(flags: CommonFlags, controls: Sequence[tuple[str, str]]) -> Never:
    """Read, record, print, and leave."""
    with faults_for_programs(flags):
        told, ended = anyio.run(_read, flags, controls)
    if flags.json:
        shown = finding_object(ended.run_row, ended.finding, (), ended.elapsed_s)
        results.emit_json({**shown, "schema": SCHEMA, **capacity_object(told)})
    else:
        emit(capacity_text(told))
    raise click.exceptions.Exit(exit_of(ended.finding))


def recorded(run: Run) -> Capacity:
    """The capacity that a run recorded."""
    return codec.decode(Capacity, run.record.settings[FIGURES])


async def _read(flags: CommonFlags, controls: Sequence[tuple[str, str]]) -> tuple[Capacity, session.Result]:
    """The controls first: one that cannot be used ends it before anything is recorded."""
    asked = [(name, await _of_control(flags, url)) for name, url in controls]
    async with opening.opened(_in_company(flags), sample_s=0.0) as opened:
        told = reckoned(await _pool(opened), tuple(asked))
        kind = FindingKind.NONE if told.missing is None else FindingKind.INCONCLUSIVE
        return told, opened.record("capacity", Finding(kind, told.words), {FIGURES: codec.encode(told)})


async def _of_control(flags: CommonFlags, url: str) -> Pool:
    async with opening.opened(_in_company(attribution.there(flags, url)), sample_s=0.0) as opened:
        return await _pool(opened)


async def _pool(opened: session.Session) -> Pool:
    return pool_of(opened.target.url, opened.survey, await scrape(opened.target))


def _in_company(flags: CommonFlags) -> CommonFlags:
    """Who only reads disturbs nobody."""
    return replace(flags, allow_busy=True, allow_replicas=True)

"""Which commands read what was recorded? runs and show: no target is touched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fuzzer.cli import values
from fuzzer.cli.flags import DB, JSON, said_here
from fuzzer.cli.grouping import Command, option
from fuzzer.finding import FindingKind


@click.command(
    cls=Command,
    examples="""
ctxfuzz runs
ctxfuzz runs --json | jq '.[0].run'
ctxfuzz runs --model llama --finding death --since 7d --csv > deaths.csv
""",
)
@option("Filter", "--url", metavar="TEXT", callback=said_here, help="Only those against a URL with this in it.")
@option("Filter", "--model", metavar="TEXT", callback=said_here, help="Only those of a model with this in its name.")
@option(
    "Filter",
    "--finding",
    metavar="KIND",
    type=click.Choice([kind.value for kind in FindingKind]),
    help=f"Only those that found this: {', '.join(FindingKind)}.",
)
@option(
    "Filter",
    "--since",
    metavar="WHEN",
    type=values.moment,
    help="Only those begun since: 2026-11-29, 2026-11-29T17:00, 12h, 7d.",
)
@DB
@JSON
@option("Output", "--csv", is_flag=True, help="Print the list as CSV.")
def runs(db: Path, json: bool, csv: bool, **wanted: Any) -> None:  # noqa: ANN401, FBT001  (flags)
    """List the recorded runs, newest first."""
    from fuzzer.cli import results  # noqa: PLC0415  (heavy)
    from fuzzer.cli.faults import warn  # noqa: PLC0415
    from fuzzer.store import History  # noqa: PLC0415

    if json and csv:
        raise click.UsageError("--json and --csv are two forms of one list: choose one.")
    with History.open(db) as history:
        found = history.runs(**wanted, unreadable=warn)
        results.emit_runs(found, form="json" if json else "csv" if csv else "text")


@click.command(
    cls=Command,
    examples="""
ctxfuzz show last
ctxfuzz show last --why
ctxfuzz show 06bc --json | jq '.probes[] | select(.deaths > 0)'
""",
)
@click.argument("run", metavar="RUN")
@option("Form", "--why", is_flag=True, help="Of a bisect: what was believed before each probe, and what it taught.")
@DB
@JSON
def show(run: str, db: Path, json: bool, why: bool) -> None:  # noqa: FBT001  (flags)
    """Show RUN (an id, the beginning of one, or 'last'): every probe, every death with its words, the finding."""
    from fuzzer.cli import attribution, reasoning, results, telling  # noqa: PLC0415  (heavy)
    from fuzzer.store import History  # noqa: PLC0415

    if json and why:
        raise click.UsageError("--why is a story, and no JSON: choose one.")
    with History.open(db) as history:
        found = history.get(run)
        if why:
            reasoning.tell(found, history.observations(found.run))
            return
        seen, deaths = history.observations(found.run), history.deaths(found.run)
        blame, told = attribution.recorded(db, found), telling.told(history, found)
        elapsed_s = history.active_s(found.run)
        results.emit_run(
            found,
            seen,
            deaths,
            elapsed_s,
            intents=history.intents(found.run),
            notes=history.notes(found.run),
            attribution=blame,
            told=told,
            db=str(db),
            as_json=json,
        )

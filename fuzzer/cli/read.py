"""Which commands read what was recorded? runs and show: no target is touched."""

from __future__ import annotations

from pathlib import Path

import click

from fuzzer.cli.flags import DB, JSON
from fuzzer.cli.grouping import Command


@click.command(
    cls=Command,
    examples="""
ctxfuzz runs
ctxfuzz runs --json | jq '.[0].run'
""",
)
@DB
@JSON
def runs(db: Path, json: bool) -> None:  # noqa: FBT001  (a flag)
    """List the recorded runs, newest first."""
    from fuzzer.cli import results  # noqa: PLC0415  (heavy)
    from fuzzer.store import History  # noqa: PLC0415

    with History.open(db) as history:
        results.emit_runs(history.runs(), as_json=json)


@click.command(
    cls=Command,
    examples="""
ctxfuzz show last
ctxfuzz show 06bc --json | jq '.probes[] | select(.deaths > 0)'
""",
)
@click.argument("run", metavar="RUN")
@DB
@JSON
def show(run: str, db: Path, json: bool) -> None:  # noqa: FBT001  (a flag)
    """Show RUN (an id, the beginning of one, or 'last'): every probe, every death with its words, the finding."""
    from fuzzer.cli import results  # noqa: PLC0415  (heavy)
    from fuzzer.store import History  # noqa: PLC0415

    with History.open(db) as history:
        found = history.get(run)
        results.emit_run(found, history.observations(found.run), history.active_s(found.run), db=str(db), as_json=json)

"""Which flags does `ctxfuzz diff` take?"""

from __future__ import annotations

from pathlib import Path

import click

from fuzzer.cli.flags import DB, JSON
from fuzzer.cli.grouping import Command
from fuzzer.errors import RunStopped


@click.command(
    cls=Command,
    examples="""
ctxfuzz diff 1m8m 1m8n
ctxfuzz diff 1m8m last --json | jq '.changes[] | select(.verdict != "same")'
""",
)
@click.argument("before", metavar="RUN")
@click.argument("after", metavar="RUN")
@DB
@JSON
def diff(before: str, after: str, db: Path, json: bool) -> None:  # noqa: FBT001  (a flag)
    """Say what moved from one RUN to another: boundary, limit, cap, acceptance, the engine's last words.

    Exit code 1 if it got worse; 3 if the two cannot be compared, or do not tell.
    """
    from fuzzer.cli import results  # noqa: PLC0415  (heavy)
    from fuzzer.cli.exits import Exit  # noqa: PLC0415
    from fuzzer.cli.streams import emit  # noqa: PLC0415
    from fuzzer.report import comparable, difference  # noqa: PLC0415
    from fuzzer.store import History  # noqa: PLC0415

    with History.open(db) as history:
        sides = []
        for name in (before, after):
            run = history.trusted(name)
            if run.finding is None:
                raise RunStopped(f"Run {run.run} has no finding yet. Go on with it: ctxfuzz resume {run.run}")
            sides.append(comparable.Side(run, run.finding, history.observations(run.run)))
    old, new = sides
    if apart := comparable.unlike(old, new):
        raise RunStopped(f"These runs cannot be compared: {', '.join(apart)}. Ask again on the same terms.")
    found = difference.changes(old, new)
    if json:
        results.emit_json(difference.difference_object(old, new, found))
    else:
        emit(difference.as_text(old, new, found))
    if difference.is_undecided(old, new, found):
        raise click.exceptions.Exit(Exit.INCONCLUSIVE)
    raise click.exceptions.Exit(Exit.BAD_NEWS if difference.is_worse(found) else Exit.ANSWERED)

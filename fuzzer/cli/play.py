"""Which commands need no target of one's own? demo and sim: a simulated engine that really dies."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fuzzer.cli.flags import DB, JSON, TALK
from fuzzer.cli.grouping import Command, option

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


@click.command(
    cls=Command,
    examples="""
ctxfuzz demo
ctxfuzz demo --json | jq .recommended_max_model_len
""",
)
@DB
@JSON
@TALK
def demo(db: Path, json: bool, verbose: bool, quiet: bool) -> None:  # noqa: FBT001  (flags)
    """Find the edge of a simulated engine that really dies.

    Plays the incident that ctxfuzz was made for: a window of 1,048,576 tokens, and a drafter that ends at 262,144.
    The simulator lives only as long as the demo; the run is recorded in --db like any other.
    """
    from fuzzer.cli import simulated  # noqa: PLC0415  (heavy)

    simulated.demo(db=db, json=json, verbose=verbose, quiet=quiet)


def complete_worlds(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The worlds that come with ctxfuzz."""
    from click.shell_completion import CompletionItem  # noqa: PLC0415  (only a shell that completes needs it)

    from targets.sim.world import shipped  # noqa: PLC0415

    return [CompletionItem(name) for name in shipped() if name.startswith(incomplete)]


@click.command(
    cls=Command,
    examples="""
ctxfuzz sim
ctxfuzz sim --list
ctxfuzz sim ./my-world.toml --port 9000
""",
)
@click.argument("world", metavar="[WORLD]", default="incident", shell_complete=complete_worlds)
@option("Server", "--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@option("Server", "--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0: any free port.")
@option("Server", "--list", "list_worlds", is_flag=True, help="List the worlds that come with ctxfuzz.")
def sim(world: str, host: str, port: int, list_worlds: bool) -> None:  # noqa: FBT001  (a flag)
    """Serve a simulated engine to try things on, until Ctrl-C.

    WORLD is the name of one that comes with ctxfuzz, or a TOML or JSON file.
    """
    from fuzzer.cli import simulated  # noqa: PLC0415  (heavy)

    if list_worlds:
        simulated.list_worlds()
    else:
        simulated.serve(world, host, port)

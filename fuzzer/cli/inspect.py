"""Which command looks an engine over without a search? inspect: what it is, its limits, how it drafts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fuzzer.cli.flags import probing
from fuzzer.cli.grouping import Command, option

if TYPE_CHECKING:
    from fuzzer.cli.common import CommonFlags


@click.command(
    cls=Command,
    examples="""
ctxfuzz inspect --url http://localhost:8000
ctxfuzz inspect --url http://localhost:8000 --probe-limit
ctxfuzz inspect --url http://localhost:8000 --json | jq .limits
""",
)
@option(
    "Inspect", "--probe-limit", is_flag=True,
    help="Also send one prompt longer than the limit; recorded as a run. Engines have died of such.",
)  # fmt: skip
@probing
def inspect(flags: CommonFlags, probe_limit: bool) -> None:  # noqa: FBT001  (a flag)
    """Say what is behind --url: engine, limit by every source, drafter, prefix cache, replicas, health.

    Sends a dozen tiny generations and nothing long; with --dry-run none at all.
    """
    from fuzzer.cli import inspecting  # noqa: PLC0415  (heavy)

    inspecting.inspect(flags, probe_limit=probe_limit)

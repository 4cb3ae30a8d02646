"""Which flags does `ctxfuzz capacity` take?"""

from __future__ import annotations

from typing import Any

import click

from fuzzer.cli import values
from fuzzer.cli.common import CommonFlags
from fuzzer.cli.flags import CREDENTIALS, OUTPUT, TARGET
from fuzzer.cli.grouping import Command, option


@click.command(
    cls=Command,
    examples="""
ctxfuzz capacity --url http://localhost:8000
ctxfuzz capacity --url http://localhost:8000 --control plain=http://localhost:8001
ctxfuzz capacity --url http://localhost:8000 --json | jq '.requests[]'
""",
)
@option(
    "Capacity", "--control", "controls", metavar="NAME=URL", type=values.named_url, multiple=True,
    help="The same model without the drafter: the difference is the drafter's price; repeatable.",
)  # fmt: skip
@TARGET
@CREDENTIALS
@OUTPUT
def capacity(controls: tuple[tuple[str, str], ...], **given: Any) -> None:  # noqa: ANN401  (flags)
    """Say how much context fits at once, and what the drafter takes of it, by the engine's own figures.

    Reads metrics and settings, and sends no generation. Leaves with 3 where the engine does not tell its pool.
    """
    from fuzzer.cli import attribution, reckoning  # noqa: PLC0415  (heavy)

    flags = CommonFlags(**given)
    attribution.apart(flags.url, controls)
    reckoning.capacity(flags, controls)

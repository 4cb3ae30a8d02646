"""Which flags does `ctxfuzz sweep` take?"""

from __future__ import annotations

from functools import partial
from typing import Literal

import click

from fuzzer.cli import values
from fuzzer.cli.common import CommonFlags
from fuzzer.cli.flags import CONTENTS, contents_of, probing_with
from fuzzer.cli.grouping import Command, option, stack
from fuzzer.errors import UsageFault

LENGTHS = stack(
    option("Table", "--lengths", metavar="TOKENS,...", type=values.lengths, help="The lengths to ask."),
    option("Table", "--from", "start", metavar="TOKENS", type=values.length, help="Or: the shortest length,"),
    option("Table", "--to", "stop", metavar="TOKENS", type=values.length, help="the longest,"),
    option("Table", "--points", metavar="N", type=click.IntRange(2, 1000), default=8, show_default=True,
           help="how many,"),
    option("Table", "--spacing", type=click.Choice(("log", "linear")), default="log", show_default=True,
           help="and how they lie between."),
    option("Table", "--keep-going", is_flag=True, help="Go on after the first failure, as --max-deaths allows."),
)  # fmt: skip


@click.command(
    cls=Command,
    examples="""
ctxfuzz sweep --url http://localhost:8000 --lengths 8410,66968,148503,244689,300k
ctxfuzz sweep --url http://localhost:8000 --from 1k --to 128K --points 8
ctxfuzz sweep --url http://localhost:8000 --lengths 8k,64k --content copy,words --json | jq '.rows[]'
""",
)
@LENGTHS
@probing_with(contents_of(CONTENTS))
def sweep(  # noqa: PLR0917  (flags)
    flags: CommonFlags,
    lengths: tuple[int, ...] | None,
    start: int | None,
    stop: int | None,
    points: int,
    spacing: Literal["log", "linear"],
    contents: tuple[str, ...],
    keep_going: bool,  # noqa: FBT001  (a flag)
) -> None:
    """Fill a table: what each length shows, how fast it is, and how well drafts are accepted.

    The shortest length comes first, and the first failure ends it: one death is spent, or up to three where nobody
    knows whose they are.
    """
    from fuzzer.cli import conduct, questions  # noqa: PLC0415  (heavy)
    from fuzzer.plans.sweep import spaced  # noqa: PLC0415

    if lengths is not None and (start is not None or stop is not None):
        raise UsageFault("--lengths names them all: give either it, or --from and --to.")
    if lengths is None:
        if start is None or stop is None or stop <= start:
            raise UsageFault("Which lengths? Give --lengths 8k,64k,... or --from and a longer --to.")
        lengths = spaced(start, stop, points, spacing)
    asked = partial(questions.to_sweep, lengths=lengths, contents=contents, keep_going=keep_going)
    conduct.listed(flags, "sweep", asked)

"""Which flags does `ctxfuzz speed` take?"""

from __future__ import annotations

from functools import partial

import click

from fuzzer.cli import values
from fuzzer.cli.common import CommonFlags
from fuzzer.cli.flags import CONTENTS, probing_with
from fuzzer.cli.grouping import Command, option, stack

TABLE = stack(
    option("Table", "--lengths", metavar="TOKENS,...", type=values.lengths, required=True,
           help="The lengths to measure."),
    option("Table", "--concurrency", "concurrencies", metavar="N,...", type=values.lengths, default="1",
           show_default=True, help="How many requests of that length are in flight, the measured one among them."),
    option("Table", "--repeats", metavar="N", type=click.IntRange(1, 100), default=5, show_default=True,
           help="Figures for each cell; three times as many where these scatter."),
    option("Table", "--control", "controls", metavar="NAME=URL", type=values.named_url, multiple=True,
           help="Another engine to compare with; repeatable, in the order in which the factors are to read."),
)  # fmt: skip
SEVERAL = option(
    "Prompt", "--content", "contents", metavar="KIND,...", type=values.choices(CONTENTS), default="words",
    show_default=True,
    help=f"What prompts are made of; several make a row each: {', '.join(CONTENTS)}.",
)  # fmt: skip


@click.command(
    cls=Command,
    context_settings={"default_map": {"output_tokens": "128"}},
    examples="""
ctxfuzz speed --url http://localhost:8000 --lengths 8k,64k,128k
ctxfuzz speed --url http://localhost:8000 --lengths 8k,64k --control no-drafter=http://localhost:8001
ctxfuzz speed --url http://new:8000 --lengths 8k --control no-drafter=http://new:8001 --control old=http://old:8000
""",
)
@TABLE
@probing_with(SEVERAL)
def speed(  # noqa: PLR0917  (flags)
    flags: CommonFlags,
    lengths: tuple[int, ...],
    concurrencies: tuple[int, ...],
    repeats: int,
    controls: tuple[tuple[str, str], ...],
    contents: tuple[str, ...],
) -> None:
    """Measure decode speed and time to the first token, and how much faster than the controls that is.

    Every cell is warmed up until the first-run effect is gone; the target and its controls are measured in turns.
    What cannot be relied on is marked, and never averaged.
    """
    from fuzzer.cli import attribution, conduct, questions  # noqa: PLC0415  (heavy)

    attribution.apart(flags.url, controls)
    ask = partial(questions.to_speed, lengths=lengths, contents=contents, concurrencies=concurrencies, repeats=repeats)
    conduct.measured(flags, ask, controls)

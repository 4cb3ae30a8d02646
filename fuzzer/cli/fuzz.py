"""Which flags does `ctxfuzz fuzz` take?"""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from fuzzer.cli import values
from fuzzer.cli.common import CommonFlags
from fuzzer.cli.flags import probing
from fuzzer.cli.grouping import Command, option, stack
from fuzzer.errors import UsageFault

HUNT = stack(
    option("Fuzz", "--cap", metavar="TOKENS", type=values.length,
           help="What is admitted: prompt + output.  [default: the cap last recommended for this target]"),
    option("Fuzz", "--budget", "budget_s", metavar="TIME", type=values.duration, help="Sample for this long: 30m, 2h."),
    option("Fuzz", "--samples", "most_samples", metavar="N", type=click.IntRange(1), help="Or: this many samples."),
    option("Fuzz", "--keep-going", is_flag=True, help="Look for others after the first failure."),
    option("Fuzz", "--shrink-deaths", metavar="N", type=values.count, default="10", show_default=True,
           help="Deaths to spend on making a failure smaller; 0 leaves it as it was met."),
    option("Fuzz", "--suspect", "suspects", metavar="TOKENS", type=values.length, multiple=True,
           help="A length to look around as well; repeatable."),
)  # fmt: skip


@click.command(
    cls=Command,
    examples="""
ctxfuzz fuzz --url http://localhost:8000 --cap 262096 --budget 30m
ctxfuzz fuzz --url http://localhost:8000 --cap 128K --samples 500 --keep-going --json | jq '.failures[].replay'
""",
)
@HUNT
@probing
def fuzz(
    flags: CommonFlags,
    cap: int | None,
    budget_s: float | None,
    most_samples: int | None,
    **asked: Any,  # noqa: ANN401  (flags)
) -> None:
    """Sample all that a cap admits: lengths, outputs, companions, caches, contents, order. Shrink what fails.

    A failure is asked again on a fresh engine, then made as small as it gets: the fewest conditions, the shortest
    prompt. Exit code 1 if something was found.
    """
    from fuzzer.cli import conduct, questions  # noqa: PLC0415  (heavy)

    if budget_s is None and most_samples is None:
        raise UsageFault("How long? Give --budget 30m, or --samples 500.")
    conduct.listed(
        flags.seeded(),
        "fuzz",
        partial(questions.to_fuzz, cap=cap, budget_s=budget_s, most_samples=most_samples, **asked),
    )

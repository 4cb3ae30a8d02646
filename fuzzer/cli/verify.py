"""Which flags does `ctxfuzz verify` take, and where does its cap come from?"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import click

from fuzzer.cli import values
from fuzzer.cli.flags import CommonFlags, probing
from fuzzer.cli.grouping import Command, option, stack
from fuzzer.errors import UsageFault

CAP = stack(
    option("Cap", "--cap", metavar="TOKENS", type=values.length, help="The max_model_len that ought to be in force."),
    option("Cap", "--from-run", metavar="RUN",
           help="Take the cap, where it used to fail and the output tokens from this run."),
    option("Cap", "--first-bad", metavar="TOKENS", type=values.length,
           help="Where it used to fail: sent only after a clean refusal just above the cap."),
    option("Output", "--junit", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path),
           help="Write the checks as JUnit XML too."),
)  # fmt: skip


class Fix(NamedTuple):
    """What was found, and what was made of it. Tokens."""

    cap: int
    first_bad: int | None
    output_tokens: int


@click.command(
    cls=Command,
    examples="""
ctxfuzz verify --url http://localhost:8000 --cap 245760
ctxfuzz verify --url http://localhost:8000 --from-run last --junit gate.xml
""",
)
@CAP
@probing
def verify(
    flags: CommonFlags, cap: int | None, from_run: str | None, first_bad: int | None, junit: Path | None
) -> None:
    """Check that a cap is in force, that all it admits passes, and that what is longer is refused cleanly.

    The order keeps the engine safe: nothing long is sent while the advertised limit is not the cap, nothing above
    the cap before all that it admits has passed. The first unclean answer ends it. Exit code 0 if the cap holds.
    """
    from fuzzer.cli import conduct, questions  # noqa: PLC0415  (heavy)

    if (cap is None) == (from_run is None):
        raise UsageFault("Which cap? Give either --cap TOKENS or --from-run RUN.")
    fix = Fix(cap, first_bad, flags.output_tokens) if cap is not None else _of_run(flags, str(from_run), first_bad)
    asked = partial(questions.to_verify, cap=fix.cap, first_bad=fix.first_bad)
    conduct.listed(replace(flags, output_tokens=fix.output_tokens), "verify", asked, junit=junit)


def _of_run(flags: CommonFlags, name: str, first_bad: int | None) -> Fix:
    from fuzzer.store import History  # noqa: PLC0415  (heavy)

    with History.open(flags.db) as history:
        run = history.get(name)
    if run.finding is None or run.finding.cap is None:
        raise UsageFault(f"Run {run.run} recommends no cap: give --cap, or another run. `ctxfuzz runs` lists them.")
    output = run.record.question.get("output_tokens")
    return Fix(
        run.finding.cap, first_bad or run.finding.first_bad, output if isinstance(output, int) else flags.output_tokens
    )

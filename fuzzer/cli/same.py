"""Which flags does `ctxfuzz same` take: for two endpoints, or for two results of lm-evaluation-harness?"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from fuzzer.cli import values
from fuzzer.cli.common import CommonFlags
from fuzzer.cli.flags import CONTENTS, URL_OR_NONE, contents_of, probing_with
from fuzzer.cli.grouping import Command, option, stack
from fuzzer.errors import UsageFault

OUTPUT_TOKENS = "128"  # a drafter needs some room to go astray in
RESULTS = click.Path(exists=True, dir_okay=False, path_type=Path)

SAME = stack(
    option("Compare", "--control", metavar="NAME=URL", type=values.named_url,
           help="The same model without the drafter."),
    option("Compare", "--lengths", metavar="TOKENS,...", type=values.lengths,
           help="The prompt lengths to ask.  [default: 8 by equal factors, from 64 to the cap]"),
    option("Compare", "--cap", metavar="TOKENS", type=values.length,
           help="The longest prompt + output to ask.  [default: the cap last recommended here, else the limit]"),
    option("Compare", "--eval", "evaluated", metavar="FILE", type=RESULTS,
           help="Compare results of lm-evaluation-harness instead; nothing is sent."),
    option("Compare", "--eval-control", "eval_control", metavar="FILE", type=RESULTS,
           help="The results without the drafter. Samples logged beside both are paired."),
)  # fmt: skip
SEVERAL = contents_of((*CONTENTS, "needle"), "; needle hides two facts in it")


@click.command(
    cls=Command,
    context_settings={"default_map": {"output_tokens": OUTPUT_TOKENS}},
    examples="""
ctxfuzz same --url http://localhost:8000 --control plain=http://localhost:8001
ctxfuzz same --url http://localhost:8000 --control plain=http://localhost:8001 --lengths 1k,64k --content words,needle
ctxfuzz same --eval with/results.json --eval-control without/results.json
""",
)
@SAME
@probing_with(SEVERAL, url=URL_OR_NONE)
def same(  # noqa: PLR0917  (flags)
    flags: CommonFlags,
    control: tuple[str, str] | None,
    lengths: tuple[int, ...] | None,
    cap: int | None,
    evaluated: Path | None,
    eval_control: Path | None,
    contents: tuple[str, ...],
) -> None:
    """Say whether the drafter changes what is generated: greedy outputs, token for token, with and without it.

    Each prompt is sent twice to both: where an engine does not repeat itself, nothing is blamed on the drafter. Some
    words around a divergence are kept. Exit code 0: the same; 1: different, or the target failed; 3: not decidable.
    """
    from fuzzer.cli import attribution, comparing, conduct, weighing  # noqa: PLC0415  (heavy)

    if evaluated is not None and eval_control is not None and control is None:
        weighing.weigh(flags, evaluated, eval_control)
    if control is None or not flags.url or evaluated is not None or eval_control is not None:
        raise UsageFault("Compare what? Give --url and --control NAME=URL, or --eval FILE and --eval-control FILE.")
    attribution.apart(flags.url, [control])
    asked = partial(comparing.asked_of, lengths=lengths, cap=cap, contents=contents)
    conduct.compared(flags, asked, control)

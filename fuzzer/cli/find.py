"""Which commands send probes? bisect, probe and resume: each is the one conductor with another question."""

from __future__ import annotations

from pathlib import Path

import click

from fuzzer.cli import values
from fuzzer.cli.common import CommonFlags
from fuzzer.cli.flags import (
    CACHE_OF_A_SEARCH,
    COMMANDS_AGAIN,
    CONTENT,
    CREDENTIALS,
    CREDENTIALS_OF,
    OUTPUT,
    URL_AGAIN,
    URLS_AGAIN,
    probing,
    probing_with,
)
from fuzzer.cli.grouping import Command, option, stack

CONFIG = click.Path(exists=True, resolve_path=True, path_type=Path)
BRACKET = stack(
    option("Search", "--lo", metavar="TOKENS", type=values.length, required=True, help="A length believed good."),
    option("Search", "--hi", metavar="TOKENS", type=values.length, required=True, help="The longest length to ask."),
    option("Search", "--axis", type=click.Choice(("prompt", "total", "output")), default="prompt", show_default=True,
           help="What --lo and --hi count: the prompt, prompt + output, or the output after --prompt-tokens."),
    option("Search", "--prompt-tokens", metavar="TOKENS", type=values.length, default="64", show_default=True,
           help="The prompt of a search over outputs."),
    option("Search", "--resolution", metavar="TOKENS", type=values.length, default="1", show_default=True,
           help="How far apart last_good and first_bad may stay."),
    option("Search", "--trust-lo", is_flag=True, help="--lo is known to pass: do not verify it."),
    option("Search", "--trust-hi", is_flag=True, help="--hi is known to fail: do not send it."),
    option("Search", "--suspect", "suspects", metavar="TOKENS", type=values.length, multiple=True,
           help="A length where the edge may well be (a drafter's positions, say); repeatable."),
    option("Search", "--draft-config", metavar="FILE|DIR", type=CONFIG,
           help="The drafter's config.json, or its directory: the lengths that it names are suspects."),
    option("Search", "--model-config", metavar="FILE|DIR", type=CONFIG, help="The same of the model itself."),
    option("Search", "--strategy", type=click.Choice(("auto", "halving")), default="auto", show_default=True,
           help="Ask what tells most for what it costs, or just halve."),
    option("Search", "--confidence", metavar="P", type=values.rate, default="0.95", show_default=True,
           help="How sure the claim is to be."),
    option("Search", "--tolerate", metavar="P", type=values.rate, default="0.3", show_default=True,
           help="The failure rate under the cap that the claim excludes."),
    option("Search", "--attribute-axis/--no-attribute-axis", default=True, show_default=True,
           help="Ask other outputs around the edge: does it lie on the prompt, or on prompt + output?"),
)  # fmt: skip
SEARCH = stack(
    BRACKET,
    option("Search", "--round-to", metavar="TOKENS", type=values.length, default="16", show_default=True,
           help="Round the cap down to a multiple of this, or of the engine's own step where that is larger."),
    option("Search", "--require", metavar="TOKENS", type=values.length,
           help="Leave with 1 unless the cap is at least this."),
    option("Search", "--scan", metavar="[PROBES]", type=values.count, is_flag=False, flag_value="200", default="0",
           help="Then ask places below the edge where engines like to fail: islands.  [200 where no number is given]"),
    option("Search", "--control", "controls", metavar="NAME=URL", type=values.named_url, multiple=True,
           help="The same model without the drafter: it is sent first_bad once the edge stands; repeatable."),
)  # fmt: skip


@click.command(
    cls=Command,
    examples="""
ctxfuzz bisect --url http://localhost:8000 --lo 244689 --hi 300000
ctxfuzz bisect --url http://localhost:8000 --lo 8k --hi 300k --require 256K
ctxfuzz bisect --url https://pod-0.example --lo 8k --hi 1M --max-deaths 4 --json | jq .recommended_max_model_len
ctxfuzz bisect --url http://localhost:8000 --lo 8k --hi 300k --draft-config ./drafter/config.json
ctxfuzz bisect --target prod --lo 8k --hi 300k --control plain=http://localhost:8001
ctxfuzz bisect --url http://localhost:8000 --lo 8k --hi 300k --cache mixed --companions 3
ctxfuzz bisect --url http://localhost:8000 --axis output --lo 100 --hi 8k
""",
)
@SEARCH
@probing_with(CONTENT, cache=CACHE_OF_A_SEARCH)
def bisect(
    flags: CommonFlags,
    suspects: tuple[int, ...],
    draft_config: Path | None,
    model_config: Path | None,
    controls: tuple[tuple[str, str], ...],
    **asked: object,
) -> None:
    """Find the edge between --lo and --hi, and the max_model_len that is safe.

    Sends prompts of exactly known length, watches whether the engine lives, and searches between the last good and
    the first failing length. Kills the engine on the way: --max-deaths bounds how often.
    """
    from fuzzer.cli import attribution, conduct  # noqa: PLC0415  (heavy)
    from fuzzer.cli.suspecting import suspected  # noqa: PLC0415

    attribution.apart(flags.url, controls)
    conduct.bisect(flags, asked, suspected(suspects, draft_config, model_config), controls)


@click.command(
    cls=Command,
    examples="""
ctxfuzz probe 262144 --url http://localhost:8000
ctxfuzz probe 256K --url http://localhost:8000 --output-tokens 1 --json
""",
)
@click.argument("length", metavar="LENGTH", type=values.length)
@probing
def probe(flags: CommonFlags, length: int) -> None:
    """Send one prompt of LENGTH tokens and watch the engine.

    With --cache warm it is sent twice: the first time there is nothing of it in the cache.
    """
    from fuzzer.cli import conduct  # noqa: PLC0415  (heavy)

    conduct.probe(flags, length)


@click.command(
    cls=Command,
    examples="""
ctxfuzz resume last
ctxfuzz resume 3f2a --db /var/lib/ctxfuzz/runs.db
""",
)
@click.argument("run", metavar="RUN")
@CREDENTIALS_OF
@URL_AGAIN
@URLS_AGAIN
@CREDENTIALS
@COMMANDS_AGAIN
@OUTPUT
def resume(run: str, db: Path, **given: object) -> None:
    """Go on with RUN (an id, the beginning of one, or 'last') where it was interrupted.

    What was asked is taken from the record: nothing that was answered is asked again, and deaths and time add up. A
    command or a URL that held a secret is not on record, nor is the value of any --header: give it again. Give the
    commands again, too, of a run that somebody else or another host began; and its URL, where a key or a header goes
    there.
    """
    from fuzzer.cli import resuming  # noqa: PLC0415  (heavy)

    resuming.resume(run, db, given)

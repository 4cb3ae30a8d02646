"""Which flags does `ctxfuzz plan` take?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fuzzer.cli import values
from fuzzer.cli.find import BRACKET
from fuzzer.cli.flags import JSON
from fuzzer.cli.grouping import Command, option, stack

ENGINE = stack(
    option("Engine", "--limit", metavar="TOKENS", type=values.length, help="The max_model_len that it advertises."),
    option("Engine", "--output-tokens", metavar="TOKENS", type=values.length, default="32", show_default=True,
           help="Tokens to generate after each prompt."),
    option("Engine", "--draft-tokens", metavar="K", type=values.count, help="Draft tokens per step of the speculator."),
    option("Engine", "--max-deaths", metavar="N", type=values.count, default="12", show_default=True,
           help="Stop before the engine dies more often than this."),
)  # fmt: skip


@click.command(
    cls=Command,
    examples="""
ctxfuzz plan --lo 244689 --hi 300000
ctxfuzz plan --lo 8k --hi 1M --limit 1M --draft-config ./drafter --draft-tokens 7
ctxfuzz plan --lo 8k --hi 300k --json | jq .expected_deaths
""",
)
@BRACKET
@ENGINE
@JSON
def plan(
    suspects: tuple[int, ...],
    draft_config: Path | None,
    model_config: Path | None,
    json: bool,  # noqa: FBT001  (a flag)
    **asked: Any,  # noqa: ANN401  (fields of the question)
) -> None:
    """Say what a bisect would cost, and which lengths it would ask first. Needs no target, and sends nothing."""
    from fuzzer.cli import results  # noqa: PLC0415  (heavy)
    from fuzzer.cli.questions import prompts_of  # noqa: PLC0415
    from fuzzer.cli.suspecting import suspected  # noqa: PLC0415
    from fuzzer.errors import UsageFault  # noqa: PLC0415
    from fuzzer.plans.question import BisectQuestion  # noqa: PLC0415

    named = suspected(suspects, draft_config, model_config)
    try:
        question = BisectQuestion(suspects=named, **prompts_of(asked, asked["output_tokens"]))
    except ValueError as error:
        raise UsageFault(f"There is nothing to ask: {error}. Choose the lengths anew.") from None
    results.emit_plan(question, as_json=json)

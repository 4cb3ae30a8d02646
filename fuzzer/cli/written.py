"""Which flags say where a text goes, and in which form? A file's name says its form, unless --format does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fuzzer.cli import values
from fuzzer.cli.grouping import Decorator, option, stack

if TYPE_CHECKING:
    from collections.abc import Mapping


def written(forms: Mapping[str, str], explained: str) -> Decorator:
    """`--format` and `-o`, as `form` and `into`. `forms`: a form -> how its files end; the first is the usual one."""
    named = {suffix: form for form, suffix in forms.items()}
    usual = next(iter(forms))

    def chosen(ctx: click.Context, _: click.Parameter, form: str | None) -> str:
        into: Path | None = ctx.params["into"]
        suffix = into.suffix.lower() if into else ""
        if not form and suffix and suffix not in named:
            ends = ", ".join(named)
            raise click.BadParameter(f"what ends in {suffix} is in none of the forms ({ends}): say --format.", ctx)
        return form or named.get(suffix, usual)

    return stack(
        option("Output", "--format", "form", type=click.Choice(tuple(forms)), callback=chosen,
               help=f"{explained}  [default: as FILE ends, else {usual}]"),
        option("Output", "-o", "--output", "into", metavar="FILE", is_eager=True,
               type=values.OutputFile(), help="Write there instead of to stdout."),
    )  # fmt: skip

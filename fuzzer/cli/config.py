"""Which value does each flag of a command have, and who says so?"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final

import click
from click.core import ParameterSource

from fuzzer.cli import profiles
from fuzzer.cli.flags import JSON
from fuzzer.cli.grouping import Command, SectionedOption
from fuzzer.errors import UsageFault

SCHEMA: Final = "ctxfuzz.config/1"
SECRETS: Final = frozenset({"api-key", "header"})
MASK: Final = "***"


@dataclass(frozen=True, slots=True)
class Effective:
    """One flag: its value as text, None where it has none, and where that comes from."""

    flag: str
    value: str | None
    origin: str


@click.command(
    cls=Command,
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    examples="""
ctxfuzz config
ctxfuzz config bisect --target prod
CTXFUZZ_MAX_DEATHS=2 ctxfuzz config --json verify --target prod
""",
)
@JSON
@click.argument("command", metavar="[COMMAND]", default="bisect")
@click.argument("flags", metavar="[FLAGS]...", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def config(ctx: click.Context, command: str, flags: tuple[str, ...], json: bool) -> None:  # noqa: FBT001  (a flag)
    """Print what each flag of COMMAND would be, and where that comes from: a flag, the environment, the file.

    Flags come before environment before file. CTXFUZZ_NAME stands for --name in every command; ctxfuzz.toml holds
    [defaults] and [targets.NAME], the latter for --target NAME. Nothing is run, and secrets are masked.
    """
    from fuzzer.cli import results  # noqa: PLC0415  (heavy)
    from fuzzer.cli.streams import emit  # noqa: PLC0415

    group = ctx.find_root().command
    known = group.get_command(ctx, command) if isinstance(group, click.Group) else None
    if known is None:
        raise UsageFault(f"There is no command {command!r}: `ctxfuzz --help` lists them.")
    found = list(effective(known, list(flags), ctx))
    if json:
        results.emit_json({"schema": SCHEMA, "command": command, "flags": [asdict(one) for one in found]})
        return
    rows = [(f"--{one.flag}", "-" if one.value is None else one.value, one.origin) for one in found]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    emit("\n".join("  ".join(f"{cell:<{w}}" for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows))


def effective(command: click.Command, args: list[str], parent: click.Context) -> Iterator[Effective]:
    """The flags of a command as it would see them, those that are missing too. Raises what parsing raises."""
    ctx = command.context_class(command, info_name=command.name, parent=parent)
    profiles.load_defaults(ctx)
    given, _, _ = command.make_parser(ctx).parse_args(args=list(args))
    options = [param for param in command.get_params(ctx) if isinstance(param, SectionedOption)]
    for option in sorted(options, key=lambda option: not option.is_eager):
        value, source = option.consume_value(ctx, given)
        if option.is_eager:
            option.process_value(ctx, value)
        is_set = source is not ParameterSource.DEFAULT or option.to_info_dict()["default"] is not None
        yield Effective(option.flag, _shown(option, value) if is_set else None, _origin(ctx, option, source))


def _shown(option: SectionedOption, value: Any) -> str:  # noqa: ANN401  (any flag's)
    from fuzzer.store.masking import COMMANDS, masked_command  # noqa: PLC0415  (heavy)

    if option.flag in SECRETS:
        return MASK
    if option.name in COMMANDS:
        return masked_command(str(value))
    said = value if isinstance(value, list | tuple) else (value,)
    return ", ".join(_masked(str(item)) for item in said)


def _masked(word: str) -> str:
    """What may be a URL, or NAME=URL: not read yet, so its password may hold anything."""
    from fuzzer.store.masking import masked_url  # noqa: PLC0415  (heavy)

    name, equals, url = word.partition("=")
    if "://" not in word:
        return word
    return masked_url(word) if "://" in name else f"{name}{equals}{masked_url(url)}"


def _origin(ctx: click.Context, option: SectionedOption, source: ParameterSource) -> str:
    match source:
        case ParameterSource.COMMANDLINE:
            return "flag"
        case ParameterSource.ENVIRONMENT:
            return next(name for name in option.variables if os.environ.get(name))
        case ParameterSource.DEFAULT_MAP:
            return profiles.origin_of(ctx, str(option.name))
        case _:
            return "default"

"""How does `--help` look, and how is only the command that was asked for imported?"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from importlib import import_module
from itertools import groupby
from typing import Any, Final, NamedTuple

import click

from fuzzer.cli import profiles
from fuzzer.cli.faults import faults_told
from fuzzer.cli.signals import heeded
from fuzzer.cli.streams import emit, reopen_closed

# CTXFUZZ_PORT=tcp://10.0.0.1:80. Its other variables (CTXFUZZ_SERVICE_HOST, CTXFUZZ_PORT_80_TCP) are no flag's.
OF_A_SERVICE: Final = frozenset({"CTXFUZZ_PORT"})
_LINK = re.compile(r"(tcp|udp|sctp)://", re.IGNORECASE)


class Entry(NamedTuple):
    """One command: where it lives (`module:attribute`), under which heading it is listed, and its one line there."""

    section: str
    where: str
    summary: str


class SectionedOption(click.Option):
    """An option that is listed under a heading of its own."""

    def __init__(self, *args: Any, section: str = "Options", **kwargs: Any) -> None:  # noqa: ANN401  (click's own)
        super().__init__(*args, **kwargs)
        self.section = section
        others = (self.envvar,) if isinstance(self.envvar, str) else tuple(self.envvar or ())
        self.variables: tuple[str, ...] = (self.variable, *others)
        self.envvar = self.variables

    @property
    def flag(self) -> str:
        """Its long name without the dashes: the name that it has in a file."""
        return max(self.opts, key=len).lstrip("-")

    @property
    def variable(self) -> str:
        """The environment variable that stands for it in every command."""
        return "CTXFUZZ_" + self.flag.upper().replace("-", "_")

    def resolve_envvar_value(self, ctx: click.Context) -> str | None:
        """What stands there, but for what Kubernetes puts into every pod beside a Service that is called ctxfuzz."""
        found = super().resolve_envvar_value(ctx)
        return None if found is not None and self.variable in OF_A_SERVICE and _LINK.match(found) else found

    def value_from_envvar(self, ctx: click.Context) -> Any:  # noqa: ANN401  (click's own)
        """What may be repeated is one a line: a header has spaces."""
        if not self.multiple:
            return super().value_from_envvar(ctx)
        given = self.resolve_envvar_value(ctx)
        return None if given is None else tuple(given.splitlines())


def printed(words: Callable[[click.Context], str]) -> Callable[[click.Context, click.Parameter, bool], None]:
    """The callback of a flag that asks for these words and for nothing else: they are a result like any other."""

    def show(ctx: click.Context, _param: click.Parameter, asked: bool) -> None:  # noqa: FBT001  (click's signature)
        if asked and not ctx.resilient_parsing:
            emit(words(ctx))
            ctx.exit()

    return show


class Helped(click.Command):
    """Its help goes where results go: also onto a disk that is full."""

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        option = super().get_help_option(ctx)
        if option is not None:
            option.callback = printed(click.Context.get_help)
        return option


class Command(Helped):
    """A command whose options are listed by section, and whose examples come last."""

    def __init__(self, *args: Any, examples: str = "", **kwargs: Any) -> None:  # noqa: ANN401  (click's own)
        super().__init__(*args, **kwargs)
        self.examples = examples

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        profiles.load_defaults(ctx)
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        params = self.get_params(ctx)
        order = list(dict.fromkeys(map(section_of, params)))
        params.sort(key=lambda param: (section_of(param) == "Options", order.index(section_of(param))))
        for section, members in groupby(params, key=section_of):
            if rows := [row for param in members if (row := param.get_help_record(ctx)) is not None]:
                with formatter.section(section):
                    formatter.write_dl(rows, col_max=26)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_examples(formatter, self.examples)
        super().format_epilog(ctx, formatter)


def section_of(param: click.Parameter) -> str:
    return getattr(param, "section", "Options")


def write_examples(formatter: click.HelpFormatter, examples: str) -> None:
    """Examples stand as they were written: no wrapping."""
    if examples:
        with formatter.section("Examples"):
            formatter.write("".join(f"  {line}\n" for line in examples.strip().splitlines()))


class LazyGroup(Helped, click.Group):
    """A group that knows its commands by name and imports the one that is called."""

    def __init__(self, *args: Any, entries: Mapping[str, Entry], examples: str, **kwargs: Any) -> None:  # noqa: ANN401
        super().__init__(*args, **kwargs)
        self.entries = entries
        self.examples = examples

    def __call__(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401  (click's own)
        """Run as a program: whatever streams it was given, whatever signals come."""
        reopen_closed()
        with heeded():
            return super().__call__(*args, **kwargs)

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:  # noqa: ANN401  (click's own)
        with faults_told():
            return super().make_context(*args, **kwargs)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  (click's signature)
        return list(self.entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in self.entries:
            return None
        module, _, attribute = self.entries[cmd_name].where.partition(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401  (click's own)
        with faults_told():
            return super().invoke(ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        for section, members in groupby(self.entries.items(), key=lambda item: item[1].section):
            with formatter.section(section):
                formatter.write_dl([(name, entry.summary) for name, entry in members])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_examples(formatter, self.examples)
        super().format_epilog(ctx, formatter)


Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def option(section: str, *names: str, **kwargs: Any) -> Decorator:  # noqa: ANN401  (click's own)
    """click.option, listed under `section`."""
    return click.option(*names, cls=SectionedOption, section=section, **kwargs)


def stack(*decorators: Decorator) -> Decorator:
    """Several options as one decorator; the first is listed first."""

    def apply(command: Callable[..., Any]) -> Callable[..., Any]:
        for decorate in reversed(decorators):
            command = decorate(command)
        return command

    return apply

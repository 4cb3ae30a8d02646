"""Which flags does every command that probes take, under which names and with which defaults?

The one place for them. `probing` decorates a command with all of them and hands it one `CommonFlags`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from fuzzer.cli import profiles, values
from fuzzer.cli.common import CommonFlags
from fuzzer.cli.grouping import Decorator, option, stack
from targets.table import DIALECTS

ENGINES = ("auto", *sorted(DIALECTS))
CONTENTS = ("words", "repeat", "copy", "random", "code", "cjk")

CREDENTIALS = stack(
    option("Access", "--api-key", type=values.key, envvar="OPENAI_API_KEY", show_envvar=True,
           help="Bearer token; never stored."),
    option(
        "Access", "--header", "headers", metavar="'NAME: VALUE'", type=values.header, multiple=True,
        help="A header to send with every request; repeatable, never stored.",
    ),
    option(
        "Access", "--cacert", metavar="FILE", type=click.Path(exists=True, dir_okay=False, path_type=Path),
        callback=values.certificates, help="Trust this CA bundle instead of the system's.",
    ),
    option("Access", "--insecure", is_flag=True, help="Do not verify the server's certificate."),
)  # fmt: skip

DB = option(
    "Output", "--db", metavar="FILE", default="runs.db", show_default=True,
    type=click.Path(dir_okay=False, path_type=Path), help="Where runs are recorded.",
)  # fmt: skip
JSON = option("Output", "--json", "json", is_flag=True, help="Print the result as JSON, and nothing else on stdout.")
TALK = stack(
    option("Output", "-v", "--verbose", is_flag=True, help="Say more: every canary, every reason."),
    option("Output", "-q", "--quiet", is_flag=True, help="Say nothing but the result and errors."),
)
OUTPUT = stack(DB, JSON, TALK)

URL = option("Target", "--url", metavar="URL", required=True, type=values.url,
             help="The endpoint, with or without /v1.")  # fmt: skip
URL_OR_NONE = option("Target", "--url", metavar="URL", type=values.url, help="The endpoint, with or without /v1.")
PROFILE = option("Target", "--target", metavar="NAME", is_eager=True, expose_value=False, callback=profiles.chosen,
                 help=f"Take what is not said here from [targets.NAME] of {profiles.FILE}.")  # fmt: skip
CREDENTIALS_OF = option(
    "Access", "--target", metavar="NAME", is_eager=True, expose_value=False, callback=profiles.chosen,
    help=f"Take the key, headers and certificates that are not said here from [targets.NAME] of {profiles.FILE}.",
)  # fmt: skip
WHICH = stack(
    option("Target", "--model", metavar="NAME", help="The model to ask.  [default: the only one served]"),
    option("Target", "--engine", metavar="NAME", type=click.Choice(ENGINES), default="auto", show_default=True,
           help=f"The engine's dialect: {', '.join(ENGINES)}."),
    option("Target", "--health-url", metavar="URL", type=values.url, help="Where health is, if not beside --url."),
    option("Target", "--metrics-url", metavar="URL", type=values.url, help="Where metrics are, if not beside --url."),
)  # fmt: skip
TARGET = stack(PROFILE, URL, WHICH)

CONTENT = option(
    "Prompt", "--content", metavar="KIND", type=click.Choice(CONTENTS), default="words", show_default=True,
    help=f"What prompts are made of: {', '.join(CONTENTS)}. A lookup drafter only drafts on repeats.",
)  # fmt: skip
HOW_SENT = option("Prompt", "--mode", type=click.Choice(("ids", "text", "chat")),
                  help="How prompts are sent.  [default: ids, else text]")  # fmt: skip
PROMPT = stack(
    option("Prompt", "--corpus", metavar="FILE", type=click.Path(exists=True, dir_okay=False, resolve_path=True),
           help="Make prompts of the text in this file instead."),
    option("Prompt", "--tokenizer", metavar="DIR|NAME", type=values.tokenizer,
           help="A local tokenizer.  [default: ask the server]"),
    option("Prompt", "--output-tokens", metavar="TOKENS", type=values.length, default="32", show_default=True,
           help="Tokens to generate after each prompt."),
    option("Prompt", "--draft-tokens", metavar="K", type=values.count,
           help="Draft tokens per step of the speculator.  [default: from metrics]"),
    option("Prompt", "--stream/--no-stream", default=True, show_default=True,
           help="Streaming shows whether prefill or decode died."),
    option("Prompt", "--companions", metavar="N", type=values.count, default="0", show_default=True,
           help="Keep so many other requests in flight beside each probe."),
    option("Prompt", "--companion-length", metavar="TOKENS", type=values.length, default="512", show_default=True,
           help="Prompt tokens of each companion."),
    option("Prompt", "--seed", metavar="N", type=values.count,
           help="Same seed, same prompts.  [default: drawn, and recorded]"),
)  # fmt: skip

CACHE = option("Prompt", "--cache", type=click.Choice(("cold", "warm")), default="cold", show_default=True,
               help="Whether the prefix cache may serve the prompt.")  # fmt: skip
CACHE_OF_A_SEARCH = option(
    "Prompt", "--cache", type=click.Choice(("cold", "warm", "mixed")), default="cold", show_default=True,
    help="Whether the prefix cache may serve the prompt; mixed searches warm, and decides cold.",
)  # fmt: skip


def said_now(ctx: click.Context, param: click.Parameter, command: str | None) -> str | None:
    """The command as somebody who goes on with a run gives it: what a file has may be meant for another engine."""
    of_file = ctx.get_parameter_source(str(param.name)) is ParameterSource.DEFAULT_MAP
    return None if of_file else command


def said_here(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """A URL or a model as it stands in the very command: what a file or the environment has names the target to ask."""
    return value if ctx.get_parameter_source(str(param.name)) is ParameterSource.COMMANDLINE else None


URL_AGAIN = option("Access", "--url", metavar="URL", type=values.url, callback=said_here,
                   help="The endpoint, where its URL held a secret.  [default: the one on record]")  # fmt: skip
URLS_AGAIN = stack(
    option("Access", "--health-url", metavar="URL", type=values.url, callback=said_here,
           help="Where health is, where that URL held a secret.  [default: the one on record]"),
    option("Access", "--metrics-url", metavar="URL", type=values.url, callback=said_here,
           help="Where metrics are, likewise.  [default: the one on record]"),
)  # fmt: skip
COMMANDS_AGAIN = stack(
    option("Limits", "--on-death", metavar="CMD", callback=said_now,
           help="Run this command after a death.  [default: the one on record, where it holds no secret]"),
    option("Limits", "--engine-log-cmd", metavar="CMD", callback=said_now,
           help="A command that prints the engine's log.  [default: likewise]"),
)  # fmt: skip
LIMITS = stack(
    option("Limits", "--max-deaths", metavar="N", type=values.count, default="12", show_default=True,
           help="Stop before the engine dies more often than this."),
    option("Limits", "--max-time", "max_time_s", metavar="TIME", type=values.duration,
           help="Start no probe after this long: 90s, 30m, 2h."),
    option("Limits", "--timeout", "timeout_s", metavar="TIME", type=values.duration, default="600", show_default=True,
           help="The longest that one probe may take without progress."),
    option("Limits", "--health-interval", "health_interval_s", metavar="TIME", type=values.interval, default="1",
           show_default=True, help="How often health is asked for; at least 0.5."),
    option("Limits", "--revival-timeout", "revival_timeout_s", metavar="TIME", type=values.duration, default="1800",
           show_default=True, help="How long to wait for a dead engine."),
    option("Limits", "--death-spacing", "death_spacing_s", metavar="TIME", type=values.duration, default="0",
           show_default=True, help="The least time between two deaths."),
    option("Limits", "--allow-busy", is_flag=True, help="Go on although others use the target."),
    option("Limits", "--allow-replicas", is_flag=True, help="Go on although several engines answer."),
    option("Limits", "--fail-on", metavar="OUTCOME,...", type=values.outcomes,
           shell_complete=values.complete_outcomes, default="death,error,hang,truncated,garbled", show_default=True,
           help="Which outcomes are failures."),
    option("Limits", "--on-death", metavar="CMD", help="Run this command after a death, to help the engine back."),
    option("Limits", "--engine-log", metavar="FILE", type=click.Path(dir_okay=False, resolve_path=True),
           help="The engine's own log: its last words are kept with each death."),
    option("Limits", "--engine-log-cmd", metavar="CMD",
           help="A command that prints that log: 'kubectl logs --previous POD'."),
    option("Limits", "--dry-run", is_flag=True, help="Say the expected deaths and minutes, and send no probe."),
)  # fmt: skip


def contents_of(kinds: tuple[str, ...], also: str = "") -> Decorator:
    """The flag for several contents at once, of these kinds; `also` is added to its help."""
    return option(
        "Prompt", "--content", "contents", metavar="KIND,...", type=values.choices(kinds), default="words",
        show_default=True,
        help=f"What prompts are made of; several make a row each: {', '.join(CONTENTS)}{also}.",
    )  # fmt: skip


def _bundle(command: Callable[..., Any]) -> Callable[..., Any]:
    """Gathers the common parameters into one `CommonFlags`, passed on as `flags`."""
    names = {field.name for field in fields(CommonFlags)}

    @functools.wraps(command)
    def bundled(corpus: str | None, **kwargs: Any) -> Any:  # noqa: ANN401  (the command's own result)
        if corpus is not None:
            kwargs["content"] = f"corpus:{corpus}"
        common = {name: kwargs.pop(name) for name in names & kwargs.keys()}
        common["url"] = common["url"] or ""
        return command(flags=CommonFlags(**common), **kwargs)

    return bundled


def probing_with(content: Decorator, *, url: Decorator = URL, cache: Decorator = CACHE) -> Decorator:
    """All common flags, with these for content, URL and cache; the command receives `flags: CommonFlags`."""

    def apply(command: Callable[..., Any]) -> Callable[..., Any]:
        common = (PROFILE, url, WHICH, CREDENTIALS, HOW_SENT, content, PROMPT, cache, LIMITS, OUTPUT)
        return stack(*common)(_bundle(command))

    return apply


probing = probing_with(CONTENT)

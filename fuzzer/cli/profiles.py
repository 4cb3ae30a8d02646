"""What does the file ctxfuzz.toml say about the flags that nobody gave? Flags come before environment before file.

`[defaults]` holds for every command and target, `[targets.NAME]` for `--target NAME`; keys are the flags' long names.
The file is the one in the working directory, or the one that CTXFUZZ_CONFIG names.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import click

from fuzzer.errors import UsageFault

FILE: Final = "ctxfuzz.toml"
VARIABLE: Final = "CTXFUZZ_CONFIG"
ORIGINS: Final = "fuzzer.cli.profiles.origins"
TABLES = frozenset({"defaults", "targets"})


def load_defaults(ctx: click.Context) -> None:
    """The file's [defaults] become what this command's flags are by default. Raises UsageFault."""
    path = _path()
    if path is not None:
        _lay(ctx, path, "defaults", _read(path).get("defaults", {}))


def chosen(ctx: click.Context, _param: click.Parameter, name: str | None) -> None:
    """What `--target NAME` does: its table covers the defaults. Raises UsageFault where there is no such table."""
    if name is None:
        return
    path = _path()
    if path is None:
        raise UsageFault(f"There is no {FILE} here to hold a target {name!r}: write one, or name it in {VARIABLE}.")
    targets = _read(path).get("targets", {})
    if not isinstance(targets, Mapping):
        raise UsageFault(f"{path}: targets is not a table. Write [targets.{name}], and flags below it.")
    if name not in targets:
        known = ", ".join(targets) or "none"
        raise UsageFault(f"{path} has no [targets.{name}]: it has {known}.")
    _lay(ctx, path, f"targets.{name}", targets[name])


def origin_of(ctx: click.Context, param: str) -> str:
    """Which table of which file gave this parameter its value."""
    origins: dict[str, str] = ctx.meta.get(ORIGINS, {})
    return origins.get(param, "")


def _path() -> Path | None:
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named)
    return Path(FILE) if os.path.isfile(FILE) else None  # noqa: PTH113  (Path's own may raise)


def _read(path: Path) -> dict[str, Any]:
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageFault(f"{path} cannot be read: {error.strerror}. Mend {VARIABLE}.") from None
    except (ValueError, RecursionError) as error:
        raise UsageFault(f"{path} is no TOML: {error}. Mend it.") from None
    if unknown := found.keys() - TABLES:
        raise UsageFault(f"{path} has {', '.join(sorted(unknown))}, but only [defaults] and [targets.NAME] are read.")
    return found


def _lay(ctx: click.Context, path: Path, table: str, values: object) -> None:
    """Cover what was laid before. A key that another command has is none of ours; one that none has is an error."""
    if not isinstance(values, Mapping):
        raise UsageFault(f'{path}: [{table}] is not a table. Write flags in it, like timeout = "10m".')
    names = _names(ctx.command)
    if unknown := values.keys() - names.keys() - _names_of_all(ctx):
        raise UsageFault(f"{path}: [{table}] has {', '.join(sorted(unknown))}, which is no flag of any command.")
    ours = {names[key]: _as_typed(path, key, value) for key, value in values.items() if key in names}
    ctx.default_map = {**(ctx.default_map or {}), **ours}
    origins = ctx.meta.setdefault(ORIGINS, {})
    origins.update(dict.fromkeys(ours, f"{path} [{table}]"))


def _names(command: click.Command) -> dict[str, str]:
    """The command's flags as a file names them, and its parameters."""
    return {
        option.lstrip("-"): str(param.name)
        for param in command.params
        if isinstance(param, click.Option)
        for option in param.opts
        if option.startswith("--")
    }


def _names_of_all(ctx: click.Context) -> set[str]:
    group = ctx.find_root().command
    if not isinstance(group, click.Group):
        return set()
    commands = (group.get_command(ctx, name) for name in group.list_commands(ctx))
    return {name for command in commands if command is not None for name in _names(command)}


def _as_typed(path: Path, key: str, value: object) -> object:
    """A value as it would stand on the command line, where flags are read from text."""
    match value:
        case bool():
            return value
        case str() | int() | float():
            return _as_word(path, key, value)
        case list() if all(isinstance(item, str | int) for item in value):
            return [_as_word(path, key, item) for item in value]
        case _:
            raise UsageFault(f"{path}: {key} is neither text nor a number, true, false or a list of them.")


def _as_word(path: Path, key: str, value: str | float) -> str:
    """What no command line can hold, no file can either: nor can the name of any file hold it."""
    try:
        word = str(value)
    except ValueError:  # more digits than Python writes out
        raise UsageFault(f"{path}: {key} is a number that is too long.") from None
    if "\0" in word:
        raise UsageFault(f"{path}: {key} holds a NUL character, which no value can.")
    return word

"""Which values can a flag take that click does not know: lengths, durations, headers, outcomes?

Each is a function from the text of the command line; what it cannot read it refuses with a click.BadParameter, to
which click adds the name of the flag.
"""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fuzzer.model import Outcome
from targets.address import parse
from targets.errors import TargetUnusable

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.shell_completion import CompletionItem

DECIMAL = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
BINARY = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600}
SHORTEST_INTERVAL_S = 0.5
UNSAID = "..."  # in a command line that ctxfuzz prints, for the value of a header

FAILURES = (Outcome.DEATH, Outcome.ERROR, Outcome.HANG, Outcome.TRUNCATED, Outcome.GARBLED, Outcome.DEGRADED)


DATABASES = (b"SQLite format 3", b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")  # how one begins, and its journal


class OutputFile(click.Path):
    """A file to be written. One that is there is replaced, but no database: least of all the record itself."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False, path_type=Path)

    def convert(
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> str | bytes | os.PathLike[str]:
        file = super().convert(value, param, ctx)
        if is_database(Path(os.fsdecode(file))):
            self.fail(f"{os.fsdecode(file)} is a database, and would be lost: choose another file", param, ctx)
        return file


def is_database(file: Path) -> bool:
    """Is it one that is there, and would be lost? Its name says nothing."""
    try:
        if not file.is_file():  # what is no file is not read: a pipe would wait
            return False
        with file.open("rb") as content:
            return content.read(16).startswith(DATABASES)
    except OSError:
        return False  # whoever writes to it will say so


def length(text: str) -> int:
    """Tokens, at least 1, as vLLM writes them: 8k is 8000, 8K is 8192, 25.6k is 25600, 1_000 is 1000."""
    found = re.fullmatch(r"(\d{1,15}(?:_\d{1,15})*)(\.\d{1,15})?([kKmMgGtT]?)", text.strip(), re.ASCII)
    if found is not None:
        whole, fraction, suffix = found[1], found[2] or "", found[3]
        tokens = Decimal(whole.replace("_", "") + fraction) * (DECIMAL | BINARY | {"": 1})[suffix]
        if tokens >= 1 and tokens == int(tokens) and (not fraction or suffix in DECIMAL):
            return int(tokens)
    raise click.BadParameter(f"{text!r} is no length; write tokens: 262144, 262_144, 256K (x 1024), 300k (x 1000)")


def count(text: str) -> int:
    """A number of things, 0 or more."""
    if re.fullmatch(r"\d{1,9}", text.strip(), re.ASCII) is None:
        raise click.BadParameter(f"{text!r} is no count; write a whole number, 0 or more")
    return int(text)


def duration(text: str) -> float:
    """Seconds: 90, 90s, 1.5m, 2h."""
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)([smh]?)", text.strip(), re.ASCII)
    if found is None:
        raise click.BadParameter(f"{text!r} is no span of time; write seconds, or 90s, 30m, 2h")
    return float(found[1]) * SECONDS[found[2]]


def interval(text: str) -> float:
    """Seconds between two looks at the target's health, at least half a second: more often would be a load."""
    seconds = duration(text)
    if seconds < SHORTEST_INTERVAL_S:
        raise click.BadParameter(f"health is asked for at most twice a second: write {SHORTEST_INTERVAL_S} or more")
    return seconds


def probe(text: str) -> tuple[str, int]:
    """One recorded probe: RUN:NUMBER, where RUN is an id, the beginning of one, or 'last'."""
    run, colon, seq = text.strip().rpartition(":")
    if not colon or not run or re.fullmatch(r"\d{1,9}", seq, re.ASCII) is None:
        raise click.BadParameter(f"{text!r} is no probe; write RUN:NUMBER, like last:17")
    return run, int(seq)


def moment(text: str) -> datetime:
    """A point in time: 2026-11-29, 2026-11-29T17:00 (local unless it says otherwise), or so long ago: 90m, 12h, 7d."""
    ago = re.fullmatch(r"(\d{1,6})([mhd])", text.strip(), re.ASCII)
    try:
        if ago is not None:
            return datetime.now(UTC) - timedelta(minutes=int(ago[1]) * {"m": 1, "h": 60, "d": 1440}[ago[2]])
        return datetime.fromisoformat(text.strip()).astimezone(UTC)
    except (ValueError, OverflowError):
        raise click.BadParameter(f"{text!r} is no moment; write 2026-11-29, 2026-11-29T17:00, 12h or 7d") from None


def rate(text: str) -> float:
    """A probability, strictly between 0 and 1."""
    if re.fullmatch(r"0?\.\d{1,12}", text.strip(), re.ASCII) is None or float(text) == 0:
        raise click.BadParameter(f"{text!r} is no probability; write a number between 0 and 1, like 0.95")
    return float(text)


def url(text: str) -> str:
    """An http or https URL with a host. A refusal never quotes a password in it."""
    try:
        parse(text)
    except TargetUnusable as unusable:
        raise click.BadParameter(str(unusable)) from None
    return text.strip()


def named_url(text: str) -> tuple[str, str]:
    """A name and an http or https URL, written NAME=URL."""
    name, equals, address = text.partition("=")
    if not equals or re.fullmatch(r"[\w.-]+", name.strip()) is None:
        raise click.BadParameter("write NAME=URL, the name in letters, digits, dots and dashes")
    return name.strip(), url(address)


def lengths(text: str) -> tuple[int, ...]:
    """A comma-separated list of lengths: 8k,64k,148503."""
    return tuple(length(word) for word in text.split(","))


def choices(known: tuple[str, ...]) -> Callable[[str], tuple[str, ...]]:
    """A comma-separated list of these words."""

    def chosen(text: str) -> tuple[str, ...]:
        words = tuple(dict.fromkeys(word.strip() for word in text.split(",")))
        for word in words:
            if word not in known:
                raise click.BadParameter(f"{word!r} is none of {', '.join(known)}")
        return words

    return chosen


def header(text: str) -> tuple[str, str]:
    """One HTTP header, written 'Name: value'."""
    name, colon, content = text.partition(":")
    name, content = name.strip(), content.strip()
    can_be_sent = content.isascii() and content.isprintable()
    if not colon or re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name) is None or not can_be_sent:
        raise click.BadParameter("a header is written 'Name: value', in plain ASCII and one line")
    if content == UNSAID:
        raise click.BadParameter(f"{name}: {UNSAID} only stands for its value, which no record keeps; write that")
    return name, content


def key(text: str) -> str:
    """An API key as it can be sent. A refusal never quotes it; a file's last newline is not of it."""
    text = text.strip()
    if not text.isascii() or not text.isprintable():
        raise click.BadParameter("a key is plain ASCII in one line; read from a file, that must hold nothing else")
    return text


def tokenizer(text: str) -> str:
    """Where a tokenizer is, from wherever the run goes on; what is not here stays the name that it is."""
    return str(Path(text).absolute()) if os.path.exists(text) else text  # noqa: PTH110  (Path's own may raise)


def certificates(_ctx: click.Context, _param: click.Parameter, file: Path | None) -> Path | None:
    """A file of certificates that can be read as such."""
    if file is None:
        return None
    import ssl  # noqa: PLC0415  (only where there is one)

    try:
        ssl.create_default_context(cafile=file)
    except OSError as error:
        raise click.BadParameter(f"{file} holds no certificate in PEM form that can be read ({error})") from None
    return file


def outcomes(text: str) -> frozenset[Outcome]:
    """A comma-separated set of the outcomes that count as failures."""
    words = [word.strip() for word in text.split(",")]
    for word in words:
        if word not in FAILURES:
            raise click.BadParameter(f"{word!r} cannot be failed on; choose from {', '.join(FAILURES)}")
    return frozenset(Outcome(word) for word in words)


def complete_outcomes(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Completes the last word of a comma-separated set of outcomes."""
    from click.shell_completion import CompletionItem  # noqa: PLC0415  (only a shell that completes needs it)

    done, comma, last = incomplete.rpartition(",")
    return [CompletionItem(done + comma + word) for word in FAILURES if word.startswith(last)]

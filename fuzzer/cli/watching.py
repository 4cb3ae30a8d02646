"""Who watches a run, and how: a live view on a terminal, plain lines in a pipe, nobody when told to be quiet?"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO, cast

from fuzzer.cli.streams import Sturdy
from fuzzer.events import Event

if TYPE_CHECKING:
    from rich.console import Console

    from fuzzer.cli.flags import CommonFlags

Listeners = Sequence[Callable[[Event], None]]


@contextmanager
def watching(flags: CommonFlags) -> Iterator[Listeners]:
    """The listeners that the flags and stderr ask for, while a run goes on."""
    if flags.quiet:
        yield ()
    elif sys.stderr.isatty() and not is_dumb() and "CI" not in os.environ:
        from fuzzer.console.live import LiveConsole  # noqa: PLC0415  (rich only where it is seen)

        with LiveConsole(console(sys.stderr), verbose=flags.verbose) as live:
            yield (live,)
    else:
        from fuzzer.console.lines import LineConsole  # noqa: PLC0415

        yield (LineConsole(Sturdy(sys.stderr), verbose=flags.verbose),)


def is_dumb() -> bool:
    """Is the terminal one that cannot move its cursor?"""
    return os.environ.get("TERM", "dumb") in {"dumb", "unknown", ""}


def console(stream: TextIO) -> Console:
    """A rich console on `stream`: no markup, no guesses at what numbers are, and NO_COLOR honoured by rich itself."""
    from rich.console import Console  # noqa: PLC0415

    return Console(file=cast("TextIO", Sturdy(stream)), markup=False, emoji=False, highlight=False)

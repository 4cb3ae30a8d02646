"""Who watches a run, and how: a live view on a terminal, plain lines in a pipe, nobody when told to be quiet?"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from shutil import get_terminal_size
from typing import TYPE_CHECKING, TextIO, cast

from fuzzer.cli.secrecy import hidden_in_event
from fuzzer.cli.streams import Sturdy
from fuzzer.events import Event

if TYPE_CHECKING:
    from rich.console import Console

    from fuzzer.cli.common import CommonFlags

Listener = Callable[[Event], None]
Listeners = Sequence[Listener]


@contextmanager
def watching(flags: CommonFlags) -> Iterator[Listeners]:
    """The listeners that the flags and stderr ask for, while a run goes on."""
    if flags.quiet:
        yield ()
    elif sys.stderr.isatty() and not is_dumb() and "CI" not in os.environ:
        from fuzzer.console.live import LiveConsole  # noqa: PLC0415  (rich only where it is seen)

        with LiveConsole(console(sys.stderr), verbose=flags.verbose) as live:
            yield (_discreet(live),)
    else:
        from fuzzer.console.lines import LineConsole  # noqa: PLC0415

        yield (_discreet(LineConsole(Sturdy(sys.stderr), verbose=flags.verbose)),)


def _discreet(listener: Listener) -> Listener:
    """The listener, told of everything but secrets: it cuts and folds texts, and half a secret is not found again."""
    return lambda event: listener(hidden_in_event(event))


def is_dumb() -> bool:
    """Is the terminal one that cannot move its cursor?"""
    return os.environ.get("TERM", "dumb") in {"dumb", "unknown", ""}


def console(stream: TextIO) -> Console:
    """A rich console on `stream`: no markup, no guesses at what numbers are, and NO_COLOR honoured by rich itself."""
    from rich.console import Console  # noqa: PLC0415

    drawn = Console(file=cast("TextIO", Sturdy(stream)), markup=False, emoji=False, highlight=False)
    if drawn.width < 1:  # rich takes COLUMNS=0 at its word
        drawn.width = get_terminal_size().columns
    return drawn

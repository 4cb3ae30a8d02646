"""What happens at SIGINT, SIGTERM and SIGHUP, from the begin of a command to its very end?

The first one ends a command that drives no run, and asks a run to finish its row. Where the run has ended, its result
stands: the first one is then not heeded, for as long as sealing and telling may take. The second one leaves at once:
all that was observed is committed, and whoever asks twice does not want to wait for the engine.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TYPE_CHECKING, NoReturn

from fuzzer.cli.exits import Exit

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from types import FrameType
    from typing import Any

    import anyio

    _Handler = Callable[[int, FrameType | None], Any] | int | signal.Handlers | None

SHOW_CURSOR = b"\x1b[?25h\r\n"
STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
LEFT = b"Left at once; all that was answered is kept: `ctxfuzz runs` names the run, `ctxfuzz resume` goes on with it.\n"
LONGEST_LEAVING_S = 5.0


class _Attention:
    """Who hears the signals of this process. `tell` is told of the first one while a run goes on."""

    def __init__(self) -> None:
        self.tell: Callable[[signal.Signals], None] | None = None
        self.was_told = False
        self.has_concluded = False

    def listen(self) -> dict[signal.Signals, _Handler]:
        """Hear them from now on, and say who did before; those that are ignored (nohup) stay so."""
        before = {number: signal.getsignal(number) for number in STOPPING}
        taken = {number: who for number, who in before.items() if who not in (signal.SIG_IGN, self.hear)}
        for number in taken:
            signal.signal(number, self.hear)
        return taken

    def hear(self, number: int, _frame: FrameType | None) -> None:
        if self.was_told:
            _leave(LEFT if self.tell is not None else b"")
        self.was_told = True
        if self.tell is not None:
            self.tell(signal.Signals(number))
        elif self.has_concluded:
            signal.signal(signal.SIGALRM, lambda _number, _frame: _leave())
            signal.setitimer(signal.ITIMER_REAL, LONGEST_LEAVING_S)
        else:
            _write(f"{signal.Signals(number).name}: ended; no run was under way.\n".encode())
            raise SystemExit(Exit.INTERRUPTED)


_attention = _Attention()


@contextmanager
def heeded() -> Iterator[None]:
    """To be held around a whole program: no signal ends it in a way of its own. What comes last is not heeded at all,
    since the interpreter, as it ends, gives every signal back its deadly meaning.
    """
    _attention.listen()
    try:
        yield
    finally:
        for number in STOPPING:
            signal.signal(number, signal.SIG_IGN)


@asynccontextmanager
async def stop_on_signals(notice: Callable[[str], None]) -> AsyncIterator[anyio.Event]:
    """An event that the first signal sets. `notice` is told then, in one sentence."""
    import asyncio  # noqa: PLC0415  (heavy, and not every command runs anything)

    import anyio  # noqa: PLC0415

    requested = anyio.Event()
    loop = asyncio.get_running_loop()

    def ask(number: signal.Signals) -> None:
        notice(f"{number.name}: breaking this probe off; once more leaves at once.")
        requested.set()

    def tell(number: signal.Signals) -> None:
        loop.call_soon_threadsafe(ask, number)

    _attention.tell = tell
    before = _attention.listen()
    try:
        yield requested
    finally:
        _attention.tell, _attention.has_concluded = None, True
        if before:  # there is no program around this
            _attention.was_told = _attention.has_concluded = False
            for number, who in before.items():
                signal.signal(number, who)


def _leave(word: bytes = b"") -> NoReturn:
    if sys.stderr.isatty():
        _write(SHOW_CURSOR)  # a live view hides it
    _write(word)
    os._exit(Exit.INTERRUPTED)


def _write(text: bytes) -> None:
    """Past the stream, which may be in the middle of a write; a reader that has gone is no error."""
    with suppress(OSError):
        os.write(sys.stderr.fileno(), text)

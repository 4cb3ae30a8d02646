"""What happens at SIGINT, SIGTERM and SIGHUP? The first asks the run to finish its row; the second leaves at once."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, NoReturn

import anyio
import anyio.abc

from fuzzer.cli.exits import Exit

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

SHOW_CURSOR = b"\x1b[?25h\r\n"
STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@asynccontextmanager
async def stop_on_signals(notice: Callable[[str], None]) -> AsyncIterator[anyio.Event]:
    """An event that the first signal sets. `notice` is told then, in one sentence.

    The second signal ends the process without any cleaning up: all that was observed is already committed, and
    whoever asks twice does not want to wait for the engine.
    """
    requested = anyio.Event()
    async with anyio.create_task_group() as tasks:
        await tasks.start(_listen, requested, notice)
        yield requested
        tasks.cancel_scope.cancel()


async def _listen(
    requested: anyio.Event,
    notice: Callable[[str], None],
    *,
    task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
) -> None:
    heard = [number for number in STOPPING if signal.getsignal(number) is not signal.SIG_IGN]  # nohup stays in force
    with anyio.open_signal_receiver(*heard) as received:
        task_status.started()
        async for number in received:
            if requested.is_set():
                _leave()
            notice(f"{number.name}: finishing this probe's row; once more leaves at once.")
            requested.set()


def _leave() -> NoReturn:
    if sys.stderr.isatty():
        os.write(sys.stderr.fileno(), SHOW_CURSOR)  # a live view hides it
    os._exit(Exit.INTERRUPTED)

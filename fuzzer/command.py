"""What becomes of a command of the user's, run in a shell as they would? `--on-death`, `--engine-log-cmd`.

We wait for the shell and for nobody that it leaves behind: an engine that was started with `&` holds its output open
for as long as it lives. So that output goes to a process that outlives us too and keeps only its end: never to a file,
which would grow as long as the engine prints, and never to a pipe that nobody reads once we are gone.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from fuzzer.store.commands import secrets_of_command
from fuzzer.store.masking import Secrets

if TYPE_CHECKING:
    from collections.abc import Callable

DRAIN = Path(__file__).with_name("drain.py")
NOT_STARTED = 127  # what a shell says of a command that it cannot start


@dataclass(frozen=True, slots=True)
class Ended:
    """`code` is None where the shell has not ended yet; `said` is the end of all that was printed, without secrets."""

    code: int | None
    said: str


async def run(
    command: str, *, within_s: float, tail_bytes: int, stop: anyio.Event | None = None, kill: bool = False
) -> Ended:
    """Run it for `within_s` seconds at most, or until `stop` is set. Its stdin is empty. Raises nothing.

    It is a group of its own: a Ctrl-C at the terminal is for us. One that has not ended by then is let be, or with
    `kill` ended, and whatever it started with it.
    """
    try:
        drain, printed = _drain(tail_bytes)
    except OSError as error:  # no room for one more process
        return _not_started(error)
    try:
        process = subprocess.Popen(  # noqa: S602, ASYNC220  (the user's own words; it returns at once)
            command,
            shell=True,
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=printed,
            process_group=0,
        )
    except OSError as error:  # or for so long a command
        os.close(printed)
        await _told(drain)
        return _not_started(error)
    os.close(printed)
    try:
        await _first(within_s, _end_of(process), *([] if stop is None else [stop]))
    finally:
        code = process.returncode  # set by the thread that waits
        if kill and code is None:
            with suppress(ProcessLookupError):  # it ends by itself just now
                os.killpg(process.pid, signal.SIGKILL)
    said = await _told(drain)
    return Ended(code, Secrets(secrets_of_command(command)).out_of(said))


def _not_started(error: OSError) -> Ended:
    return Ended(NOT_STARTED, error.strerror or "it could not be started")


def _drain(most_bytes: int) -> tuple[subprocess.Popen[bytes], int]:
    """Who takes in what is printed, and where to print it. No signal for us or from a terminal reaches it."""
    reading, printed = os.pipe()
    try:
        drain = subprocess.Popen(  # noqa: S603  (our own)
            [sys.executable, "-I", "-S", str(DRAIN), str(reading), str(most_bytes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            pass_fds=[reading],
            start_new_session=True,
        )
    except OSError:
        os.close(printed)
        raise
    finally:
        os.close(reading)
    Thread(target=drain.wait, daemon=True).start()
    return drain, printed


async def _told(drain: subprocess.Popen[bytes]) -> str:
    """The end of what was printed so far. The drain itself goes on, for whoever still prints."""
    assert drain.stdin is not None
    assert drain.stdout is not None
    drain.stdin.close()
    with drain.stdout:
        told = await anyio.to_thread.run_sync(drain.stdout.read)
    return told.decode(errors="replace")


def _end_of(process: subprocess.Popen[bytes]) -> anyio.Event:
    """Is set when it ends. A thread waits and not the event loop, which at its own end would kill it."""
    ended = anyio.Event()
    loop = asyncio.get_running_loop()
    Thread(target=_await_end, args=(process, loop, ended.set), daemon=True).start()
    return ended


def _await_end(process: subprocess.Popen[bytes], loop: asyncio.AbstractEventLoop, tell: Callable[[], None]) -> None:
    process.wait()
    with suppress(RuntimeError):  # we are gone ourselves
        loop.call_soon_threadsafe(tell)


async def _first(within_s: float, *events: anyio.Event) -> None:
    """Wait for the first of them, for so many seconds at most."""
    with anyio.move_on_after(within_s):
        async with anyio.create_task_group() as waiting:

            async def heed(event: anyio.Event) -> None:
                await event.wait()
                waiting.cancel_scope.cancel()

            for event in events:
                waiting.start_soon(heed, event)

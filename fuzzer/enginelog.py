"""Where is the engine's own log read? From a file, or from what a command prints; only what is new, and bounded.

Engines log keys, tokens and signed URLs: these are masked before anything is made of what was read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import anyio

from fuzzer.command import run
from fuzzer.lastwords import LastWords, read, since
from fuzzer.store.masking import masked_words

READ_BYTES = 1 << 17  # of what is new, the end
COMMAND_S = 15.0


class EngineLog(Protocol):
    """Reads an engine's log. Raises nothing for a log that is not there: the engine may not have begun it."""

    async def mark(self) -> None:
        """What stands in the log by now is old."""
        ...

    async def last_words(self) -> LastWords:
        """The last words in what is new since the mark."""
        ...


@dataclass(slots=True)
class LogFile:
    """`--engine-log FILE`. A file that is shorter than it was has been started anew: then all of it is new."""

    path: str
    _old: int = 0

    async def mark(self) -> None:
        self._old = await self._size()

    async def last_words(self) -> LastWords:
        size = await self._size()
        new = self._old if size >= self._old else 0
        try:
            async with await anyio.open_file(self.path, "rb") as log:
                await log.seek(max(new, size - READ_BYTES))
                return _read((await log.read(READ_BYTES)).decode(errors="replace"))
        except OSError:
            return LastWords()

    async def _size(self) -> int:
        try:
            return (await anyio.Path(self.path).stat()).st_size
        except OSError:
            return 0


@dataclass(slots=True)
class LogCommand:
    """`--engine-log-cmd CMD`: `kubectl logs --previous`, `journalctl -u`, `docker logs`. It repeats what is old.

    One that never ends (`-f`) is killed after 15 s: what it printed by then is read.
    """

    command: str
    _old: str = ""

    async def mark(self) -> None:
        """Asked once: from then on what it printed at a death is old at the next."""
        if not self._old:
            self._old = await self._printed()

    async def last_words(self) -> LastWords:
        printed = await self._printed()
        words = _read(since(printed, self._old))
        self._old = printed or self._old
        return words

    async def _printed(self) -> str:
        return (await run(self.command, within_s=COMMAND_S, tail_bytes=READ_BYTES, kill=True)).said


def _read(log: str) -> LastWords:
    return read(masked_words(log))

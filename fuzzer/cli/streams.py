"""Where does text go? The result to stdout, all the rest to stderr; neither may end a run by being closed."""

from __future__ import annotations

import os
import sys
from typing import TextIO

from fuzzer.cli.secrecy import hidden


def reopen_closed() -> None:
    """Let the null device stand in for a standard stream that was closed: else the next file opened would be it."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(null, "w" if number else "r"))


def emit(text: str) -> None:
    """Print the result. A reader that has gone (`| head -1`) is no error: it has seen what it wanted."""
    text = _encodable(hidden(text), sys.stdout)
    try:
        sys.stdout.write(text if text.endswith("\n") else text + "\n")
        sys.stdout.flush()
    except OSError:  # a pipe that nobody reads any more, a terminal that was closed
        # What is left in the buffer would raise again when the interpreter closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say(text: str) -> None:
    """Print one line to stderr, for the person that watches."""
    Sturdy(sys.stderr).write(f"{text}\n")


class Sturdy:
    """A text stream whose reader may leave at any moment: then it falls silent, and the run goes on."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.encoding = stream.encoding

    def write(self, text: str) -> int:
        try:
            self._stream.write(_encodable(hidden(text), self._stream))
            self._stream.flush()
        except OSError:
            self._silence()
        return len(text)

    def flush(self) -> None:
        """Every write is flushed already."""

    def isatty(self) -> bool:
        return self._stream.isatty()

    def fileno(self) -> int:
        return self._stream.fileno()

    def _silence(self) -> None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())


def _encodable(text: str, stream: TextIO) -> str:
    """`text` with escapes for what the stream's encoding does not have: a narrow locale must not end a run."""
    encoding = stream.encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)

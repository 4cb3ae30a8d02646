"""Where does text go? The result to stdout, all the rest to stderr; neither may end a run by being closed."""

from __future__ import annotations

import errno
import os
import stat
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from fuzzer.cli.secrecy import hidden
from fuzzer.errors import UsageFault

if TYPE_CHECKING:
    from collections.abc import Iterator


def reopen_closed() -> None:
    """Let the null device stand in for a standard stream that was closed: else the next file opened would be it."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(null, "w" if number else "r"))


def emit(text: str) -> None:
    """Print the result. Raises UsageFault where it could not be written."""
    emit_hidden(hidden(text))


def emit_hidden(text: str) -> None:
    """The same of a text in which nothing is left to be hidden."""
    text = _encodable(text, sys.stdout)
    with _to_stdout():
        sys.stdout.write(text if text.endswith("\n") else text + "\n")
        sys.stdout.flush()


def emit_bytes(content: bytes) -> None:
    """Print these very bytes. Raises UsageFault where they could not be written."""
    with _to_stdout():
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()


@contextmanager
def _to_stdout() -> Iterator[None]:
    """A reader that has gone (`| head -1`) is no error: it has seen what it wanted. A disk that is full is one."""
    try:
        yield
    except OSError as error:
        gone = _reader_is_gone(error, sys.stdout.fileno())
        # What is left in the buffer would raise again when the interpreter closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not gone:
            raise UsageFault(f"The result cannot be written to stdout ({error.strerror}): send it elsewhere.") from None


def _reader_is_gone(error: OSError, number: int) -> bool:
    """A pipe or a connection that nobody reads any more, or a terminal that was closed."""
    is_device = stat.S_ISCHR(os.fstat(number).st_mode)
    return isinstance(error, ConnectionError) or (error.errno == errno.EIO and is_device)


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

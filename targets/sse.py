"""Which events does a server-sent event stream hold? Sans I/O: bytes in, events out, at any split.

Follows the WHATWG rules for `text/event-stream`, with bounds that the standard leaves to us, and with what servers
write that fail: `error: {...}`, as llama.cpp wrote its errors for long, is an event of that name; a comment in an event
of that name is its data (Dynamo); and JSON on a line of its own, without `data:`, is an event (Ollama, Xinference).
"""

from __future__ import annotations

from codecs import getincrementaldecoder
from dataclasses import dataclass

MAX_EVENT = 1 << 20  # characters of one line or one event's data


class OversizeError(Exception):
    """A line or an event went past its bound."""


@dataclass(frozen=True, slots=True)
class ServerSentEvent:
    data: str
    event: str = "message"


class SseParser:
    """Feed it bytes as they come; it returns the events that they complete. Invalid UTF-8 becomes U+FFFD."""

    def __init__(self, max_event: int = MAX_EVENT) -> None:
        self._decode = getincrementaldecoder("utf-8")("replace").decode
        self._max = max_event
        self._line: list[str] = []
        self._line_size = 0
        self._data: list[str] = []
        self._data_size = 0
        self._event = ""
        self._at_start = True
        self._after_cr = False

    def feed(self, data: bytes) -> list[ServerSentEvent]:
        """The events that these bytes complete. Raises OversizeError past the bound, after which it is of no use."""
        text = self._decode(data)
        if self._at_start and text:
            self._at_start = False
            text = text.removeprefix("\ufeff")
        if self._after_cr and text:
            self._after_cr = False
            text = text.removeprefix("\n")
        self._after_cr = self._after_cr or text.endswith("\r")
        *whole, rest = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        events = []
        for piece in whole:
            self._grow(piece)
            line = "".join(self._line)
            self._line.clear()
            self._line_size = 0
            event = self._take(line)
            if event is not None:
                events.append(event)
        self._grow(rest)
        return events

    def end(self) -> list[ServerSentEvent]:
        """What the last line held where nothing ended it: JSON of its own, or else nothing."""
        line = "".join(self._line)
        return [ServerSentEvent(line)] if line.startswith('{"') else []

    def _grow(self, piece: str) -> None:
        self._line_size += len(piece)
        if self._line_size > self._max:
            raise OversizeError
        if piece:
            self._line.append(piece)

    def _take(self, line: str) -> ServerSentEvent | None:
        if not line:
            return self._dispatch()
        if line.startswith('{"'):
            return ServerSentEvent(line)
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "error":
            self._event = name
        if name in {"data", "error"} or (not name and self._event == "error"):
            self._data_size += len(value) + 1
            if self._data_size > self._max:
                raise OversizeError
            self._data.append(value)
        elif name == "event":
            self._event = value
        return None  # a comment, `id`, `retry` or an unknown field: nothing that we use

    def _dispatch(self) -> ServerSentEvent | None:
        data, event = self._data, self._event
        self._data, self._data_size, self._event = [], 0, ""
        return ServerSentEvent("\n".join(data), event or "message") if data else None

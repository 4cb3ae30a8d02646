"""What has come back of one generation, and was that all? Sans I/O: status, headers and bytes in, a Reply out.

Takes a whole JSON body or an event stream. Everything is bounded by what was asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from targets.base import Fault, Reply, ServerError
from targets.bodies import at, event_error, parsed, server_error, visible
from targets.bounds import Bounds
from targets.chunks import Chunks
from targets.echo import Echo
from targets.sse import OversizeError, SseParser

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from targets.base import Generation
    from targets.exchange import Exchange
    from targets.sse import ServerSentEvent

EXCERPT_CHARS = 2_048
_WORDS_CHARS = 200
_UNASKED_TOKENS = 1 << 20  # how many output tokens to expect where the request named no number


@dataclass(slots=True)
class Answer:
    """The sink of one generation's response."""

    generation: Generation
    status: int = 0
    done: bool = False  # `[DONE]` was read
    stopped: bool = False
    oversize: bool = False
    unreadable: bool = False  # the whole body is no JSON although it is a 200
    error: ServerError | None = None
    said: Chunks = field(default_factory=Chunks)
    events: int = 0  # chunks with a token in them
    first_token_s: float | None = None
    on_token: Callable[[], None] = lambda: None  # called at each token that was asked for
    _raw: bytearray = field(default_factory=bytearray)
    _asked: int = field(init=False)
    _bounds: Bounds = field(init=False)
    _taken: int = 0
    _kept: int = 0  # of those taken, bytes that are no echo of the prompt
    _heard: int = 0  # events, with a token in them or not
    _blank: int = 0  # of those with a token, without text: it may be half a character, or but a sign of life
    _echo: Echo = field(default_factory=Echo)
    _sse: SseParser | None = None
    _odd: str = ""  # the first event that was no JSON

    def __post_init__(self) -> None:
        asked = self.generation.max_tokens
        self._asked = _UNASKED_TOKENS if asked is None else asked
        self._bounds = Bounds.of(self._asked, self.generation.prompt.tokens)

    def begin(self, status: int, headers: Mapping[str, str], at_s: float) -> None:  # noqa: ARG002
        """A stream says so; where a 200 to a request for a stream says nothing of its type, it is taken for one."""
        self.status = status
        kind = headers.get("content-type", "").lower()
        untyped = self.generation.stream and status == 200 and not ("json" in kind or "html" in kind)
        if "event-stream" in kind or untyped:
            self._sse = SseParser()

    def feed(self, data: bytes, at_s: float) -> bool:
        self._taken += len(data)
        if self.generation.token_ids:
            data = self._echo.without(data)
        self._kept += len(data)
        most = self._bounds
        if self._kept > (most.whole if self._sse is None else most.streamed) or self._taken - self._kept > most.echo:
            self.oversize = True
            return False
        if self._sse is None:
            self._raw += data
            return True
        self._raw += data[: EXCERPT_CHARS - len(self._raw)]
        try:
            events = self._sse.feed(data)
        except OversizeError:
            self.oversize = True
            return False
        return all(self._event(event, at_s) for event in events)

    def reply(self, seen: Exchange) -> Reply:
        """Everything that was seen, as one Reply."""
        if seen.ended:
            self._end(seen)
        said = self.said
        fault, fault_text = self._fault(seen)
        ordinary = self.status == 200 and fault is None and self.error is None and not self._odd
        return Reply(
            sent=seen.sent,
            status=seen.status,
            fault=fault,
            fault_text=fault_text,
            headers=seen.headers,
            complete=self._complete(seen) and fault is None,
            stopped=self.stopped,
            error=self.error,
            error_in_stream=self.error is not None and self._sse is not None,
            text=said.text,
            text_chars=said.text_chars,
            token_ids=tuple(said.token_ids),
            finish_reason=said.finish_reason,
            model=said.model,
            provider=said.provider,
            also=said.also,
            events=self.events,
            usage=said.usage,
            draft=said.draft,
            excerpt="" if ordinary else self._excerpt(),
            first_byte_s=seen.first_byte_s,
            first_token_s=self.first_token_s,
            ended_s=seen.ended_s,
            bytes_sent=seen.bytes_sent,
        )

    def _fault(self, seen: Exchange) -> tuple[Fault | None, str]:
        """What was wrong with it, and in which words: that of the wire only where we had nothing against it."""
        if self.oversize:
            return Fault.OVERSIZE, f"more than is read of an answer: {self._taken} bytes, {self.events} events"
        if self.unreadable:
            words = visible(self._excerpt())[:_WORDS_CHARS]
            return Fault.PROTOCOL, "a 200 whose body is no JSON object with choices" + (f": {words}" if words else "")
        return seen.fault, seen.fault_text

    def _complete(self, seen: Exchange) -> bool:
        """A stream is complete with a finish reason and then `[DONE]` or a clean end; a body when it was read whole.

        Some servers leave the reason out: `[DONE]` after all that was asked, or after a last chunk that counts
        the tokens, is an end, too. Whether it is one of a server that gives reasons, its other answers tell.
        """
        if self._sse is None:
            return seen.ended
        told = self.said.usage.completion_tokens
        all_came = told is not None and (told >= self._asked or (self.said.counted and told + 1 >= self.events))
        ended = (self.said.finish_reason is not None and (self.done or seen.ended)) or (self.done and all_came)
        return self.error is None and ended

    def _excerpt(self) -> str:
        return bytes(self._raw[: EXCERPT_CHARS * 4]).decode("utf-8", "replace")[:EXCERPT_CHARS]

    def _event(self, event: ServerSentEvent, at_s: float) -> bool:
        """Take one event of a stream. False where nothing after it is of interest."""
        self._heard += 1
        if self._heard > self._bounds.events:
            self.oversize = True
            return False
        if event.data.strip() == "[DONE]":
            self.done = True
            return False
        value = parsed(event.data)
        self.error = event_error(event.event, event.data, value)
        if self.error is not None:
            return False
        if not isinstance(value, dict):
            self._odd = self._odd or event.data[:EXCERPT_CHARS]
            return True
        chars = self.said.text_chars
        if self.said.take(value):
            self.events += 1
            self._blank += self.said.text_chars == chars
            if self.events <= self._asked:
                self.on_token()
            if self.first_token_s is None:
                self.first_token_s = at_s
        if self.events - self._blank > self._bounds.tokens:
            self.oversize = True
            return False
        stop_after = self.generation.stop_after
        self.stopped = stop_after is not None and self.events >= stop_after
        return not self.stopped

    def _end(self, seen: Exchange) -> None:
        """Read what only its end completes."""
        if self._sse is None:
            self._whole(seen.first_byte_s)
        elif not (self.done or self.stopped or self.error):
            for event in self._sse.end():
                self._event(event, seen.ended_s)

    def _whole(self, at_s: float | None) -> None:
        if not self._bounds.admit(self._raw):
            self.oversize = True
            return
        value = parsed(bytes(self._raw))
        self.error = server_error(value)
        if self.status != 200 or self.error is not None:
            return
        if isinstance(value, dict) and isinstance(at(value, "choices.0"), dict):
            self.said.take(value)
            self.events, self.first_token_s = 1, at_s
        else:
            self.unreadable = True

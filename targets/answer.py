"""What has one generation answered so far? Sans I/O: status, headers and chunks in, the parts of a Reply out.

Takes a whole JSON body or an event stream, `/v1/completions` or chat. Everything is bounded by what was asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from targets.base import Fault, Reply, ServerError, Usage
from targets.bodies import at, draft_counts, event_error, merged, parsed, server_error, string, usage, visible
from targets.bodies import token_ids as ids_in
from targets.bounds import Bounds
from targets.echo import Echo
from targets.scrape import DraftCounts
from targets.sse import OversizeError, SseParser

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from targets.base import Generation
    from targets.exchange import Exchange
    from targets.sse import ServerSentEvent

TEXT_CHARS = 4_096
EXCERPT_CHARS = 2_048
IDS_KEPT = 256
_WORDS_CHARS = 200
_UNASKED_TOKENS = 1 << 20  # how many output tokens to expect where the request named no number
_TEXT_FIELDS = ("content", "reasoning_content", "reasoning", "refusal", "tool_calls")
_PART_FIELDS = ("text", "thinking", "function.arguments")


@dataclass(slots=True)
class Answer:
    """The sink of one generation's response."""

    generation: Generation
    status: int = 0
    done: bool = False  # `[DONE]` was read
    counted: bool = False  # its last chunk, and no other, told how many tokens there are
    stopped: bool = False
    oversize: bool = False
    unreadable: bool = False  # the whole body is no JSON although it is a 200
    error: ServerError | None = None
    text: str = ""
    text_chars: int = 0
    token_ids: list[int] = field(default_factory=list)
    finish_reason: str | None = None
    model: str = ""
    provider: str = ""
    also: str = ""
    events: int = 0
    usage: Usage = field(default_factory=Usage)
    draft: DraftCounts | None = None
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
        fault, fault_text = seen.fault, seen.fault_text
        if self.oversize:
            fault, fault_text = (
                Fault.OVERSIZE,
                f"more than is read of an answer: {self._taken} bytes, {self.events} events",
            )
        elif self.unreadable:
            fault, fault_text = Fault.PROTOCOL, "a 200 whose body is no JSON object with choices"
            if words := visible(self._excerpt())[:_WORDS_CHARS]:
                fault_text += f": {words}"
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
            text=self.text,
            text_chars=self.text_chars,
            token_ids=tuple(self.token_ids[:IDS_KEPT]),
            finish_reason=self.finish_reason,
            model=self.model,
            provider=self.provider,
            also=self.also,
            events=self.events,
            usage=self._usage,
            draft=self.draft,
            excerpt="" if ordinary else self._excerpt(),
            first_byte_s=seen.first_byte_s,
            first_token_s=self.first_token_s,
            ended_s=seen.ended_s,
            bytes_sent=seen.bytes_sent,
        )

    @property
    def _usage(self) -> Usage:
        """Who counts no tokens of a text that is there does not count them."""
        is_told = self.usage.completion_tokens != 0 or not self.text_chars
        return self.usage if is_told else replace(self.usage, completion_tokens=None)

    def _complete(self, seen: Exchange) -> bool:
        """A stream is complete with a finish reason and then `[DONE]` or a clean end; a body when it was read whole.

        Some servers leave the reason out: `[DONE]` after all that was asked, or after a last chunk that counts
        the tokens, is an end, too. Whether it is one of a server that gives reasons, its other answers tell.
        """
        if self._sse is None:
            return seen.ended
        told = self._usage.completion_tokens
        all_came = told is not None and (told >= self._asked or (self.counted and told + 1 >= self.events))
        ended = (self.finish_reason is not None and (self.done or seen.ended)) or (self.done and all_came)
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
        chars = self.text_chars
        if self._take(value):
            self.events += 1
            self._blank += self.text_chars == chars
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
            self._take(value)
            self.events, self.first_token_s = 1, at_s
        else:
            self.unreadable = True

    def _named(self, first: str, told: object) -> str:
        """The first name of its kind that was told. Another one later is kept beside it: somebody else went on."""
        name = (string(told) or "")[:_WORDS_CHARS]
        if first and name and name != first:
            self.also = name
        return first or name

    def _take(self, value: dict[str, Any]) -> bool:
        """Take a chunk's parts; True where it carries a token."""
        self.counted = self.usage == Usage()
        self.usage = merged(self.usage, usage(value.get("usage")))
        self.counted &= self.usage != Usage()
        self.model = self._named(self.model, value.get("model"))
        self.provider = self._named(self.provider, value.get("provider"))
        self.draft = draft_counts(value.get("timings")) or self.draft
        choice = at(value, "choices.0")
        if not isinstance(choice, dict):
            return False
        part = choice.get("delta") or choice.get("message") or {}
        text = choice.get("text")
        if not isinstance(text, str):
            text = "".join(_words(at(part, name)) for name in _TEXT_FIELDS)
        self.text_chars += len(text)
        self.text += text[: TEXT_CHARS - len(self.text)]
        if len(self.token_ids) < IDS_KEPT:
            self.token_ids += ids_in(choice.get("token_ids")) or []
        finish = choice.get("finish_reason")
        if isinstance(finish, str) and finish:
            self.finish_reason = finish[:64]
        opens = "delta" in choice and (at(part, "role") is not None or not part)
        return bool(text) or not (opens or finish)


def _words(content: object, deep: int = 2) -> str:
    """The text of one field: as a string, or as a list of parts, which may hold such lists themselves."""
    if isinstance(content, list) and deep:
        return "".join(_words(at(part, name), deep - 1) for part in content for name in _PART_FIELDS)
    return content if isinstance(content, str) else ""

"""Which plain data crosses a target's wire? Pure: no I/O, no clock.

Everything here is a fact that a client can observe. What a fact *means* (a death, an error, a hang) is decided
in `fuzzer.outcome`, never here. Lengths are tokens, durations are seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from targets.scrape import DraftCounts

Mode = Literal["ids", "text", "chat"]
ProxyKind = Literal[
    "body-limit", "deadline", "upstream-lost", "broken", "blocked", "auth", "redirect", "not-found", "bad-request"
]


class Fault(StrEnum):
    """How a connection ended when it did not end with a complete answer."""

    REFUSED = "refused"  # nobody listens; not a byte of the request left
    NO_ROUTE = "no_route"  # DNS, no route, connect timeout: the address cannot be reached; nothing left
    TLS = "tls"  # the handshake failed; nothing left
    PROXY = "proxy"  # our own forward proxy refused; nothing reached the target
    RESET = "reset"  # the peer reset the connection while we wrote or read
    NETWORK = "network"  # our network, or the host that it led to, went away under a request in flight
    CUT = "cut"  # the peer closed before the answer was complete
    TIMEOUT = "timeout"  # we stopped waiting (our deadline, never the peer's)
    PROTOCOL = "protocol"  # what came back is not HTTP, not decodable, or a redirect loop
    OVERSIZE = "oversize"  # the answer went on past what we agreed to read

    @property
    def nothing_sent(self) -> bool:
        """True where the fault proves that no byte of the request reached the target."""
        return self in {Fault.REFUSED, Fault.NO_ROUTE, Fault.TLS, Fault.PROXY}

    @property
    def lost(self) -> bool:
        """True where the peer went away under a request in flight."""
        return self in {Fault.RESET, Fault.CUT}


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt that is ready to send.

    `json` is the encoded JSON value of the request's `prompt` (ids, text) or `messages` (chat); `tokens` is our own
    count of it, without anything that the server adds (BOS, template); `estimated` marks a count no tokenizer made.
    """

    mode: Mode
    json: bytes
    tokens: int
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class Generation:
    """One generation to ask for. `max_tokens=None` leaves it out of the request."""

    prompt: Prompt
    max_tokens: int | None
    stream: bool = True
    temperature: float = 0.0
    ignore_eos: bool = True
    min_tokens: int | None = None
    cache_salt: str | None = None
    cold: bool = True  # ask the engine not to use its prompt cache, where one request can ask that
    stop_after: int | None = None  # close the connection after so many answer events, on purpose
    token_ids: bool = False  # ask for the ids of what is generated (where `Traits.token_ids`)


@dataclass(frozen=True, slots=True)
class Usage:
    """The server's own counts, in tokens; None where it gave none (or gave nonsense: negative, NaN, a string)."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class ServerError:
    """An error that the server put in words: an error body, or an error event inside a 200."""

    message: str
    type: str | None = None
    code: int | str | None = None
    param: str | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """Everything that a client saw of one generation request. Times are seconds since the request was begun.

    `sent` is False only where it is certain that no byte of the request left. `complete` says that the answer's own
    end was seen (the whole body; for a stream a finish reason and `[DONE]` or a clean EOF after it). `excerpt` is at
    most 2,048 characters of the raw body where it was no ordinary answer. `text` is bounded (4,096 characters).
    """

    sent: bool
    status: int | None = None
    fault: Fault | None = None
    fault_text: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    complete: bool = False
    stopped: bool = False  # we closed it on purpose (`stop_after`)
    error: ServerError | None = None
    error_in_stream: bool = False
    text: str = ""
    text_chars: int = 0
    token_ids: tuple[int, ...] = ()  # first 256 generated ids, where the server tells them
    model: str = ""  # who answered, by the answer's own word
    provider: str = ""  # and who of several that serve that model
    also: str = ""  # another model, or provider, that it named before its end
    finish_reason: str | None = None
    events: int = 0  # answer events with a token in them (a stream), or 1 (a whole body)
    usage: Usage = field(default_factory=Usage)
    draft: DraftCounts | None = None  # per request, only where the engine says it per request
    excerpt: str = ""
    first_byte_s: float | None = None  # the first byte of the response (headers)
    first_token_s: float | None = None
    ended_s: float = 0.0
    bytes_sent: int = 0
    untaken: int = 0  # bytes of the request that the peer had not acknowledged when we hung up on it


@dataclass(frozen=True, slots=True)
class Refusal:
    """The engine refused a request for its length, and is well. `limit` is what it says its limit is, if it does.

    The other numbers in such a message lie in several versions, so they are not kept.
    """

    message: str
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class ProxySign:
    """The answer is somebody else's than the engine's: what kind, whose, and which setting changes it.

    `body-limit`: 413 that is no engine's, or words about the size of a body; `deadline`: 408, 504, 524;
    `upstream-lost`: the proxy lost the engine (502 that is no engine's, Envoy 503, LiteLLM 500 "Connection error",
    Cloudflare 520); `broken`: it failed itself, or hides how the engine did; `blocked`: a filter or a firewall turned
    the request away; `auth`: 401, 403, 407; `redirect`: 3xx; `not-found`: 404 or an unknown model; `bad-request`: the
    proxy cannot take this form of request.
    """

    kind: ProxyKind
    product: str  # nginx, envoy, litellm, cloudflare, or "a proxy"
    advice: str  # a sentence that names the setting to change


@dataclass(frozen=True, slots=True)
class Health:
    """One poll of the health endpoint: a status, or a fault. `at_s` is on the clock of whoever polled."""

    at_s: float
    status: int | None = None
    fault: Fault | None = None
    detail: str = ""  # at most 200 characters of the body where the status is not 200
    wait_s: float | None = None  # when to ask again, where that is named

    @property
    def turned_away(self) -> bool:
        """A door answered, for a rate or a key: that says nothing of the engine."""
        return self.status in {401, 403, 407, 429}

    @property
    def ok(self) -> bool:
        return self.status is not None and 200 <= self.status < 300

    @property
    def gone(self) -> bool:
        """Nobody listens, or the peer hangs up on us: the process is gone, or an honest proxy says so."""
        return self.fault in {Fault.REFUSED, Fault.RESET, Fault.CUT}


@dataclass(frozen=True, slots=True)
class Survey:
    """What the target says of itself before anything is asked of it."""

    engine: str  # dialect name: vllm, llamacpp, openai, ...
    version: str | None = None
    models: tuple[str, ...] = ()
    model: str | None = None  # the one that will be asked
    limit: int | None = None  # advertised max_model_len (prompt + output), tokens
    limits: Mapping[str, int] = field(default_factory=dict)  # every source that names one, best first
    takes_ids: bool = True
    has_tokenize: bool = False
    has_metrics: bool = False
    slots: int | None = None  # requests at once, each with a context of `limit` tokens, where that is how it is made

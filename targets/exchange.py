"""What became of one request? Pure data, and the sinks that take in its response."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from targets.base import Fault


class Sink(Protocol):
    """Takes in one response as it comes. Times are seconds since the request was begun. No I/O."""

    def begin(self, status: int, headers: Mapping[str, str], at_s: float) -> None: ...

    def feed(self, data: bytes, at_s: float) -> bool:
        """Take a chunk of the decoded body; False ends the reading, and the connection."""
        ...


@dataclass(slots=True)
class Whole:
    """A sink that keeps the whole body, up to `limit` bytes."""

    limit: int
    body: bytearray = field(default_factory=bytearray)
    oversize: bool = False

    def begin(self, status: int, headers: Mapping[str, str], at_s: float) -> None:
        """Nothing to do: the exchange keeps both."""

    def feed(self, data: bytes, at_s: float) -> bool:  # noqa: ARG002
        room = self.limit - len(self.body)
        self.body += data[:room]
        self.oversize = len(data) > room
        return not self.oversize


@dataclass(slots=True)
class Upload:
    """How much of a request's body has the peer taken, also while it says nothing? In bytes."""

    size: int = 0
    handed: int = 0  # to the system, which sends them when it can
    waiting: Callable[[], int] = lambda: 0  # of those, how many no peer has acknowledged yet

    @property
    def untaken(self) -> int:
        """Bytes of the body that the peer has not acknowledged. Headers and TLS may add a few, never hide some."""
        return max(0, self.size - self.handed + self.waiting())


@dataclass(slots=True)
class Exchange:
    """What became of one request. `ended` says that the body's own end was seen; `sent` is False only for certain."""

    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    fault: Fault | None = None
    fault_text: str = ""
    ended: bool = False
    sent: bool = True
    bytes_sent: int = 0
    first_byte_s: float | None = None
    ended_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Fetched:
    """A small request's whole answer: a status with its body, or a fault."""

    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    fault: Fault | None = None
    fault_text: str = ""

    @property
    def ok(self) -> bool:
        return self.fault is None and self.status is not None and 200 <= self.status < 300

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace")

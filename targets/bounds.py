"""How much of one answer is read at most? Pure: it follows from what was asked and what was sent."""

from __future__ import annotations

from dataclasses import dataclass

_BYTES_FREE = 4 << 20
_BYTES_PER_TOKEN = 16 << 10
_WHOLE_BYTES = 64 << 20  # of a body that is kept whole, whatever was asked
_ECHO_FREE = 64 << 10
_ECHO_PER_TOKEN = 16  # bytes of an id of the prompt, where the server repeats it
_TOKENS_FREE = 64
_EVENTS_FREE = 16 << 10  # whoever pings that often does not answer
_PARTS_FREE = 128 << 10
_PARTS_PER_TOKEN = 8
_OPENINGS = (b"[", b"{", b'"')


@dataclass(frozen=True, slots=True)
class Bounds:
    """`streamed`, `whole`: bytes of a stream, and of a body that is kept, without the `echo` of the prompt, in bytes.
    `tokens`: events with text in them; `events`: with some or not. `parts`: lists, objects and quotes in a body;
    `items`: its commas, where it may tell the ids of the prompt.
    """

    streamed: int
    whole: int
    echo: int
    tokens: int
    events: int
    parts: int
    items: int

    @classmethod
    def of(cls, asked: int, sent: int) -> Bounds:
        """For an answer of `asked` tokens to a prompt of `sent`."""
        expected = _BYTES_FREE + _BYTES_PER_TOKEN * asked
        return cls(
            streamed=expected,
            whole=min(expected, _WHOLE_BYTES),
            echo=_ECHO_FREE + _ECHO_PER_TOKEN * sent,
            tokens=_TOKENS_FREE + 2 * asked,
            events=_EVENTS_FREE + 2 * asked,
            parts=_PARTS_FREE + _PARTS_PER_TOKEN * asked,
            items=_PARTS_FREE + _PARTS_PER_TOKEN * (asked + sent),
        )

    def admit(self, body: bytes | bytearray) -> bool:
        """May it be parsed? `[],` is three bytes, and seventy once it is read."""
        return sum(map(body.count, _OPENINGS)) <= self.parts and body.count(b",") <= self.items

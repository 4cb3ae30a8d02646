"""How do the API server and its engine talk? Frames of a JSON head and a raw body over one socket pair."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from typing import Any

Head = dict[str, Any]
LENGTHS = struct.Struct("!II")  # bytes of the head, bytes of the body


def pack(head: Head, body: bytes = b"") -> bytes:
    encoded = json.dumps(head, separators=(",", ":")).encode()
    return LENGTHS.pack(len(encoded), len(body)) + encoded + body


class Unpacker:
    """Bytes in, whole frames out; the rest waits for its other half."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[tuple[Head, bytes]]:
        self._buffer += data
        while len(self._buffer) >= LENGTHS.size:
            head_size, body_size = LENGTHS.unpack_from(self._buffer)
            body_at = LENGTHS.size + head_size
            if len(self._buffer) < body_at + body_size:
                return
            head = json.loads(self._buffer[LENGTHS.size : body_at])
            body = bytes(self._buffer[body_at : body_at + body_size])
            del self._buffer[: body_at + body_size]
            yield head, body

"""What of an answer only repeats the prompt? Sans I/O: bytes in, the same without it out, at any split.

Whoever asks vLLM for the ids of what is generated is told the prompt's too, all at once: eight bytes for each token
that was sent, which nobody has to hold or to read.
"""

from __future__ import annotations

import re

_KEY = b'"prompt_token_ids"'  # within a text its quotes would be escaped
_RUN = re.compile(rb"[\d\s,:\[]*")
_OF_IDS = b"0123456789, \t"


class Echo:
    """Empties each list of the prompt's ids that it is fed. Invariant: what it holds back is shorter than the key."""

    def __init__(self) -> None:
        self._held = b""
        self._within = False  # behind the key, and not yet past the last id

    def without(self, data: bytes) -> bytes:
        """These bytes without the ids in them. A beginning of the key waits for what follows it."""
        data = self._held + data
        self._held = b""
        kept, at = [], 0
        while at < len(data):
            if self._within:
                end = _end_of_ids(data, at)
                kept.append(data[at:end].translate(None, _OF_IDS))
                self._within = end == len(data)
            elif (found := data.find(_KEY, at)) >= 0:
                end = found + len(_KEY)
                kept.append(data[at:end])
                self._within = True
            else:
                end, whole = len(data), len(data) - _begun(data[at:])
                kept.append(data[at:whole])
                self._held = data[whole:]
            at = end
        return b"".join(kept)


def _end_of_ids(data: bytes, at: int) -> int:
    run = _RUN.match(data, at)
    return at if run is None else run.end()


def _begun(data: bytes) -> int:
    """How many of its last bytes may be the key's first ones."""
    return next((size for size in range(len(_KEY) - 1, 0, -1) if data.endswith(_KEY[:size])), 0)

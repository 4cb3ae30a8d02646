"""How much of a prompt does the engine remember? A prefix cache of whole blocks, per salt, gone with the process."""

from __future__ import annotations

from array import array

FIRST = 256  # bytes
REMEMBERED = 16  # prompts; the oldest goes first


class PrefixCache:
    """Equal to hashing block after block, at the price of a few memory comparisons a prompt."""

    def __init__(self, block: int) -> None:
        self._block = block
        self._seen: list[tuple[str, bytes]] = []

    def hit(self, salt: str, ids: array[int]) -> int:
        """Tokens of `ids` that need no prefill. Never all of them: the last token has to be computed."""
        if not ids:
            return 0
        raw, width = ids.tobytes(), ids.itemsize
        longest = max((_common(raw, old) for mark, old in self._seen if mark == salt), default=0) // width
        return min(longest, len(ids) - 1) // self._block * self._block

    def add(self, salt: str, ids: array[int]) -> None:
        if ids:
            self._seen = [*self._seen[1 - REMEMBERED :], (salt, ids.tobytes())]


def _common(a: bytes, b: bytes) -> int:
    """Length of the common prefix, in bytes."""
    low, high = 0, min(len(a), len(b))
    if a[:FIRST] != b[:FIRST]:  # most prompts begin with a head of their own
        high = min(high, FIRST)
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low

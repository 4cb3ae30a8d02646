"""What does the server add to our prompts, and does it add more to longer ones? PURE.

A length is what the server counts. How many tokens to send for it follows from what was counted so far: what a server
adds to a short prompt is known before anything long is sent, but there are servers that add more from some length on.
There are also such as count the same now so, now so: then the least stands that was added to prompts as long, or
longer, so that no prompt is taken for longer than it may have been.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from operator import itemgetter
from typing import TYPE_CHECKING

from fuzzer.model import WELL
from fuzzer.standing import Standing

if TYPE_CHECKING:
    from fuzzer.observation import Observation
    from targets.base import Mode


class Offsets:
    """The fold of all prompts of one mode that were counted. Grows by `take` alone."""

    def __init__(self, mode: Mode) -> None:
        self._mode = mode
        self._standing = Standing()
        self._least: dict[int, int] = {}  # tokens sent -> the least that was added
        self._steps: list[tuple[int, int]] = []  # (tokens sent, tokens added), both of them growing
        self._are_even = True

    def take(self, seen: Observation) -> bool:
        """Take one more observation. True where it tells of some prompt that another number is added than was known."""
        is_told = seen.outcome in WELL and seen.length_source == "usage" and seen.sent_tokens > 0
        is_news = is_told and seen.spec.mode == self._mode and self._learns(seen.sent_tokens, seen.length)
        self._standing = self._standing.after(seen)
        return is_news

    def to_ask(self, length: int) -> int:
        """What to ask for so that the server counts `length`, by the longest prompt it counted that is not longer.

        No more is sent than that leaves: what is added to a prompt is added to longer ones too. Where that was counted
        as longer, half way to it is sent: between the two there may be lengths that no prompt is counted as.
        """
        if self._are_even:
            return length
        at = bisect_right(self._steps, length, key=sum)
        below, added = self._steps[max(at - 1, 0)]
        sent = length - added
        if at < len(self._steps) and sent >= (above := self._steps[at][0]):
            sent = (min(below, above - 1) + above) // 2
        return max(1, sent + (self._standing.offset(self._mode) or 0))

    @property
    def shortest(self) -> int:
        """What the server counts, at the least, for a prompt of one token."""
        added = self._added_to(1)
        return max(1, 1 + ((self._standing.offset(self._mode) or 0) if added is None else added))

    def length_of(self, seen: Observation) -> int:
        """The length of a prompt, also of one that was not counted: sent + what the server adds to one so long."""
        if self._are_even or seen.spec.mode != self._mode or not seen.sent_tokens:
            return seen.length
        added = self._added_to(seen.sent_tokens)
        return seen.length if added is None else seen.sent_tokens + added

    def _learns(self, sent: int, counted: int) -> bool:
        known, added = self._added_to(sent), counted - sent
        self._are_even = self._are_even and known in {None, added}
        if added < self._least.get(sent, added + 1):
            self._least[sent] = added
            longest_first = sorted(self._least.items(), reverse=True)
            least = accumulate((each for _, each in longest_first), min)
            self._steps = [(at, each) for (at, _), each in zip(longest_first, least, strict=True)][::-1]
        return known not in {None, added}

    def _added_to(self, sent: int) -> int | None:
        """Tokens that are added to the longest prompt that is not longer than so many sent, or else to the shortest;
        None: none was counted.
        """
        at = bisect_right(self._steps, sent, key=itemgetter(0))
        return self._steps[max(at - 1, 0)][1] if self._steps else None

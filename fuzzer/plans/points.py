"""What was seen at which point: as the server counted it, as it was asked, and of a scan apart? PURE.

A point is a prompt and the output tokens that it asks for. Where the server counts another length than was asked for,
what came of it can be looked up by either.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from fuzzer.model import Role, Side
from fuzzer.plans.tally import Tally, died_among_others

if TYPE_CHECKING:
    from fuzzer.observation import Observation
    from fuzzer.plans.offsets import Offsets

    Point = tuple[int, int]


class Points:
    """All evidence, by point. Grows by `add` alone."""

    def __init__(self, offsets: Offsets) -> None:
        self._offsets = offsets
        self.counted: dict[Point, Tally] = {}
        self._asked: dict[Point, Tally] = {}
        self.scanned: dict[int, Tally] = {}  # what a scan showed, which the line knows nothing of
        self._asked_by_scan: dict[int, Tally] = {}
        self._among_others: dict[Point, list[Tally]] = {}  # where a death among requests of others came

    def add(self, seen: Observation, side: Side) -> None:
        """File one more observation that is evidence."""
        if seen.spec.role is Role.SCAN:
            self.scanned.setdefault(seen.length, Tally()).add(seen, side)
            self._asked_by_scan.setdefault(seen.spec.length, Tally()).add(seen, side)
            return
        output = seen.spec.output_tokens
        filed = [
            tallies.setdefault((length, output), Tally())
            for tallies, length in ((self.counted, seen.length), (self._asked, seen.spec.length))
        ]
        for tally in filed:
            tally.add(seen, side)
        if side is Side.BAD and died_among_others(seen):
            self._repeat((seen.length, output), filed)

    def _repeat(self, point: Point, filed: list[Tally]) -> None:
        """Whoever else was there: that deaths come at one length after the other is the engine's own doing."""
        self._among_others.setdefault(point, []).extend(filed)
        if len(self._among_others) > 1:
            for tally in chain.from_iterable(self._among_others.values()):
                tally.repeated = True

    def at(self, length: int, output_tokens: int) -> Tally:
        """The evidence at a point, as counted or else as asked."""
        point = (length, output_tokens)
        return self.counted.get(point) or self._asked.get(self._to_ask(*point)) or Tally()

    def has_asked(self, length: int, output_tokens: int) -> bool:
        """Was this point asked, whatever was counted?"""
        return self._to_ask(length, output_tokens) in self._asked

    def missed(self, length: int, output_tokens: int) -> bool:
        """Was this point asked, and another length counted?"""
        return self.has_asked(length, output_tokens) and (length, output_tokens) not in self.counted

    def fails_above(self, length: int) -> bool:
        """Did a prompt fail, or was it refused, that is counted as longer?"""
        return any(at > length and tally.is_bad for (at, _), tally in self.counted.items())

    def is_refused(self, length: int, output_tokens: int) -> bool:
        """Was a prompt refused that is no longer, and that asked for no more output tokens?"""
        return any(
            at <= length and output <= output_tokens and tally.refusals for (at, output), tally in self.counted.items()
        )

    def at_place(self, length: int) -> Tally | None:
        """What a scan showed of a length; None: it was not asked by one."""
        return self.scanned.get(length) or self._asked_by_scan.get(self._offsets.to_ask(length))

    def has_scanned(self, length: int) -> bool:
        return self._offsets.to_ask(length) in self._asked_by_scan

    def missed_by_scan(self, length: int) -> bool:
        """Did a scan ask this length, and the server count another one, so that no prompt may be counted as it?"""
        return length not in self.scanned and self.has_scanned(length)

    def _to_ask(self, length: int, output_tokens: int) -> Point:
        return self._offsets.to_ask(length), output_tokens

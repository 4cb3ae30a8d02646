"""Whose turn is it? Several drivers take turns, each for one probe, so that what drifts meets them all alike.

Nobody goes before everybody who is left stands at the line; then the one goes that is furthest behind, and of equals
the first in even rounds and the last in odd ones: there and back again (A B B A). Who is done, or dead, leaves.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import anyio

Place = tuple[int, int]  # the cell, and the round in it


class Baton:
    """Held by one of so many arms at a time. An arm that ends, in whatever way, has to `leave`, or all others wait."""

    def __init__(self, arms: int) -> None:
        self._waiting: dict[int, Place | None] = dict.fromkeys(range(arms))
        self._changed = anyio.Condition()

    @asynccontextmanager
    async def turn(self, arm: int, place: Place) -> AsyncIterator[None]:
        """Wait for the turn of this arm, which stands at `place`, and hold it for as long as the block runs."""
        async with self._changed:
            self._waiting[arm] = place
            self._changed.notify_all()
            while self._next() != arm:
                await self._changed.wait()
            self._waiting[arm] = None
        yield

    async def leave(self, arm: int) -> None:
        """The others go on without this arm."""
        with anyio.CancelScope(shield=True):
            async with self._changed:
                self._waiting.pop(arm, None)
                self._changed.notify_all()

    def _next(self) -> int | None:
        places = {arm: place for arm, place in self._waiting.items() if place is not None}
        return whose(places) if len(places) == len(self._waiting) else None


def whose(places: Mapping[int, Place]) -> int:
    """The arm that goes next, of those that stand at these places."""
    behind = min(places.values())
    equals = [arm for arm, place in places.items() if place == behind]
    return min(equals) if behind[1] % 2 == 0 else max(equals)

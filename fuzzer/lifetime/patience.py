"""For how long is a canary asked again that did not come to the engine, or was not waited for?

Neither says anything of the engine. So it is asked until it sings, or fails, or the time for that is over.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from typing import TYPE_CHECKING

import anyio

from fuzzer.errors import Interrupted
from fuzzer.evidence import Canary
from fuzzer.heed import unless
from fuzzer.lifetime.canary import sing
from fuzzer.model import LONGEST_NAMED_WAIT_S

if TYPE_CHECKING:
    from fuzzer.model import Baseline
    from fuzzer.prompts import PromptSource
    from fuzzer.prompts.recipe import Recipe
    from targets.target import Target

INTERVAL_S = 1.0  # from one canary to the next, at least; each time twice as long
LONGEST_INTERVAL_S = 10.0
TURNED_AWAY_S = 120.0  # beside what is named: a rate by the minute, and a gateway's cooldown, are over by then


async def outlast(
    target: Target,
    prompts: PromptSource,
    recipe: Recipe,
    patience: Patience,
    yardstick: Baseline | None = None,
    *,
    first: Canary | None = None,
    stop: anyio.Event,
    tell: Callable[[Canary], None],
) -> Canary:
    """The canary of an engine that may be at work, or well, though whoever is on the way stands before it.

    `first` was sung already. `tell` hears of each one before the last. Raises Interrupted where `stop` is set
    meanwhile.
    """
    canary, turn = first, 0
    while True:
        if canary is not None:
            pause_s = patience.pause_s(canary)
            if pause_s is None:
                return canary
            tell(canary)
            await unless(stop, partial(anyio.sleep, pause_s))
        asked = replace(recipe, head=f"{recipe.head}/drain-{turn}")
        turn += 1
        began_s = time.monotonic()
        try:
            canary = await unless(stop, partial(sing, target, prompts, asked, patience.left_s(), yardstick))
        except Interrupted:
            tell(Canary(ok=False, duration_s=time.monotonic() - began_s, fault="interrupted"))
            raise


@dataclass(slots=True)
class Patience:
    """The time that canaries have after one probe.

    One that is given up on waits in the engine's own queue: it is asked again for as long as one that hangs would be
    waited for, `deadline_s` seconds in all. One that is turned away, or `meets_door` that is shut, is for `door_s` at
    most, and for the longest wait that was named. Nobody is asked again when `most_s` are over; `ran_out` tells that.
    Invariant: whoever is let in at last has the whole `deadline_s`, however long he stood at the door.
    """

    deadline_s: float
    door_s: float
    most_s: float = inf
    meets_door: Callable[[Canary], bool] = lambda _canary: False
    named_s: float = 0.0
    ran_out: bool = False
    clock: Callable[[], float] = time.monotonic
    interval_s: float = INTERVAL_S
    _began: float = field(init=False)
    _queued: float = field(init=False)  # since when it may wait in the engine's own queue

    def __post_init__(self) -> None:
        self._began = self._queued = self.clock()

    def left_s(self) -> float:
        """Seconds that the next one may take."""
        return self._queued + self.deadline_s - self.clock()

    def pause_s(self, canary: Canary) -> float | None:
        """Seconds until it is asked again; None where it has decided, or where there is no time to."""
        named_s = canary.wait_s or 0.0
        is_at_the_door = canary.turned_away or self.meets_door(canary)
        if not (canary.given_up_on or is_at_the_door) or named_s > LONGEST_NAMED_WAIT_S:
            return None
        self.named_s = max(self.named_s, named_s)
        pause_s = max(self.interval_s - canary.duration_s, named_s, 0.0)
        self.interval_s = min(2 * self.interval_s, LONGEST_INTERVAL_S)
        again = self.clock() + pause_s
        if is_at_the_door:
            self._queued, until = again, self._began + min(self.door_s, TURNED_AWAY_S) + self.named_s
        else:
            until = self._queued + self.deadline_s
        self.ran_out = again + canary.duration_s >= self._began + self.most_s
        return None if self.ran_out or again + canary.duration_s >= until else pause_s

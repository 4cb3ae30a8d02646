"""For how long is a canary asked again that did not come to the engine, or was not waited for?

Neither says anything of the engine. So it is asked until it sings, or fails, or the time for that is over.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

import anyio

from fuzzer.canary import sing
from fuzzer.errors import Interrupted
from fuzzer.evidence import Canary
from fuzzer.heed import unless
from fuzzer.model import LONGEST_NAMED_WAIT_S

if TYPE_CHECKING:
    from fuzzer.model import Baseline
    from fuzzer.prompts import PromptSource
    from fuzzer.prompts.recipe import Recipe
    from targets.base import Target

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
    canary = first
    for turn in count():
        if canary is not None:
            pause_s = patience.pause_s(canary)
            if pause_s is None:
                return canary
            tell(canary)
            await unless(stop, partial(anyio.sleep, pause_s))
        asked = replace(recipe, head=f"{recipe.head}/drain-{turn}")
        began_s = time.monotonic()
        try:
            canary = await unless(stop, partial(sing, target, prompts, asked, patience.left_s(), yardstick))
        except Interrupted:
            tell(Canary(ok=False, duration_s=time.monotonic() - began_s, fault="interrupted"))
            raise
    raise AssertionError("a canary is not asked for ever")


@dataclass(slots=True)
class Patience:
    """The time that canaries have after one probe.

    One that is given up on waits in the engine's own queue: it is asked again for as long as one that hangs would be
    waited for, `deadline_s` seconds in all. One that is turned away is for `door_s` at most, and for the longest wait
    that was named.
    """

    deadline_s: float
    door_s: float
    named_s: float = 0.0
    clock: Callable[[], float] = time.monotonic
    interval_s: float = INTERVAL_S
    _began: float = field(init=False)

    def __post_init__(self) -> None:
        self._began = self.clock()

    def left_s(self) -> float:
        """Seconds that the next one may take."""
        return min(self.deadline_s, max(self.deadline_s, self._at_the_door_s()) - self._passed_s())

    def pause_s(self, canary: Canary) -> float | None:
        """Seconds until it is asked again; None where it has decided, or where there is no time to."""
        named_s = canary.wait_s or 0.0
        if not (canary.given_up_on or canary.turned_away) or named_s > LONGEST_NAMED_WAIT_S:
            return None
        self.named_s = max(self.named_s, named_s)
        pause_s = max(self.interval_s - canary.duration_s, named_s, 0.0)
        self.interval_s = min(2 * self.interval_s, LONGEST_INTERVAL_S)
        until_s = self._at_the_door_s() if canary.turned_away else self.deadline_s
        return pause_s if self._passed_s() + pause_s + canary.duration_s < until_s else None

    def _at_the_door_s(self) -> float:
        return min(self.door_s, TURNED_AWAY_S) + self.named_s

    def _passed_s(self) -> float:
        return self.clock() - self._began

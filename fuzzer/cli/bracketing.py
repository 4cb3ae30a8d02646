"""Where does a bisect stand, for those who watch? Follows its events and tells the bracket after each observation."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fuzzer.events import Bracket, Event, ProbeEnded, Replayed, RunStarted
from fuzzer.plans.forecast import bracket_of
from fuzzer.plans.question import BisectQuestion
from fuzzer.plans.scout import Stages


class Bracketing:
    """A listener that tells other listeners."""

    def __init__(self, question: BisectQuestion, listeners: Sequence[Callable[[Event], None]]) -> None:
        self._stages = Stages(question)
        self._listeners = listeners

    def __call__(self, event: Event) -> None:
        match event:
            case RunStarted() if not event.resumed:
                self._tell(bracket_of(self._stages))
            case Replayed(observation):
                self._stages.take(observation)
            case ProbeEnded(observation):
                self._stages.take(observation)
                self._tell(bracket_of(self._stages))
            case _:
                pass

    def _tell(self, event: Bracket) -> None:
        for listener in self._listeners:
            listener(event)

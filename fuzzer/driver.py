"""How is a plan driven to its finding? Replay what is recorded, then put its questions, one after the other.

A resumed run is a replay of the journal into a fresh plan: an observation is exactly what the plan was sent.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from fuzzer.asker import Asker
from fuzzer.events import Event, Note, Replayed
from fuzzer.lastwords import beside
from fuzzer.model import ProbeSpec
from fuzzer.observation import Observation
from fuzzer.plans.whole import ASKED_WHOLE, is_again

if TYPE_CHECKING:
    from fuzzer.asker import Journal
    from fuzzer.finding import Finding
    from fuzzer.plans import Plan
    from fuzzer.rig import Rig
    from targets.scrape import Scrape

OTHER_LENGTHS = "this version would have asked for other lengths than were recorded; they are taken as facts"
Turn = Callable[[ProbeSpec], AbstractAsyncContextManager[None]]


def at_once(_spec: ProbeSpec) -> AbstractAsyncContextManager[None]:
    """The turn of a driver that takes turns with nobody."""
    return nullcontext()


@dataclass(slots=True)
class Driver:
    """Drives plans against one target. `active_s` is what earlier sessions of the run took already."""

    run: str
    rig: Rig
    journal: Journal
    listeners: Sequence[Callable[[Event], None]] = ()
    active_s: float = 0.0
    clock: Callable[[], float] = time.monotonic
    known: Scrape | None = None  # who the engine was when it was last looked at: another one now is a death unseen
    turn: Turn = at_once  # held from a probe's intent to its observation, the revival after it included
    _began: float = field(init=False)
    _asker: Asker = field(init=False)

    def __post_init__(self) -> None:
        self._began = self.clock()
        self._asker = Asker(self.run, self.rig, self.journal, self.emit, self.now, self.known)

    def now(self) -> float:
        """Active seconds of the run."""
        return self.active_s + self.clock() - self._began

    def emit(self, event: Event) -> None:
        for listener in self.listeners:
            listener(event)

    async def drive(
        self, make_plan: Callable[[Sequence[Observation]], Plan], recorded: Sequence[Observation] = ()
    ) -> Finding:
        """Replay what is recorded, then pump the plan to its end. Raises Interrupted when `rig.stop` is set."""
        self._asker.recall(recorded)
        for seen in recorded:
            self.emit(Replayed(seen))
        try:
            plan, spec = self._replay(make_plan, recorded)
            if recorded:
                by_now = await self._asker.awaken(spec, recorded)
                if by_now is not recorded:
                    plan, spec = self._replay(make_plan, by_now)
            await self._asker.mark()
            while True:
                async with self.turn(spec):
                    seen = await self._asker.ask(spec)
                spec = plan.send(seen)
                if is_again(spec, seen):
                    self._note(ASKED_WHOLE)
        except StopIteration as end:
            finding: Finding = end.value
            return replace(finding, reason=finding.reason + beside(self._asker.standing.bugs))

    def _replay(
        self, make_plan: Callable[[Sequence[Observation]], Plan], recorded: Sequence[Observation]
    ) -> tuple[Plan, ProbeSpec]:
        """A plan that stands where the recorded run stood, and its next question."""
        plan = make_plan(())
        spec = next(plan)
        for seen in recorded:
            if not _same_question(spec, seen.spec):
                self._note(OTHER_LENGTHS)
                plan = make_plan(recorded)
                return plan, next(plan)
            spec = plan.send(seen)
        return plan, spec

    def _note(self, text: str) -> None:
        self.emit(Note(text))
        self.journal.note(text, self.now())


def _same_question(asked: ProbeSpec, recorded: ProbeSpec) -> bool:
    """True where the recorded probe answers what is asked: the words of the reason may differ."""
    return replace(asked, reason="", wait_s=0.0) == replace(recorded, reason="", wait_s=0.0)

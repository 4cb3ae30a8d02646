"""How many deaths may a run still risk, and which observation pays for those while the engine is waited for?

Invariant: what was seen to die is on record before anything else is asked of the engine.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from fuzzer.events import EngineDied
from fuzzer.model import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fuzzer.events import Event
    from fuzzer.lifetime.relapse import Relapse
    from fuzzer.lifetime.revival import Revival
    from fuzzer.observation import Observation


class Journal(Protocol):
    """Where it is recorded. Every call has reached the disk when it returns."""

    def relapsed(self, seen: Observation, relapse: Relapse, *, at_s: float, took_s: float) -> None: ...

    def ended(self, seen: Observation, relapse: Relapse, *, at_s: float) -> None: ...

    def revived(self, seen: Observation, revival: Revival, *, at_s: float) -> None: ...


MOST_ALONE = 3  # one or two may be a supervisor's doing; whoever waits on pays for a loop


@dataclass(slots=True)
class Account:
    """What the deaths of a run come to. `last` is the last observation: it pays until the next one is there.

    `alone`: so many lives in a row ended while they were waited for, with nothing asked of them.
    """

    journal: Journal
    emit: Callable[[Event], None]
    now: Callable[[], float]
    max_deaths: int
    last: Observation | None = None
    died_at: float | None = None  # active seconds
    spent: int = 0
    relapses: int = 0
    alone: int = 0
    sang: bool = False  # some canary of this run came back whole
    longest_revival_s: float = 0.0  # of those that came to a good end

    def charge(self, observations: Iterable[Observation]) -> None:
        """The next observations, in their order."""
        for seen in observations:
            self.spent += seen.toll
            self.relapses += seen.relapses
            self.sang = self.sang or seen.sang
            if seen.deaths:
                self.died_at = seen.ended_s + (seen.revival_s or 0.0 if seen.relapses else 0.0)
            if seen.revived:
                self.longest_revival_s = max(self.longest_revival_s, seen.revival_s or 0.0)
            self.last = seen

    def spares(self) -> bool:
        """Can one more death be afforded?"""
        return self.spent < self.max_deaths

    def helped_for_s(self) -> float | None:
        """So long the engine that died last has been waited for, and did not come back; None: it need not be.

        What nobody saw end nobody helped.
        """
        if not self.is_open() or self.last is None or self.last.outcome is Outcome.ABANDONED:
            return None
        return self.last.revival_s or 0.0

    def is_open(self) -> bool:
        """Did the last observation leave the engine down, and nobody has seen it serve again?"""
        last = self.last
        return last is not None and last.toll > 0 and not (last.revived and last.revival_s is not None)

    def open_s(self) -> float:
        """Active seconds since it left the engine down, those of earlier sessions among them; 0: it did not."""
        return max(0.0, self.now() - self.last.over_s) if self.last is not None and self.is_open() else 0.0

    def bury(self, relapse: Relapse, took_s: float) -> bool:
        """The engine died again, `took_s` seconds into the wait for it. Can one more death be afforded?

        Not of an engine that dies by itself, nor of one that dies of each canary, however many are left.
        """
        self.died_at = self.now()
        if relapse.of_wedged:
            return self._bury_wedged(relapse)
        self.spent += 1
        self.relapses += 1
        self.alone = self.alone + 1 if relapse.canary is None else 0
        if self.last is not None:
            canaries = self.last.canaries + (relapse.canary is not None)
            self.last = replace(self.last.relapsed(self.last.relapses + 1), canaries=canaries)
            self.journal.relapsed(self.last, relapse, at_s=self.died_at, took_s=took_s)
        self.emit(EngineDied(None, None, relapse.signature, relapse.corroboration))
        return self.spares() and self.alone < MOST_ALONE and not self._is_of_canaries()

    def _bury_wedged(self, relapse: Relapse) -> bool:
        """The hang was the death of the last observation, which has paid for it: but not beside one that it had met."""
        assert self.last is not None
        assert self.died_at is not None
        before = self.last
        self.last = before.ended_by(relapse.signature)
        self.spent += self.last.toll - before.toll
        self.journal.ended(self.last, relapse, at_s=self.died_at)
        self.emit(EngineDied(self.last.seq, self.last.length, relapse.signature, relapse.corroboration))
        return True

    def _is_of_canaries(self) -> bool:
        return self.last is not None and self.last.may_be_of_canaries and not self.sang

    def settle(self, revival: Revival, waited_s: float = 0.0) -> Observation:
        """The wait is over: the last observation as it is now. It costs `waited_s` seconds more than before."""
        assert self.last is not None
        self.alone = 0
        self.sang = self.sang or revival.came_back
        self.last = replace(
            self.last,
            revival_s=revival.took_s,
            revived=revival.came_back,
            cost_s=self.last.cost_s + waited_s,
            canaries=self.last.canaries + len(revival.canaries),
        )
        self.journal.revived(self.last, revival, at_s=self.now())
        return self.last

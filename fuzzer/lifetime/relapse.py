"""Did the engine die again while it was waited for? PURE: a fold over looks at it, and the canaries between them.

Invariant: a death is counted once. Another process than the one that was looked at is proof; where no process is told
of, a canary that was lost after all was well is a presumption. An engine that is not ready yet (it refuses, it
says 503, its canary times out) has not died of anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fuzzer.model import Corroboration
from targets.base import Fault
from targets.failures import announces_death
from targets.scrape import restarted, went_on

if TYPE_CHECKING:
    from fuzzer.evidence import Canary
    from targets.base import Health
    from targets.scrape import Scrape

FIRST_PATIENCE_S = 2.0
LONGEST_PATIENCE_S = 30.0


@dataclass(frozen=True, slots=True)
class Look:
    """One look at the engine, `at_s` seconds after the wait for it began. No scrape: nothing tells of its process."""

    at_s: float
    health: Health
    scrape: Scrape | None = None


@dataclass(frozen=True, slots=True)
class Relapse:
    """One more death. `canary` is what was asked of that life last. `of_wedged`: it is the end of the one that hung."""

    corroboration: Corroboration
    signature: str
    canary: Canary | None = None
    of_wedged: bool = False


@dataclass(slots=True)
class Vigil:
    """What is known of the engine's lives since one ended.

    `died` is the last look at a life whose end is counted elsewhere; `ended` is True where that end was seen, so that
    whatever goes now is another life. `wedged`: that life hung, and its end is counted here, once another one shows
    that it ended. `wary`: so many relapses were seen in earlier waits. `unsung`: no canary of the
    run ever came back whole, so that it may be what kills. `born` is the first look at the life that is there now.
    `lost`: so many canaries were lost under green health where nothing tells whether a life was.
    """

    died: Scrape | None
    ended: bool
    wary: int = 0
    unsung: bool = False
    wedged: bool = False
    born: Scrape | None = None
    relapses: int = 0
    lost: int = 0
    _well_since_s: float | None = None
    _was_well: bool = False
    _was_refused: bool = False
    _was_down: bool = False  # health has said no since the last death, so that its yes says something
    _has_sung: bool = False  # a canary of this life
    _canary: Canary | None = None

    def see(self, look: Look) -> Relapse | None:
        """Take one more look: the death that it shows, or None."""
        end = self._end_of_the_wedged(look)
        relapse = None if end is not None else self._relapse(look)
        if end is not None:
            self.wedged, self.ended, self._has_sung = False, True, False
        elif relapse is not None:
            self.relapses += 1
            self.died, self.born, self.ended, self._well_since_s = self.born or self.died, None, True, None
            self._was_down = self._has_sung = False
        elif self._may_have_cost_a_life(look):
            self.lost, self._well_since_s = self.lost + 1, None
        self.ended = self.ended or look.health.gone
        if self.born is None and look.scrape is not None and self._is_another_life(look.scrape):
            self.born = look.scrape
        if not look.health.ok:
            self._well_since_s = None
        elif self._well_since_s is None:
            self._well_since_s = look.at_s
        self._was_down = self._was_down or _says_no(look.health)
        self._was_well, self._was_refused = look.health.ok, look.health.fault is Fault.REFUSED
        self._canary = None
        return end or relapse

    def sang(self, canary: Canary) -> None:
        """What came of a canary that was sent after the last look."""
        self._canary, self._was_well = canary, self._was_well or canary.ok
        self._has_sung = self._has_sung or canary.ok

    def is_young(self, look: Look) -> bool:
        """Must it be let alone for now? Each life that died young buys the next one twice the time to get well.

        So does a canary that may have been a life's.
        """
        lessons = self.wary + self.relapses + self.lost
        if lessons == 0 or self._well_since_s is None:
            return False
        return look.at_s - self._well_since_s < min(LONGEST_PATIENCE_S, FIRST_PATIENCE_S * 2.0 ** (lessons - 1))

    def _is_another_life(self, scrape: Scrape) -> bool:
        if self.died is None:
            return self.ended
        return restarted(self.died, scrape) is not None

    def _end_of_the_wedged(self, look: Look) -> Relapse | None:
        """A supervisor, or its own watchdog, killed it late. A canary that was cut is no proof of that."""
        if not self.wedged or self.died is None or look.scrape is None:
            return None
        why = restarted(self.died, look.scrape)
        return None if why is None else Relapse(Corroboration.PROVEN, why, of_wedged=True)

    def _may_have_cost_a_life(self, look: Look) -> bool:
        well = self._was_well and look.health.ok and look.scrape is None
        return well and self._canary is not None and _is_lost(self._canary)

    def _relapse(self, look: Look) -> Relapse | None:
        canary = self._canary
        if self.born is not None and look.scrape is not None:
            if (why := restarted(self.born, look.scrape)) is not None:
                return Relapse(Corroboration.PROVEN, _words(canary) or why, canary)
            if went_on(self.born, look.scrape):
                return None
        is_a_life = self.born is not None or (self.died is None and self.ended)
        if canary is None:
            return None
        was_lost = _is_lost(canary) or (_is_failed(canary) and _went_down(look.health))
        # Health that always says yes says nothing: then the dead one that answers is no new life.
        is_cut = self.unsung and canary.fault in {Fault.RESET, Fault.CUT}
        is_known = self.born is not None or self._has_sung or self._was_down or _says_no(look.health) or is_cut
        if (is_a_life and is_known and self._was_well and was_lost) or (self._was_refused and _says_it_died(canary)):
            refused = look.health.fault is Fault.REFUSED
            return Relapse(Corroboration.PROVEN if refused else Corroboration.PRESUMED, _words(canary), canary)
        return None


def _is_lost(canary: Canary) -> bool:
    """The engine went away under it, or says that it died of it."""
    return not canary.ok and (_says_it_died(canary) or canary.fault in {Fault.RESET, Fault.CUT})


def _says_it_died(canary: Canary) -> bool:
    """Where nobody had listened before, these are the words of a life that began and ended since."""
    return (canary.status or 0) >= 500 and announces_death(canary.error)


def _is_failed(canary: Canary) -> bool:
    """It failed as it would at a death; 503 is what an engine says that loads."""
    status = canary.status or 0
    return not canary.ok and (canary.fault == Fault.REFUSED or (status >= 500 and status not in {503, 504, 524}))


def _went_down(health: Health) -> bool:
    return _says_no(health) and health.fault is not Fault.TIMEOUT


def _says_no(health: Health) -> bool:
    """A door that turned the poll away says nothing of the engine."""
    return not health.ok and not health.turned_away


def _words(canary: Canary | None) -> str:
    return "" if canary is None or canary.ok else canary.error or canary.fault

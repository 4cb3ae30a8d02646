"""How does a run get its engine back, and who pays for what dies meanwhile?

`fuzzer.lifetime.revival` waits; here is what a run makes of it: before it goes on, and after a probe.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import anyio

from fuzzer.errors import AnotherEngine, Interrupted, TargetLost
from fuzzer.events import Note, Revived, Reviving
from fuzzer.lifetime import account
from fuzzer.lifetime.relapse import Vigil
from fuzzer.lifetime.revival import revive
from fuzzer.outcome.song import serves
from fuzzer.watch import scrape

if TYPE_CHECKING:
    from collections.abc import Callable

    from fuzzer.events import Event
    from fuzzer.evidence import Evidence
    from fuzzer.lifetime.account import Account
    from fuzzer.lifetime.lives import Lives
    from fuzzer.lifetime.revival import Revival
    from fuzzer.model import ProbeSpec
    from fuzzer.observation import Observation
    from fuzzer.rig import Rig
    from fuzzer.standing import Standing

LONG_WAIT_S = 5.0  # a wait that whoever looks on wants to be told of, and in which an idle engine may be put away
UNKNOWN_LOAD_S = 120.0  # what a start may take where none was waited out yet
SAME_WINDOW = 0.05  # a limit that is fitted to the memory that is free moves a little with each start


class Journal(account.Journal, Protocol):
    """Where it is recorded. Every call has reached the disk when it returns."""

    def note(self, text: str, at_s: float) -> None: ...


def same_window(was: int | None, now: int | None) -> bool:
    """May two advertised limits be those of one engine, started twice? Where none is told, nothing speaks for two."""
    return not was or not now or abs(now - was) <= SAME_WINDOW * was


def _sings_amid_others(evidence: Evidence) -> bool:
    """Did it turn ours away for others, and sing? Whatever died, a restart of who is there now ends their requests."""
    return evidence.overload_s is not None and serves(evidence)


@dataclass(frozen=True, slots=True)
class Comeback:
    """The waits of one run. Each raises Interrupted where `rig.stop` is set meanwhile."""

    run: str
    rig: Rig
    journal: Journal
    account: Account
    lives: Lives
    emit: Callable[[Event], None]
    now: Callable[[], float]
    window: int | None  # the limit that the run began with, tokens
    moved: Callable[[int], None]  # the target advertises another one by now, nearly the same

    async def before(self, spec: ProbeSpec, standing: Standing) -> Observation | None:
        """Before a run goes on: whoever is there must serve. Raises TargetLost where nobody does.

        Where it died of that, or the last observation had left it down, that one is given back as it is now: with those
        deaths, and with what all of the wait for the engine took.
        """
        was_open = self.account.is_open()
        vigil = Vigil(self.lives.known, ended=True, wary=self.account.relapses, unsung=not self.account.sang)
        head = f"resume/{standing.last_seq}"
        revival = await self._revive(spec, head, vigil, standing, patience_s=self._patience_s())
        if self.rig.stop.is_set():
            raise Interrupted(self.run)
        if not revival.came_back:
            raise TargetLost(self._gone(revival))
        await self._space()
        if not (was_open or revival.relapses):
            return None
        return self.account.settle(revival, self.account.open_s() if was_open else 0.0)

    async def after(self, seen: Observation, evidence: Evidence, standing: Standing) -> Observation:
        """After a probe that left nobody to ask: the observation with what its revival took."""
        began = self.now()
        vigil = Vigil(
            evidence.before,
            ended=seen.deaths > 0,
            wary=self.account.relapses,
            unsung=not self.account.sang,
            wedged=seen.ends_late and self.rig.settings.on_death is None,  # else it is we who end it
        )
        patience_s = 0.0 if _sings_amid_others(evidence) else None
        revival = await self._revive(seen.spec, str(seen.seq), vigil, standing, patience_s=patience_s)
        counted = seen.deaths > 0 or seen.wedged  # else whoever is there now is compared with whom we knew
        if counted and (revival.relapses or not self.lives.is_told(evidence)):
            self.lives.known = revival.born or await scrape(self.rig.target)
        if self.rig.stop.is_set() and not revival.came_back:
            raise Interrupted(self.run)
        if revival.came_back:
            await self._space()
        waited_s = self.now() - began  # also for the spacing of deaths, which the next probe's begin depends on
        seen = self.account.settle(revival, waited_s)
        if seen.revived:
            await self._compare()
        return seen

    async def pause(self, seconds: float, standing: Standing) -> None:
        """Let so many seconds pass. An engine that was put away meanwhile, as idle ones are, died of nothing."""
        left = await self.rig.look(standing) if seconds >= LONG_WAIT_S else None
        await self._sleep(seconds)
        if left is not None:
            why = self.lives.waited(left, await self.rig.look(standing))
            if why is not None:
                text = f"the engine was restarted while we waited and asked nothing ({why}); it counts as no death"
                self.emit(Note(text))
                self.journal.note(text, self.now())

    async def _space(self) -> None:
        """Keep the least time between two deaths. What dies meanwhile may die of the last one: that is not excused."""
        if self.account.died_at is not None:
            await self._sleep(self.rig.settings.death_spacing_s - (self.now() - self.account.died_at))

    async def _sleep(self, seconds: float) -> None:
        if seconds > 0:
            with anyio.move_on_after(seconds):
                await self.rig.stop.wait()
        if self.rig.stop.is_set():
            raise Interrupted(self.run)

    def _patience_s(self) -> float:
        """How long an engine that an earlier session helped may still take before it is helped again."""
        waited_s = self.account.helped_for_s()
        if waited_s is None:
            return 0.0
        longest_s = self.account.longest_revival_s or UNKNOWN_LOAD_S
        return max(0.0, min(longest_s, self.rig.settings.revival_timeout_s / 2) - waited_s)

    async def _revive(
        self,
        spec: ProbeSpec,
        head: str,
        vigil: Vigil,
        standing: Standing,
        *,
        patience_s: float | None = None,
    ) -> Revival:
        def tell(took_s: float, words: str) -> None:
            self.emit(Reviving(took_s, words))

        revival = await revive(
            self.rig, spec, head, tell, vigil, patience_s=patience_s, standing=standing, bury=self.account.bury
        )
        if revival.said:
            self.emit(Note(revival.said, hint="check the command of --on-death", level="warning"))
        if revival.instead:
            self._note(f"somebody answers in the engine's place and does not serve: {revival.instead}")
        if revival.came_back:
            self.emit(Revived(revival.took_s))
        return revival

    async def _compare(self) -> None:
        """Whoever started the engine again may have given it another window: then a finding would speak for both.

        Raises AnotherEngine where it is another version, or another window by more than what fits its memory may move:
        what was observed does not speak for that. One that moved by less is where answers are clamped from now on.
        """
        version = await self.rig.target.version() if self.rig.version else None
        if version and version != self.rig.version:
            raise AnotherEngine(self.rig.target.url, ("version", self.rig.version, version))
        was, now = self.rig.limit, await self.rig.target.limit()
        if not same_window(self.window, now):
            raise AnotherEngine(self.rig.target.url, ("limit", self.window, now))
        if was and now and was != now:
            self._note(f"the target advertised a limit of {was} tokens; since it came back it is {now}")
            self.moved(now)

    def _note(self, text: str) -> None:
        self.emit(Note(text, level="warning"))
        self.journal.note(text, self.now())

    def _gone(self, revival: Revival) -> str:
        if revival.relapses:
            return (
                f"The engine dies again as it revives: {revival.relapses}x in {revival.took_s:.0f} s. Its log says of "
                f"what; once it serves, ctxfuzz resume {self.run}"
            )
        return (
            f"The engine does not serve: no canary came back in {revival.took_s:.0f} s. Start it, then "
            f"ctxfuzz resume {self.run}"
        )

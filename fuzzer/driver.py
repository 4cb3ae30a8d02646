"""Pumps a plan: commit the intent, probe, commit the outcome, then tell the listeners and the plan.

Invariant: at every moment the journal holds everything that was observed, and an intent for everything that may have
been sent. So a kill -9 loses nothing, and a resumed run is a replay of the journal into a fresh plan.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

import anyio

from fuzzer.errors import Interrupted, TargetLost
from fuzzer.events import EngineDied, Event, Note, ProbeEnded, ProbeProgress, ProbeStarted, Replayed, Revived, Reviving
from fuzzer.lastwords import LastWords, beside
from fuzzer.model import Corroboration, Finding, Observation, Outcome, ProbeSpec, Role
from fuzzer.observe import observe
from fuzzer.outcome import judge
from fuzzer.probe import Prepared, gather, prepare
from fuzzer.prompts.errors import TokenizerLost
from fuzzer.revival import Revival, revive
from fuzzer.standing import Standing, in_flight
from fuzzer.watch import scrape
from targets.base import Scrape, restarted

if TYPE_CHECKING:
    from fuzzer.evidence import Evidence, Verdict
    from fuzzer.plans import Plan
    from fuzzer.probe import Rig
    from fuzzer.watch import Pulse

Turn = Callable[[ProbeSpec], AbstractAsyncContextManager[None]]


def at_once(_spec: ProbeSpec) -> AbstractAsyncContextManager[None]:
    """The turn of a driver that takes turns with nobody."""
    return nullcontext()


class Journal(Protocol):
    """Where a run is recorded. Every call has reached the disk when it returns."""

    def intend(self, prepared: Prepared, started_s: float) -> None: ...

    def complete(self, observation: Observation, evidence: Evidence, verdict: Verdict) -> None: ...

    def died(self, seq: int, verdict: Verdict, signature: str, at_s: float, last_words: str = "") -> None: ...

    def revived(self, seq: int, revival: Revival, *, at_s: float, cost_s: float, canaries: int) -> None: ...

    def note(self, text: str, at_s: float) -> None: ...


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
    standing: Standing = field(default_factory=Standing)
    _began: float = field(init=False)
    _died_at: float | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self._began = self.clock()

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
        plan = make_plan(())
        try:
            spec = self._replay(plan, recorded)
            if spec is None:
                plan = make_plan(recorded)
                spec = next(plan)
            await self._mark()
            if recorded:
                await self._find_serving(spec)
            while True:
                async with self.turn(spec):
                    seen = await self._step(spec)
                spec = plan.send(seen)
        except StopIteration as end:
            finding: Finding = end.value
            return replace(finding, reason=finding.reason + beside(self.standing.bugs))

    def _replay(self, plan: Plan, recorded: Sequence[Observation]) -> ProbeSpec | None:
        """The next question after all that is recorded; None if this version would have asked something else."""
        spec = next(plan)
        asks_the_same = True
        for seen in recorded:
            asks_the_same = asks_the_same and _same_question(spec, seen.spec)
            self.standing = self.standing.after(seen)
            self.emit(Replayed(seen))
            if asks_the_same:
                spec = plan.send(seen)
        if asks_the_same:
            return spec
        text = "this version would have asked for other lengths than were recorded; they are taken as facts"
        self.emit(Note(text))
        self.journal.note(text, self.now())
        return None

    async def _step(self, spec: ProbeSpec) -> Observation:
        """One probe from intent to observation, with the engine serving again at its end where it can."""
        await self._pause(spec.wait_s)
        seq = self.standing.last_seq + 1
        prepared = await self._prepare(spec, seq)
        started_s = self.now()
        self.journal.intend(prepared, started_s)
        deadline_s = self.standing.deadline_s(in_flight(spec), self.rig.settings.timeout_s)
        self.emit(ProbeStarted(seq, spec, deadline_s))
        evidence = await gather(self.rig, prepared, self.standing, self._teller(seq))
        verdict = self._with_unseen_death(judge(evidence), evidence)
        words = await self._last_words(verdict)
        seen = observe(prepared, evidence, verdict, self.standing, started_s=started_s, ended_s=self.now())
        if words.signature:
            seen = replace(seen, signature=words.signature, signature_source="log")
        self.journal.complete(seen, evidence, verdict)
        if verdict.deaths:
            self._tell_death(seen, verdict, words)
        self.known = evidence.settled or evidence.after or self.known
        if evidence.cancelled:
            raise Interrupted(self.run)
        if _needs_revival(seen):
            seen = await self._come_back(seen, evidence)
        self.standing = self.standing.after(seen)
        self.emit(ProbeEnded(seen))
        await self._mark()
        return seen

    async def _prepare(self, spec: ProbeSpec, seq: int) -> Prepared:
        """A text needs the target's tokenizer: where that is away, so is the engine, and it is waited for."""
        try:
            return await prepare(self.rig, spec, self.standing, seq)
        except TokenizerLost:
            revival = await self._revive(spec, f"tokenizer/{seq}", self.known)
            if self.rig.stop.is_set():
                raise Interrupted(self.run) from None
            if not revival.came_back:
                raise TargetLost(self._gone(revival)) from None
            return await prepare(self.rig, spec, self.standing, seq)

    def _gone(self, revival: Revival) -> str:
        return (
            f"The engine does not serve: no canary came back in {revival.took_s:.0f} s. Start it, then "
            f"ctxfuzz resume {self.run}"
        )

    def _with_unseen_death(self, verdict: Verdict, evidence: Evidence) -> Verdict:
        """An engine that died between two probes: nobody's death, but a death."""
        looked = evidence.before
        if looked is None and not verdict.deaths:  # else the change may be the death that the verdict counts
            looked = evidence.after or evidence.settled
        if self.known is None or looked is None or self.rig.replicas:
            return verdict
        why = restarted(self.known, looked)
        if why is None:
            return verdict
        self.emit(Note(f"the engine was restarted between two probes ({why}); it counts as a death of nobody's"))
        blames = verdict.blames or "nobody"
        return replace(verdict, deaths=verdict.deaths + 1, blames=blames)

    async def _mark(self) -> None:
        if self.rig.engine_log is not None:
            await self.rig.engine_log.mark()

    async def _last_words(self, verdict: Verdict) -> LastWords:
        """What the engine's own log says of a death, where we are told where it is."""
        if not verdict.deaths or self.rig.engine_log is None:
            return LastWords()
        return await self.rig.engine_log.last_words()

    def _tell_death(self, seen: Observation, verdict: Verdict, words: LastWords) -> None:
        self._died_at = self.now()
        self.journal.died(seen.seq, verdict, seen.signature, self._died_at, words.lines)
        if self.standing.is_another_bug(seen):
            text = f"the engine died of something else this time: {seen.signature} (before: {self.standing.bugs[0]})"
            self.emit(Note(text, level="warning"))
            self.journal.note(text, self._died_at)
        length = seen.length if verdict.blames == "this" else None
        self.emit(EngineDied(seen.seq, length, seen.signature, verdict.corroboration or Corroboration.PRESUMED))

    async def _come_back(self, seen: Observation, evidence: Evidence) -> Observation:
        lived, looked = evidence.before, evidence.settled or evidence.after
        began = self.now()
        revival = await self._revive(seen.spec, str(seen.seq), lived)
        waited_s = self.now() - began  # also for the spacing of deaths, which the next probe's begin depends on
        counted = seen.deaths > 0 or seen.wedged  # else whoever is there now is compared with whom we knew
        if counted and (lived is None or looked is None or restarted(lived, looked) is None):
            self.known = revival.born or await scrape(self.rig.target)
        if self.rig.stop.is_set() and not revival.came_back:
            raise Interrupted(self.run)
        cost_s, canaries = seen.cost_s + waited_s, seen.canaries + len(revival.canaries)
        self.journal.revived(seen.seq, revival, at_s=self.now(), cost_s=cost_s, canaries=canaries)
        return replace(seen, revival_s=revival.took_s, revived=revival.came_back, cost_s=cost_s, canaries=canaries)

    async def _find_serving(self, spec: ProbeSpec) -> None:
        """Before a run goes on: whoever is there must serve. Raises TargetLost where nobody does."""
        revival = await self._revive(spec, f"resume/{self.standing.last_seq}", needs_help=False)
        if self.rig.stop.is_set():
            raise Interrupted(self.run)
        if not revival.came_back:
            raise TargetLost(self._gone(revival))

    async def _revive(
        self, spec: ProbeSpec, head: str, lived: Scrape | None = None, *, needs_help: bool = True
    ) -> Revival:
        def tell(took_s: float, words: str) -> None:
            self.emit(Reviving(took_s, words))

        revival = await revive(self.rig, spec, head, tell, lived, needs_help=needs_help)
        if revival.said:
            self.emit(Note(revival.said, hint="check the command of --on-death", level="warning"))
        if revival.came_back:
            self.emit(Revived(revival.took_s))
            if self._died_at is not None:
                await self._pause(self.rig.settings.death_spacing_s - (self.now() - self._died_at))
        return revival

    async def _pause(self, seconds: float) -> None:
        if seconds > 0:
            with anyio.move_on_after(seconds):
                await self.rig.stop.wait()
        if self.rig.stop.is_set():
            raise Interrupted(self.run)

    def _teller(self, seq: int) -> Callable[[Pulse, str], None]:
        def tell(pulse: Pulse, phase: str) -> None:
            health = pulse.health[-1] if pulse.health else None
            self.emit(ProbeProgress(seq, pulse.elapsed(), phase, health, pulse.heartbeat))

        return tell


def _needs_revival(seen: Observation) -> bool:
    """True where the next probe would find nobody. After a probe that is the last one there is no next."""
    if seen.spec.role in {Role.OVER_LIMIT, Role.SINGLE} and seen.outcome.is_evidence:
        return False
    return seen.deaths > 0 or seen.wedged or seen.outcome is Outcome.ABANDONED


def _same_question(asked: ProbeSpec, recorded: ProbeSpec) -> bool:
    """True where the recorded probe answers what is asked: the words of the reason may differ."""
    return replace(asked, reason="", wait_s=0.0) == replace(recorded, reason="", wait_s=0.0)

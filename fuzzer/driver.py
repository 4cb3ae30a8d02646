"""Pumps a plan: commit the intent, probe, commit the outcome, then tell the listeners and the plan.

Invariant: at every moment the journal holds everything that was observed, and an intent for everything that may have
been sent. So a kill -9 loses nothing, and a resumed run is a replay of the journal into a fresh plan.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, Protocol

import anyio

from fuzzer import account
from fuzzer.account import Account
from fuzzer.errors import Interrupted, TargetLost
from fuzzer.events import EngineDied, Event, Note, ProbeEnded, ProbeProgress, ProbeStarted, Replayed, Revived, Reviving
from fuzzer.lastwords import LastWords, beside
from fuzzer.model import Corroboration, Finding, Observation, Outcome, ProbeSpec, Role
from fuzzer.observe import observe
from fuzzer.outcome import judge
from fuzzer.poison import with_poison
from fuzzer.probe import Prepared, gather, prepare
from fuzzer.prompts.errors import TokenizerLost
from fuzzer.relapse import Vigil
from fuzzer.revival import Revival, revive
from fuzzer.standing import Standing, in_flight
from fuzzer.watch import scrape
from targets.base import Scrape, restarted

if TYPE_CHECKING:
    from fuzzer.evidence import Evidence, Verdict
    from fuzzer.plans import Plan
    from fuzzer.probe import Rig
    from fuzzer.relapse import Relapse
    from fuzzer.watch import Pulse

Turn = Callable[[ProbeSpec], AbstractAsyncContextManager[None]]


def at_once(_spec: ProbeSpec) -> AbstractAsyncContextManager[None]:
    """The turn of a driver that takes turns with nobody."""
    return nullcontext()


class Journal(account.Journal, Protocol):
    """Where a run is recorded. Every call has reached the disk when it returns."""

    def intend(self, prepared: Prepared, started_s: float) -> None: ...

    def complete(self, observation: Observation, evidence: Evidence, verdict: Verdict) -> None: ...

    def died(self, seq: int, verdict: Verdict, signature: str, at_s: float, last_words: str = "") -> None: ...

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
    _account: Account = field(init=False)
    _untold: int = field(init=False, default=0)  # deaths since the last observation, which the next one tells of

    def __post_init__(self) -> None:
        self._began = self.clock()
        self._account = Account(self.journal, self.emit, self.now, self.rig.settings.max_deaths)

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
        began = self.standing
        self.standing = reduce(Standing.after, recorded, began)
        self._account.charge(recorded)
        for seen in recorded:
            self.emit(Replayed(seen))
        try:
            plan, spec = self._replay(make_plan, recorded)
            if recorded:
                last = await self._find_serving(spec)
                if last is not None:
                    recorded = [*recorded[:-1], last]
                    self.standing = reduce(Standing.after, recorded, began)
                    plan, spec = self._replay(make_plan, recorded)
            await self._mark()
            while True:
                async with self.turn(spec):
                    seen = await self._step(spec)
                spec = plan.send(seen)
        except StopIteration as end:
            finding: Finding = end.value
            return replace(finding, reason=finding.reason + beside(self.standing.bugs))

    def _replay(
        self, make_plan: Callable[[Sequence[Observation]], Plan], recorded: Sequence[Observation]
    ) -> tuple[Plan, ProbeSpec]:
        """A plan that stands where the recorded run stood, and its next question."""
        plan = make_plan(())
        spec = next(plan)
        for seen in recorded:
            if not _same_question(spec, seen.spec):
                text = "this version would have asked for other lengths than were recorded; they are taken as facts"
                self.emit(Note(text))
                self.journal.note(text, self.now())
                plan = make_plan(recorded)
                return plan, next(plan)
            spec = plan.send(seen)
        return plan, spec

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
        verdict = self._with_unseen_death(with_poison(judge(evidence), evidence), evidence)
        words = await self._last_words(verdict)
        seen = observe(prepared, evidence, verdict, self.standing, started_s=started_s, ended_s=self.now())
        if words.signature:
            seen = replace(seen, signature=words.signature, signature_source="log")
        self.journal.complete(seen, evidence, verdict)
        if verdict.deaths:
            self._tell_death(seen, verdict, words)
        self._account.charge([seen])
        self.known = evidence.settled or evidence.after or self.known
        if evidence.cancelled:
            raise Interrupted(self.run)
        if _needs_revival(seen):
            seen = await self._come_back(seen, evidence)
            if seen.revived:
                await self._compare_limits()
        self.standing = self.standing.after(seen)
        self.emit(ProbeEnded(seen))
        await self._mark()
        return seen

    async def _prepare(self, spec: ProbeSpec, seq: int) -> Prepared:
        """A text needs the target's tokenizer: where that is away, so is the engine, and it is waited for."""
        try:
            return await prepare(self.rig, spec, self.standing, seq)
        except TokenizerLost:
            await self._wait_for_tokenizer(spec, seq)
            return await prepare(self.rig, spec, self.standing, seq)

    async def _wait_for_tokenizer(self, spec: ProbeSpec, seq: int) -> None:
        """Raises TargetLost, Interrupted. Deaths meanwhile are the next observation's; without one, the last one's."""
        relapses: list[tuple[Relapse, float]] = []

        def bury(relapse: Relapse, took_s: float) -> bool:
            relapses.append((relapse, took_s))
            return self._account.spares(len(relapses))

        revival = await self._revive(
            spec, f"tokenizer/{seq}", Vigil(self.known, ended=True, wary=self._account.relapses), bury
        )
        if revival.came_back and not self.rig.stop.is_set():
            self._untold += len(relapses)
            return
        for relapse, took_s in relapses:
            self._account.bury(relapse, took_s)
        raise Interrupted(self.run) if self.rig.stop.is_set() else TargetLost(self._gone(revival))

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

    def _with_unseen_death(self, verdict: Verdict, evidence: Evidence) -> Verdict:
        """An engine that died between two probes: nobody's death, but a death."""
        if self._untold:
            deaths, self._untold = verdict.deaths + self._untold, 0
            verdict = replace(verdict, deaths=deaths, blames=verdict.blames or "nobody")
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
        self._account.died_at = self.now()
        self.journal.died(seen.seq, verdict, seen.signature, self._account.died_at, words.lines)
        if self.standing.is_another_bug(seen):
            text = f"the engine died of something else this time: {seen.signature} (before: {self.standing.bugs[0]})"
            self.emit(Note(text, level="warning"))
            self.journal.note(text, self._account.died_at)
        length = seen.length if verdict.blames == "this" else None
        self.emit(EngineDied(seen.seq, length, seen.signature, verdict.corroboration or Corroboration.PRESUMED))

    async def _come_back(self, seen: Observation, evidence: Evidence) -> Observation:
        lived, looked = evidence.before, evidence.settled or evidence.after
        began = self.now()
        vigil = Vigil(lived, ended=seen.deaths > 0, wary=self._account.relapses)
        revival = await self._revive(seen.spec, str(seen.seq), vigil, self._account.bury)
        waited_s = self.now() - began  # also for the spacing of deaths, which the next probe's begin depends on
        counted = seen.deaths > 0 or seen.wedged  # else whoever is there now is compared with whom we knew
        if counted and (revival.relapses or lived is None or looked is None or restarted(lived, looked) is None):
            self.known = revival.born or await scrape(self.rig.target)
        if self.rig.stop.is_set() and not revival.came_back:
            raise Interrupted(self.run)
        return self._account.settle(revival, waited_s)

    async def _compare_limits(self) -> None:
        """Whoever helped the engine back may have given it another window: then a finding would speak for both."""
        was, now = self.rig.limit, await self.rig.target.limit()
        if was and now and was != now:
            text = f"the target advertised a limit of {was} tokens; since it came back it is {now}"
            self.emit(Note(text, level="warning"))
            self.journal.note(text, self.now())

    async def _find_serving(self, spec: ProbeSpec) -> Observation | None:
        """Before a run goes on: whoever is there must serve. Raises TargetLost where nobody does.

        Where it died of that, the last observation has those deaths now, and is given back.
        """
        vigil = Vigil(self.known, ended=True, wary=self._account.relapses)
        head = f"resume/{self.standing.last_seq}"
        revival = await self._revive(spec, head, vigil, self._account.bury, needs_help=False)
        if self.rig.stop.is_set():
            raise Interrupted(self.run)
        if not revival.came_back:
            raise TargetLost(self._gone(revival))
        return self._account.settle(revival) if revival.relapses else None

    async def _revive(
        self,
        spec: ProbeSpec,
        head: str,
        vigil: Vigil,
        bury: Callable[[Relapse, float], bool],
        *,
        needs_help: bool = True,
    ) -> Revival:
        def tell(took_s: float, words: str) -> None:
            self.emit(Reviving(took_s, words))

        revival = await revive(
            self.rig, spec, head, tell, vigil, needs_help=needs_help, standing=self.standing, bury=bury
        )
        if revival.said:
            self.emit(Note(revival.said, hint="check the command of --on-death", level="warning"))
        if revival.came_back:
            self.emit(Revived(revival.took_s))
            if self._account.died_at is not None:
                await self._pause(self.rig.settings.death_spacing_s - (self.now() - self._account.died_at))
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

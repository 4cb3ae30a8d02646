"""How are a plan's questions put? Commit the intent, probe, commit the outcome, then tell the listeners and the plan.

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

from fuzzer import comeback
from fuzzer.account import Account
from fuzzer.aftermath import look_again
from fuzzer.comeback import LONG_WAIT_S, Comeback
from fuzzer.errors import Interrupted
from fuzzer.events import EngineDied, Event, Note, ProbeEnded, ProbeProgress, ProbeStarted, Replayed
from fuzzer.finding import Finding
from fuzzer.lastwords import LastWords, beside
from fuzzer.lives import Lives
from fuzzer.model import Corroboration, Outcome, ProbeSpec, Role
from fuzzer.observation import Observation
from fuzzer.observe import observe
from fuzzer.outcome import judge
from fuzzer.plans.whole import ASKED_WHOLE, is_again
from fuzzer.poison import with_poison
from fuzzer.probe import gather, gather_unsent
from fuzzer.prompts.errors import TokenizerLost
from fuzzer.rig import Prepared, prepare, unsent
from fuzzer.standing import Standing, in_flight, unseen_output
from fuzzer.untokenized import Untokenized
from targets.scrape import Scrape

if TYPE_CHECKING:
    from fuzzer.evidence import Evidence, Verdict
    from fuzzer.plans import Plan
    from fuzzer.rig import Rig
    from fuzzer.watch import Pulse
    from targets.base import Reply

UNCOUNTED = (
    "the metrics do not count what is answered here: they are another engine's, a proxy's or a cache's, and no evidence"
)
Turn = Callable[[ProbeSpec], AbstractAsyncContextManager[None]]


def at_once(_spec: ProbeSpec) -> AbstractAsyncContextManager[None]:
    """The turn of a driver that takes turns with nobody."""
    return nullcontext()


class Journal(comeback.Journal, Protocol):
    """Where a run is recorded. Every call that tells it something has reached the disk when it returns."""

    def engines(self) -> Sequence[Scrape]: ...

    def intend(self, prepared: Prepared, started_s: float) -> None: ...

    def complete(self, observation: Observation, evidence: Evidence, verdict: Verdict) -> None: ...

    def died(self, seq: int, verdict: Verdict, signature: str, at_s: float, last_words: str = "") -> None: ...


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
    _lives: Lives = field(init=False)
    _comeback: Comeback = field(init=False)
    _untokenized: Untokenized = field(default_factory=Untokenized, init=False)

    def __post_init__(self) -> None:
        self._began = self.clock()
        self._account = Account(self.journal, self.emit, self.now, self.rig.settings.max_deaths)
        self._lives = Lives(self.known, replicas=self.rig.replicas)
        self._lives.recall(self.journal.engines())
        self._comeback = Comeback(
            self.run,
            self.rig,
            self.journal,
            self._account,
            self._lives,
            self.emit,
            self.now,
            window=self.rig.limit,
            moved=self._move,
        )

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
            self._untokenized.remember(seen)
            self.emit(Replayed(seen))
        try:
            plan, spec = self._replay(make_plan, recorded)
            if recorded:
                last = await self._comeback.before(spec, self.standing)
                if last is not None:
                    recorded = [*recorded[:-1], last]
                    self.standing = reduce(Standing.after, recorded, began)
                    plan, spec = self._replay(make_plan, recorded)
                self.standing = replace(self.standing, served=True)  # a canary sang just now
            await self._mark()
            while True:
                async with self.turn(spec):
                    seen = await self._step(spec)
                spec = plan.send(seen)
                if is_again(spec, seen):
                    self.emit(Note(ASKED_WHOLE))
                    self.journal.note(ASKED_WHOLE, self.now())
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
        if spec.wait_s >= LONG_WAIT_S:
            self.emit(Note(f"waits {spec.wait_s:.0f} s before {spec.length} tokens: {spec.reason}"))
        await self._comeback.pause(spec.wait_s, self.standing)
        seq = self.standing.last_seq + 1
        prepared, instead = await self._prepare(spec, seq)
        started_s = self.now()
        self.journal.intend(prepared, started_s)
        deadline_s = self.standing.deadline_s(in_flight(spec), self.rig.settings.timeout_s, unseen_output(spec))
        self.emit(ProbeStarted(seq, spec, deadline_s, leaves=instead is None))
        evidence, verdict = await self._ask(prepared, instead)
        verdict = self._with_unseen_deaths(verdict, evidence)
        words = await self._last_words(verdict)
        helped = bool(self.rig.settings.on_death)
        seen = observe(
            prepared, evidence, verdict, self.standing, started_s=started_s, ended_s=self.now(), helped=helped
        )
        if words.signature:
            seen = replace(seen, signature=words.signature, signature_source="log")
        self.journal.complete(seen, evidence, verdict)
        if verdict.deaths:
            self._tell_death(seen, verdict, words)
        self._account.charge([seen])
        self._lives.saw(evidence)
        if evidence.cancelled:
            raise Interrupted(self.run)
        if _needs_revival(seen, helped=helped):
            seen = await self._comeback.after(seen, evidence, self.standing)
        if seen.uncounted and self.standing.counted:
            self.emit(Note(UNCOUNTED, hint="--metrics-url names the engine's own", level="warning"))
            self.journal.note(UNCOUNTED, self.now())
        self.standing = self.standing.after(seen)
        self.emit(ProbeEnded(seen))
        await self._mark()
        return seen

    async def _prepare(self, spec: ProbeSpec, seq: int) -> tuple[Prepared, Reply | None]:
        """The probe; or one that cannot leave, as the target does not tokenize its text, and what came instead."""
        try:
            prepared = await prepare(self.rig, spec, self.standing, seq)
        except TokenizerLost as lost:
            return unsent(self.rig, spec, self.standing, seq, self._lives.known), lost.reply
        self._untokenized.counted(spec)
        return prepared, None

    async def _ask(self, prepared: Prepared, instead: Reply | None) -> tuple[Evidence, Verdict]:
        tell = self._teller(prepared.seq)
        if instead is not None:
            evidence = await gather_unsent(self.rig, prepared, instead, self.standing, tell)
            return evidence, self._untokenized.lost(evidence)
        evidence = await gather(self.rig, prepared, self.standing, tell)
        late: Sequence[Scrape | None] = ()
        if self._lives.doubts(evidence):
            try:
                late = await look_again(self.rig, self.standing)
            except Interrupted:  # whether it was a restart, nobody can tell
                evidence = replace(evidence, cancelled=True)
        evidence = self._met(evidence, late)
        return evidence, with_poison(judge(evidence), evidence)

    def _met(self, evidence: Evidence, late: Sequence[Scrape | None]) -> Evidence:
        """The evidence of a probe; where it shows several engines, no later look at one of them says anything."""
        evidence = self._lives.met(evidence, late)
        if evidence.several and not self.rig.replicas:
            self._refit(replace(self.rig, replicas=True))
            text = f"several engines answer by now: {evidence.several}"
            self.emit(Note(text, hint="give one pod's own URL", level="warning"))
            self.journal.note(text, self.now())
        return replace(evidence, several="") if self.rig.settings.allow_replicas else evidence

    def _move(self, limit: int) -> None:
        self._refit(replace(self.rig, limit=limit))

    def _refit(self, rig: Rig) -> None:
        self.rig = rig
        self._comeback = replace(self._comeback, rig=rig)

    def _with_unseen_deaths(self, verdict: Verdict, evidence: Evidence) -> Verdict:
        verdict, why = self._lives.with_unseen_deaths(verdict, evidence)
        if why is not None:
            self.emit(Note(f"the engine was restarted between two probes ({why}); it counts as a death of nobody's"))
        return verdict

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

    def _teller(self, seq: int) -> Callable[[Pulse, str], None]:
        def tell(pulse: Pulse, phase: str) -> None:
            health = pulse.health[-1] if pulse.health else None
            self.emit(ProbeProgress(seq, pulse.elapsed(), phase, health, pulse.heartbeat))

        return tell


def _needs_revival(seen: Observation, *, helped: bool) -> bool:
    """True where the next probe would find nobody. After a probe that is the last one there is no next; but the engine
    is `helped` back after it too, where we were told how. A way that is shut for another reason ends the run at once.
    """
    if seen.unusable:
        return False
    if not helped and seen.spec.role in {Role.OVER_LIMIT, Role.SINGLE} and seen.outcome.is_evidence:
        return False
    return seen.deaths > 0 or seen.wedged or seen.outcome is Outcome.ABANDONED


def _same_question(asked: ProbeSpec, recorded: ProbeSpec) -> bool:
    """True where the recorded probe answers what is asked: the words of the reason may differ."""
    return replace(asked, reason="", wait_s=0.0) == replace(recorded, reason="", wait_s=0.0)

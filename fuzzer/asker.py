"""How is one question put to the target? Commit the intent, probe, commit the outcome, have the engine serve again.

Invariant: at every moment the journal holds everything that was observed, and an intent for everything that may have
been sent. So a kill -9 loses nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, Protocol

from fuzzer.aftermath import look_again
from fuzzer.errors import Interrupted
from fuzzer.events import EngineDied, Note, ProbeEnded, ProbeProgress, ProbeStarted
from fuzzer.lastwords import LastWords
from fuzzer.lifetime import comeback
from fuzzer.lifetime.account import Account
from fuzzer.lifetime.comeback import LONG_WAIT_S, Comeback
from fuzzer.lifetime.lives import Lives
from fuzzer.model import Corroboration, Outcome, Role
from fuzzer.observe import observe
from fuzzer.outcome import judge
from fuzzer.outcome.poison import with_poison
from fuzzer.outcome.untokenized import Untokenized
from fuzzer.probe import gather, gather_unsent
from fuzzer.prompts.errors import TokenizerLost
from fuzzer.rig import prepare, unsent
from fuzzer.standing import Standing, in_flight, unseen_output

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fuzzer.events import Event
    from fuzzer.evidence import Evidence, Verdict
    from fuzzer.model import ProbeSpec
    from fuzzer.observation import Observation
    from fuzzer.rig import Prepared, Rig
    from fuzzer.watch import Pulse
    from targets.base import Reply
    from targets.scrape import Scrape

UNCOUNTED = (
    "the metrics do not count all that is answered here: another engine's, one of several's, a proxy's or a cache's"
)


class Journal(comeback.Journal, Protocol):
    """Where a run is recorded. Every call that tells it something has reached the disk when it returns."""

    def engines(self) -> Sequence[Scrape]: ...

    def intend(self, prepared: Prepared, started_s: float) -> None: ...

    def complete(self, observation: Observation, evidence: Evidence, verdict: Verdict) -> None: ...

    def died(self, seq: int, verdict: Verdict, signature: str, at_s: float, last_words: str = "") -> None: ...


@dataclass(slots=True)
class Asker:
    """Asks one target for one run, probe after probe. `known`: the engine when it was last looked at."""

    run: str
    rig: Rig
    journal: Journal
    emit: Callable[[Event], None]
    now: Callable[[], float]  # active seconds of the run
    known: Scrape | None
    standing: Standing = field(default_factory=Standing, init=False)
    _account: Account = field(init=False)
    _lives: Lives = field(init=False)
    _comeback: Comeback = field(init=False)
    _untokenized: Untokenized = field(default_factory=Untokenized, init=False)

    def __post_init__(self) -> None:
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

    def recall(self, recorded: Sequence[Observation]) -> None:
        """Stand where the recorded run stood."""
        self.standing = reduce(Standing.after, recorded, Standing())
        self._account.charge(recorded)
        for seen in recorded:
            self._untokenized.remember(seen)

    async def awaken(self, spec: ProbeSpec, recorded: Sequence[Observation]) -> Sequence[Observation]:
        """Before a recorded run goes on with `spec`: have the engine serve. What is recorded as it stands then: the
        last observation may have to pay for more.
        """
        last = await self._comeback.before(spec, self.standing)
        if last is not None:
            recorded = [*recorded[:-1], last]
            self.standing = reduce(Standing.after, recorded, Standing())
        self.standing = replace(self.standing, served=True)  # a canary sang just now
        return recorded

    async def ask(self, spec: ProbeSpec) -> Observation:
        """One probe from intent to observation, with the engine serving again at its end where it can."""
        if spec.wait_s >= LONG_WAIT_S:
            self.emit(Note(f"waits {spec.wait_s:.0f} s before {spec.length} tokens: {spec.reason}"))
        await self._comeback.pause(spec.wait_s, self.standing)
        seen, evidence = await self._probe(spec)
        if evidence.cancelled:
            raise Interrupted(self.run)
        if _needs_revival(seen, helped=self._helped):
            seen = await self._comeback.after(seen, evidence, self.standing)
        if seen.uncounted and self.standing.counted:
            self._warn(UNCOUNTED, hint="--metrics-url names the engine's own")
        self.standing = self.standing.after(seen)
        self.emit(ProbeEnded(seen))
        await self.mark()
        return seen

    async def mark(self) -> None:
        """What the engine logs from now on belongs to what is asked next."""
        if self.rig.engine_log is not None:
            await self.rig.engine_log.mark()

    @property
    def _helped(self) -> bool:
        """Are we told how to bring the engine back?"""
        return bool(self.rig.settings.on_death)

    async def _probe(self, spec: ProbeSpec) -> tuple[Observation, Evidence]:
        """Intent, probe, outcome: both are on record when it returns, and so are the deaths that it met."""
        seq = self.standing.last_seq + 1
        prepared, instead = await self._prepare(spec, seq)
        started_s = self.now()
        self.journal.intend(prepared, started_s)
        deadline_s = self.standing.deadline_s(in_flight(spec), self.rig.settings.timeout_s, unseen_output(spec))
        self.emit(ProbeStarted(seq, spec, deadline_s, leaves=instead is None))
        evidence, verdict = await self._gather(prepared, instead)
        verdict = self._with_unseen_deaths(verdict, evidence)
        words = await self._last_words(verdict)
        seen = observe(
            prepared, evidence, verdict, self.standing, started_s=started_s, ended_s=self.now(), helped=self._helped
        )
        if words.signature:
            seen = replace(seen, signature=words.signature, signature_source="log")
        self.journal.complete(seen, evidence, verdict)
        if verdict.deaths:
            self._tell_death(seen, verdict, words)
        self._account.charge([seen])
        self._lives.saw(evidence)
        return seen, evidence

    async def _prepare(self, spec: ProbeSpec, seq: int) -> tuple[Prepared, Reply | None]:
        """The probe; or one that cannot leave, as the target does not tokenize its text, and what came instead."""
        try:
            prepared = await prepare(self.rig, spec, self.standing, seq)
        except TokenizerLost as lost:
            return unsent(self.rig, spec, self.standing, seq, self._lives.known), lost.reply
        self._untokenized.counted(spec)
        return prepared, None

    async def _gather(self, prepared: Prepared, instead: Reply | None) -> tuple[Evidence, Verdict]:
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
            self._warn(f"several engines answer by now: {evidence.several}", hint="give one pod's own URL")
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

    async def _last_words(self, verdict: Verdict) -> LastWords:
        """What the engine's own log says of a death, where we are told where it is."""
        if not verdict.deaths or self.rig.engine_log is None:
            return LastWords()
        return await self.rig.engine_log.last_words()

    def _tell_death(self, seen: Observation, verdict: Verdict, words: LastWords) -> None:
        self._account.died_at = self.now()
        self.journal.died(seen.seq, verdict, seen.signature, self._account.died_at, words.lines)
        if self.standing.is_another_bug(seen):
            before = self.standing.bugs[0]
            self._warn(f"the engine died of something else this time: {seen.signature} (before: {before})")
        length = seen.length if verdict.blames == "this" else None
        self.emit(EngineDied(seen.seq, length, seen.signature, verdict.corroboration or Corroboration.PRESUMED))

    def _warn(self, text: str, hint: str = "") -> None:
        self.emit(Note(text, hint=hint, level="warning"))
        self.journal.note(text, self.now())

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

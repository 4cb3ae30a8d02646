"""How does a question put to a target become a run? Locks, records, drives, seals."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

import anyio

from fuzzer.before.preflight import Company
from fuzzer.before.prelude import prelude
from fuzzer.cli.acquaintance import known_again, require_same_drafter
from fuzzer.cli.rigging import ground_of, rig_of
from fuzzer.cli.secrecy import told
from fuzzer.driver import Driver, Turn, at_once
from fuzzer.errors import CtxfuzzError, Interrupted, RunStopped, UsageFault
from fuzzer.events import Event, RunEnded, RunStarted
from fuzzer.finding import Finding
from fuzzer.heed import unless
from fuzzer.journal import StoreJournal, deaths_before_probes, last_seen_engine, measured, settle
from fuzzer.model import Settings
from fuzzer.store import RunRecord, Store
from fuzzer.watch import scrape

if TYPE_CHECKING:
    from fuzzer.cli.common import CommonFlags
    from fuzzer.observation import Observation
    from fuzzer.plans import Plan
    from fuzzer.prompts.recipe import Recipe
    from fuzzer.store import Run
    from fuzzer.store.records import Ending
    from targets.base import Mode, Survey
    from targets.target import Target

Listener = Callable[[Event], None]
PACE = Settings()
NO_NOTES: Mapping[str, object] = MappingProxyType({})


class Question(Protocol):
    """What a plan is asked: JSON-able, and able to begin the plan."""

    def to_json(self) -> dict[str, object]: ...

    def plan(self, facts: Sequence[Observation] = ()) -> Plan: ...


@dataclass(frozen=True, slots=True)
class Result:
    """What a run that ended leaves for the printer."""

    finding: Finding
    run_row: Run
    observations: list[Observation]
    elapsed_s: float


@dataclass(frozen=True, slots=True)
class Session:
    """A target that was surveyed and found free for us."""

    flags: CommonFlags
    target: Target
    survey: Survey
    company: Company
    pace: Settings = PACE
    ground: int | None = None  # tokens: nothing longer is sent ahead of a probe; None: as the question says
    again: Recipe | None = None  # the one prompt to send, whatever length is asked
    turn: Turn = at_once  # whose turn it is, where several runs measure side by side

    @property
    def mode(self) -> Mode:
        """How prompts are sent: as told, else ids where the target takes them, else text."""
        takes_ids = self.survey.takes_ids and self.target.traits.ids
        return self.flags.mode or ("ids" if takes_ids else "text")

    def on_ground_of(self, run: Run) -> Session:
        """With the ground that the question of the run names, unless it has one already."""
        return self if self.ground is not None else replace(self, ground=ground_of(run.record.question))

    async def run(
        self,
        command: str,
        question: Question,
        listeners: Sequence[Listener],
        stop: anyio.Event,
        *,
        plan: str | None = None,
        notes: Mapping[str, object] = NO_NOTES,
    ) -> Result:
        """A new run of `question`, from its first row to its seal. Raises Interrupted when `stop` is set.

        `plan` names what answers it, where that is not the command's own; `notes` are kept with the run's settings.
        """
        if self.flags.seed is None:  # what is recorded is what prompts are drawn from
            seeded = replace(self, flags=self.flags.seeded())
            return await seeded.run(command, question, listeners, stop, plan=plan, notes=notes)
        with Store.open(self.flags.db, secrets=told()) as store, store.lock(self.target.url):
            record = self._record(command, plan or command, question.to_json(), {**self.flags.settings(), **notes})
            run = store.begin(record)
            return await self._drive(store, run, question, listeners, stop)

    def record(self, command: str, finding: Finding, notes: Mapping[str, object]) -> Result:
        """A run that asked for no probe: what was read of the target, as `notes`, and what it comes to."""
        with Store.open(self.flags.db, secrets=told()) as store, store.lock(self.target.url):
            run = store.begin(self._record(command, command, {}, {**self.flags.settings(), **notes}))
            store.finish(run, finding, "done", at_s=0.0)
            return Result(finding, store.get(run), [], 0.0)

    def _record(
        self, command: str, plan: str, question: Mapping[str, object], settings: Mapping[str, object]
    ) -> RunRecord:
        return RunRecord(
            command=command,
            argv=tuple(sys.argv),
            url=self.target.url,
            model=self.survey.model or "",
            engine=self.survey.engine,
            engine_version=self.survey.version,
            limit=self.survey.limit,
            plan=plan,
            question=question,
            settings=settings,
        )

    async def resume(self, run: Run, question: Question, listeners: Sequence[Listener], stop: anyio.Event) -> Result:
        """Go on with a run that ended before its time. Raises RunStopped where another engine is behind the URL, and
        UsageFault where another resume of it has come to its end meanwhile.
        """
        known = known_again(self.survey, run.record)
        if known != self.survey:
            return await replace(self, survey=known).resume(run, question, listeners, stop)
        with Store.open(self.flags.db, secrets=told()) as store, store.lock(self.target.url):
            if store.get(run.run).status == "done":
                raise UsageFault(f"Run {run.run} has ended meanwhile. See it: ctxfuzz show {run.run}")
            self._spare(store, run.run)
            now = None if self.company.replicas > 1 else await scrape(self.target)
            read = measured(store, run.run)
            require_same_drafter(run.record, [one for one in store.observations(run.run) if one.seq in read], now)
            store.reopen(run.run, tuple(sys.argv), at_s=store.active_s(run.run))
            settle(store, run.run, now)
            return await self._drive(store, run.run, question, listeners, stop)

    def _spare(self, store: Store, run: str) -> None:
        """Raises RunStopped where what is asked before the first probe has killed as often as may be."""
        before, limit = deaths_before_probes(store, run), self.flags.max_deaths
        if before > 0 and len(store.deaths(run)) >= limit:
            raise RunStopped(
                f"The engine died {before}x before a session's first probe, of what tells how it counts, and "
                f"--max-deaths is {limit}: a resume would ask that again. Begin a new run with --tokenizer DIR."
            )

    async def _drive(
        self, store: Store, run: str, question: Question, listeners: Sequence[Listener], stop: anyio.Event
    ) -> Result:
        recorded = store.observations(run)
        several = self.company.replicas > 1
        async with prelude(store, run, self.target, grace_s=self.pace.grace_failure_s, replicas=several) as before:
            grounded = self.on_ground_of(store.get(run))
            rig = await unless(stop, lambda: rig_of(grounded, stop, listeners, before.tell))
        driver = Driver(
            run=run,
            rig=rig,
            journal=StoreJournal(store, run),
            listeners=listeners,
            active_s=store.active_s(run),
            known=last_seen_engine(store, run),
            turn=self.turn,
        )
        self._announce(driver, store.get(run), resumed=bool(recorded))
        try:
            finding = await driver.drive(question.plan, recorded)
        except CtxfuzzError as stopped:
            status: Ending = "interrupted" if isinstance(stopped, Interrupted) else "halted"
            store.finish(run, None, status, at_s=driver.now())
            raise
        store.finish(run, finding, "halted" if finding.halt else "done", at_s=driver.now())
        driver.emit(RunEnded(run, finding))
        return Result(finding, store.get(run), store.observations(run), driver.now())

    def _announce(self, driver: Driver, run: Run, *, resumed: bool) -> None:
        record = run.record
        driver.emit(
            RunStarted(
                run=run.run,
                url=record.url,
                model=record.model,
                engine=record.engine,
                version=record.engine_version,
                limit=record.limit,
                command=record.command,
                settings={**record.settings, **record.question},
                resumed=resumed,
            )
        )

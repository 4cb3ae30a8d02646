"""How does the driver's journal become rows of runs.db? One run of one store, told in the driver's words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING, Any

from fuzzer.model import Corroboration, Outcome
from fuzzer.observation import Observation
from fuzzer.prompts.recipe import Recipe
from fuzzer.standing import Standing
from fuzzer.store import Intent, summary
from targets.scrape import Scrape, restarted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fuzzer.evidence import Evidence, Verdict
    from fuzzer.lifetime.relapse import Relapse
    from fuzzer.lifetime.revival import Revival
    from fuzzer.rig import Prepared
    from fuzzer.store import History, Store

STARTS = "engine_starts"


@dataclass(slots=True)
class StoreJournal:
    """The journal of one run. Health is told by its changes, as the store wants it."""

    store: Store
    run: str
    _health: tuple[object, object] | None = None

    def engines(self) -> list[Scrape]:
        """Who the engine was as each probe left, since several were last told of: by now that may be mended."""
        told = max((seen.seq for seen in self.store.observations(self.run) if seen.several), default=0)
        return [_as_it_left(intent) for intent in self.store.intents(self.run) if intent.seq > told]

    def intend(self, prepared: Prepared, started_s: float) -> None:
        starts = {} if prepared.before is None else dict(prepared.before.starts)
        intent = Intent(
            seq=prepared.seq,
            spec=prepared.spec,
            started_s=started_s,
            sent_tokens=prepared.sent_tokens,
            body_sha256=prepared.sha256,
            body_bytes=len(prepared.body),
            recipe={**prepared.recipe.as_dict(), STARTS: starts},
        )
        self.store.intend(self.run, intent)

    def complete(self, observation: Observation, evidence: Evidence, verdict: Verdict) -> None:
        with self.store.together():
            self._complete(observation, evidence, verdict)

    def _complete(self, observation: Observation, evidence: Evidence, verdict: Verdict) -> None:
        self.store.complete(self.run, observation, summary(evidence, verdict))
        for poll in (*evidence.health_during, *evidence.health_after):
            if (poll.status, poll.fault) != self._health:
                self._health = (poll.status, poll.fault)
                self.store.health(self.run, poll, at_s=observation.started_s + poll.at_s)
        at_s, seq = observation.ended_s, observation.seq
        last = [canary for canary in (evidence.canary, evidence.encore) if canary is not None]
        for canary in (*evidence.drained, *last):
            self.store.canary(self.run, canary, at_s=at_s, purpose="after-probe", seq=seq)
        for canary in evidence.recounts:
            self.store.canary(self.run, canary, at_s=at_s, purpose="recount", seq=seq)

    def died(self, seq: int, verdict: Verdict, signature: str, at_s: float, last_words: str = "") -> None:
        blamed = seq if verdict.blames == "this" else None
        corroboration = verdict.corroboration or Corroboration.PRESUMED
        with self.store.together():
            self.store.death(
                self.run,
                blamed,
                at_s=at_s,
                corroboration=corroboration,
                signature=signature,
                last_words=last_words,
            )
            for _ in range(verdict.deaths - 1):  # unseen, before the probe left
                self.store.death(self.run, None, at_s=at_s, corroboration=Corroboration.PROVEN)

    def relapsed(self, seen: Observation, relapse: Relapse, *, at_s: float, took_s: float) -> None:
        """One more death, after `seen`, `took_s` seconds into the wait for the engine."""
        with self.store.together():
            self.store.death(
                self.run, None, at_s=at_s, corroboration=relapse.corroboration, signature=relapse.signature
            )
            self.store.revived(
                self.run,
                seen.seq,
                at_s=at_s,
                took_s=took_s,
                came_back=False,
                canaries=seen.canaries,
                relapses=seen.relapses,
            )
            if relapse.canary is not None:
                self.store.canary(self.run, relapse.canary, at_s=at_s, purpose="revival", seq=seen.seq)

    def ended(self, seen: Observation, relapse: Relapse, *, at_s: float) -> None:
        """What `seen` had made hang is dead: it died of that."""
        self.store.death(
            self.run, seen.seq, at_s=at_s, corroboration=relapse.corroboration, signature=relapse.signature
        )

    def revived(self, seen: Observation, revival: Revival, *, at_s: float) -> None:
        """How the wait ended; `seen` is the observation that has it now."""
        with self.store.together():
            self.store.revived(
                self.run,
                seen.seq,
                at_s=at_s,
                took_s=revival.took_s,
                came_back=revival.came_back,
                cost_s=seen.cost_s,
                canaries=seen.canaries,
                relapses=seen.relapses or None,
            )
            for canary in revival.canaries:
                self.store.canary(self.run, canary, at_s=at_s, purpose="revival", seq=seen.seq)

    def note(self, text: str, at_s: float) -> None:
        self.store.note(self.run, text, at_s=at_s)


def settle(store: Store, run: str, now: Scrape | None) -> None:
    """Write what a killed session had seen, or begun, and did not come to write. `now` is the engine as it is."""
    with store.together():
        _tell_the_last_death(store, run)
        _close_open_intents(store, run, now)


def _tell_the_last_death(store: Store, run: str) -> None:
    """A probe's deaths are told after it, all at once: the session may have been killed in between.

    What dies while the engine is waited for, or before a later session's first probe, is told only after them.
    """
    seen = store.observations(run)
    if not seen or "death" in _rows_after_the_last_outcome(store, run):
        return
    last = seen[-1]
    for _ in range(last.deaths):
        store.death(
            run,
            last.seq if last.blames == "this" else None,
            at_s=last.ended_s,
            corroboration=last.corroboration or Corroboration.PRESUMED,
            signature=last.signature,
        )


def deaths_before_probes(history: History, run: str) -> int:
    """How often the engine died of what was asked before a session's first probe: no observation tells of those."""
    return len(history.deaths(run)) - sum(seen.deaths for seen in history.observations(run))


def _rows_after_the_last_outcome(store: Store, run: str) -> list[str]:
    backwards = (str(row["kind"]) for row in reversed(store.timeline(run)))
    return list(takewhile(lambda kind: kind != "outcome", backwards))


def _close_open_intents(store: Store, run: str, now: Scrape | None) -> None:
    """What left and was not answered is `abandoned`: no evidence.

    An engine that started anew before the intent, unseen, or since is a presumed death, charged to the budget though
    to no length. The probe before had its canary, so no doubt falls on that one.
    """
    standing = reduce(Standing.after, store.observations(run), Standing())
    for intent in store.open_intents(run):
        known, left = last_seen_engine(store, run, before=intent.seq), _as_it_left(intent)
        deaths = _is_another(known, left) + _is_another(left if left.starts else known, now)
        seen = Observation(
            seq=intent.seq,
            spec=intent.spec,
            outcome=Outcome.ABANDONED,
            length=intent.spec.length,
            length_source="inferred",
            reason="ctxfuzz was killed while this probe was on its way",
            corroboration=Corroboration.PRESUMED if deaths else None,
            deaths=deaths,
            sent_tokens=intent.sent_tokens,
            started_s=intent.started_s,
            ended_s=intent.started_s,
            incarnation=standing.incarnation,
            ordinal=standing.ordinal,
            fresh=standing.fresh,
        )
        standing = standing.after(seen)
        store.complete(run, seen, {"abandoned": True})
        for _ in range(deaths):
            store.death(run, None, at_s=intent.started_s, corroboration=Corroboration.PRESUMED)


def last_seen_engine(history: History, run: str, *, before: int | None = None) -> Scrape | None:
    """Who the engine was when a probe of the run last left, unless its end since then is on record.

    `before`: only probes with a lower number. A death that was first seen as a probe left came before that look.
    """
    wedged = {seen.seq for seen in history.observations(run) if seen.wedged}
    known: Scrape | None = None
    for intent, deaths in _deaths_since(history, run):
        if before is not None and intent.seq >= before:
            break
        left = _as_it_left(intent)
        ended = deaths > _is_another(known, left) or intent.seq in wedged
        known = None if ended else left if left.starts else known
    return known


def measured(history: History, run: str) -> frozenset[int]:
    """The probes, by their seq, as which left the metrics of their engine were read."""
    return frozenset(intent.seq for intent in history.intents(run) if _as_it_left(intent).starts)


def _deaths_since(history: History, run: str) -> Iterator[tuple[Intent, int]]:
    """Each probe that left, and how many deaths are on record between it and the next one."""
    kinds = [str(row["kind"]) for row in history.timeline(run)]
    left = [at for at, kind in enumerate(kinds) if kind == "intent"]
    for intent, (start, end) in zip(history.intents(run), pairwise([*left, len(kinds)]), strict=True):
        yield intent, kinds[start:end].count("death")


def _is_another(known: Scrape | None, now: Scrape | None) -> bool:
    """Did the engine start anew between two looks?"""
    return known is not None and now is not None and restarted(known, now) is not None


def recipe_of(intent: Intent) -> Recipe:
    """What makes the prompt of a recorded probe again."""
    kept: dict[str, Any] = {name: value for name, value in intent.recipe.items() if name != STARTS}
    return Recipe(**kept)


def _as_it_left(intent: Intent) -> Scrape:
    starts = intent.recipe.get(STARTS)
    return Scrape(0.0, {str(name): float(mark) for name, mark in starts.items()} if isinstance(starts, dict) else {})

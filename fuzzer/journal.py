"""How does the driver's journal become rows of runs.db? One run of one store, told in the driver's words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fuzzer.model import Corroboration, Observation, Outcome
from fuzzer.store import Intent, summary
from targets.base import Scrape, restarted

if TYPE_CHECKING:
    from fuzzer.model import Evidence, Verdict
    from fuzzer.probe import Prepared
    from fuzzer.revival import Revival
    from fuzzer.store import History, Store

STARTS = "engine_starts"


@dataclass(slots=True)
class StoreJournal:
    """The journal of one run. Health is told by its changes, as the store wants it."""

    store: Store
    run: str
    _health: tuple[object, object] | None = None

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
        self.store.complete(self.run, observation, summary(evidence, verdict))
        for poll in (*evidence.health_during, *evidence.health_after):
            if (poll.status, poll.fault) != self._health:
                self._health = (poll.status, poll.fault)
                self.store.health(self.run, poll, at_s=observation.started_s + poll.at_s)
        if evidence.canary is not None:
            self.store.canary(
                self.run, evidence.canary, at_s=observation.ended_s, purpose="after-probe", seq=observation.seq
            )

    def died(self, seq: int, verdict: Verdict, words: str, at_s: float) -> None:
        blamed = seq if verdict.blames == "this" else None
        corroboration = verdict.corroboration or Corroboration.PRESUMED
        self.store.death(self.run, blamed, at_s=at_s, corroboration=corroboration, signature=words)

    def revived(self, seq: int, revival: Revival, *, at_s: float, cost_s: float, canaries: int) -> None:
        self.store.revived(
            self.run,
            seq,
            at_s=at_s,
            took_s=revival.took_s,
            came_back=revival.came_back,
            cost_s=cost_s,
            canaries=canaries,
        )
        for canary in revival.canaries:
            self.store.canary(self.run, canary, at_s=at_s, purpose="revival", seq=seq)

    def note(self, text: str, at_s: float) -> None:
        self.store.note(self.run, text, at_s=at_s)


def close_open_intents(store: Store, run: str, now: Scrape | None) -> None:
    """Close what a killed session left open as `abandoned`: no evidence.

    An engine that started anew since the intent is a presumed death, charged to the budget though to no length.
    """
    for intent in store.open_intents(run):
        died = now is not None and restarted(_as_it_left(intent), now) is not None
        seen = Observation(
            seq=intent.seq,
            spec=intent.spec,
            outcome=Outcome.ABANDONED,
            length=intent.spec.length,
            length_source="inferred",
            reason="ctxfuzz was killed while this probe was on its way",
            corroboration=Corroboration.PRESUMED if died else None,
            deaths=int(died),
            blames="nobody" if died else None,
            sent_tokens=intent.sent_tokens,
            started_s=intent.started_s,
            ended_s=intent.started_s,
        )
        store.complete(run, seen, {"abandoned": True})
        if died:
            store.death(run, None, at_s=intent.started_s, corroboration=Corroboration.PRESUMED)


def last_seen_engine(history: History, run: str) -> Scrape | None:
    """Who the engine was as the last probe of the run left, unless a death of it is already on record."""
    intents, seen = history.intents(run), history.observations(run)
    if not intents or not seen or seen[-1].deaths:
        return None
    return _as_it_left(intents[-1])


def _as_it_left(intent: Intent) -> Scrape:
    starts = intent.recipe.get(STARTS)
    return Scrape(0.0, {str(name): float(mark) for name, mark in starts.items()} if isinstance(starts, dict) else {})

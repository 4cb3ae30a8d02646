"""What if the engine dies, or something stops us, between a run's first row and its first probe? Its record says so."""

from __future__ import annotations

import time
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fuzzer.errors import CtxfuzzError, Interrupted, TargetLost
from fuzzer.evidence import Evidence
from fuzzer.model import Corroboration, ProbeSpec, Role
from fuzzer.observe import signature
from fuzzer.outcome.vitals import death_proof, line_was_lost
from fuzzer.prompts.errors import PromptError, TokenizerLost
from fuzzer.watch import GRACE_INTERVAL_S, Pulse, grace, scrape
from targets.base import Fault, Reply

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from fuzzer.evidence import Canary
    from fuzzer.store import Store
    from targets.scrape import Scrape
    from targets.target import Target

NEXT = "Name the model's own tokenizer with --tokenizer DIR: then nothing need be asked before."
NO_PROBE = ProbeSpec(1, 1, Role.BASELINE, "before the first probe")


@dataclass(slots=True)
class Prelude:
    """The time before the first probe. Requests of it are on record like canaries.

    `lost` is what came instead of the last answer, where its line went dead.
    """

    store: Store
    run: str
    target: Target
    grace_s: float
    began: float
    before: Scrape | None  # who the engine is as it begins
    lost: Reply | None = None

    def now(self) -> float:
        """Active seconds of the run."""
        return self.began + time.monotonic()

    def tell(self, canary: Canary) -> None:
        """One more short prompt that is no probe."""
        self.store.canary(self.run, canary, at_s=self.now(), purpose="tuning")
        self.lost = Reply(sent=True, fault=Fault(canary.fault)) if canary.fault in {Fault.RESET, Fault.CUT} else None

    async def count_death(self, reply: Reply | None) -> str | None:
        """Why the engine must have died of what was answered so, with that death on record; None where it lives."""
        if reply is None:
            return None
        pulse = Pulse(time.monotonic())
        polls = await grace(self.target, pulse, seconds=self.grace_s, interval_s=GRACE_INTERVAL_S)
        after = await scrape(self.target) if self.before is not None else None
        e = Evidence(NO_PROBE, reply, 0, health_after=polls, before=self.before, after=after)
        proof = death_proof(e)
        heard = [poll for poll in polls if not poll.turned_away]
        away = line_was_lost(e) and (not polls or (bool(heard) and not heard[-1].ok))
        if proof is None and not away:
            return None
        known = Corroboration.PRESUMED if proof is None else Corroboration.PROVEN
        self.store.death(self.run, None, at_s=self.now(), corroboration=known, signature=signature(e))
        return proof or "it does not serve any more"


@asynccontextmanager
async def prelude(
    store: Store, run: str, target: Target, *, grace_s: float, replicas: bool = False
) -> AsyncIterator[Prelude]:
    """To be held around everything before the first probe: what stops it is noted, and the run is sealed.

    Raises TargetLost where the engine died of it.
    """
    before = None if replicas else await scrape(target)
    here = Prelude(store, run, target, grace_s, store.active_s(run) - time.monotonic(), before)
    try:
        yield here
    except Interrupted:
        store.finish(run, None, "interrupted", at_s=here.now())
        raise Interrupted(run) from None
    except (CtxfuzzError, PromptError) as stopped:
        why = await here.count_death(stopped.reply if isinstance(stopped, TokenizerLost) else here.lost)
        fault = stopped if why is None else TargetLost(f"{_died_of(stopped)}, before any probe ({why}). {NEXT}")
        store.note(run, str(fault), at_s=here.now(), level="warning")
        store.finish(run, None, "halted", at_s=here.now())
        raise fault from stopped.__cause__


def _died_of(stopped: Exception) -> str:
    if isinstance(stopped, TokenizerLost):
        return "The engine died as it tokenized the page of words that prompts are made of"
    return "The engine died of a short prompt that was to tell how it counts"

"""How does a test hold a real engine as ctxfuzz does, one probe at a time, without a plan and a record?"""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from fuzzer.before.inspection import Facts, Inspection, conclude
from fuzzer.before.inspector import idle_health, tries
from fuzzer.before.preflight import company
from fuzzer.evidence import Evidence, Verdict
from fuzzer.model import ProbeSpec, Settings
from fuzzer.outcome import judge
from fuzzer.probe import gather
from fuzzer.prompts import PromptSource
from fuzzer.rig import Rig, prepare
from fuzzer.standing import Standing
from fuzzer.watch import Pulse, scrape
from targets.base import Survey
from targets.detect import connect
from tests.engines.keeping import Engine

Tell = Callable[[Pulse, str], None]

# An engine outlives whoever holds it: a number that came before is a prompt that its prefix cache knows.
NUMBERS = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Subject:
    """An engine as ctxfuzz holds it."""

    engine: Engine
    rig: Rig
    survey: Survey

    async def probe(
        self, spec: ProbeSpec, tell: Tell = lambda _pulse, _phase: None, standing: Standing | None = None
    ) -> tuple[Evidence, Verdict]:
        """One probe as the driver runs it, but for the record."""
        standing = standing or Standing()
        evidence = await gather(self.rig, await prepare(self.rig, spec, standing, next(NUMBERS)), standing, tell)
        return evidence, judge(evidence)

    async def inspection(self) -> Inspection:
        facts = Facts(self.engine.url, self.survey, await company(self.rig.target, seconds=0.5))
        made, idle = await tries(self.rig, "ids"), await idle_health(self.rig)
        return conclude(Facts(facts.url, facts.survey, facts.company, await scrape(self.rig.target), made, idle))


@asynccontextmanager
async def held(engine: Engine, timeout_s: float = 60.0, model: str | None = None) -> AsyncIterator[Subject]:
    """`model`: the folder of a model whose server names it by that, and has no tokenizer to ask."""
    target, survey = await connect(engine.url, model=model)
    try:
        tokenize = target.tokenize if survey.has_tokenize else None
        prompts = await PromptSource.open(tokenizer=model, tokenize=tokenize)
        pace = Settings(timeout_s=timeout_s, health_interval_s=0.1, revival_timeout_s=120.0, grace_pass_s=0.3)
        yield Subject(engine, Rig(target, prompts, pace, survey.limit), survey)
    finally:
        await target.aclose()


class Once:
    """Does something at the first moment of a phase in which a health poll has shown the request to be open."""

    def __init__(self, act: Callable[[], None]) -> None:
        self.act = act
        self.done = False

    def at(self, phase: str) -> Tell:
        def tell(_pulse: Pulse, now: str) -> None:
            if now == phase and not self.done:
                self.done = True
                self.act()

        return tell

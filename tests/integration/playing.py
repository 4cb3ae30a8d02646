"""How do tests play a bisect against a simulated world: the whole product but for the command line?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from fuzzer.cli import opening, session
from fuzzer.cli.common import CommonFlags
from fuzzer.model import Settings
from fuzzer.plans.bisect import BisectQuestion, bisect

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fuzzer.events import Event
    from fuzzer.observation import Observation
    from fuzzer.plans import Plan

WORLDS = Path(__file__).parents[2] / "targets" / "sim" / "worlds"
QUICK = Settings(grace_failure_s=0.6, grace_pass_s=0.15)


@dataclass(frozen=True, slots=True)
class Bisecting:
    """A bisect as the session asks for it."""

    question: BisectQuestion

    def to_json(self) -> dict[str, object]:
        return self.question.to_json()

    def plan(self, facts: Sequence[Observation] = ()) -> Plan:
        return bisect(self.question, facts)


async def play(flags: CommonFlags, events: list[Event] | None = None, **asked: object) -> session.Result:
    """Bisect `flags.url` and return what the session found, with graces that suit a simulator's quick restarts."""
    listeners = [events.append] if events is not None else []
    async with opening.opened(flags, pace=QUICK, sample_s=0.1) as opened:
        common: dict[str, object] = {
            "limit": opened.survey.limit,
            "largest_prompt_below_limit": opened.target.traits.largest_prompt_below_limit,
            "reserved": opened.target.traits.reserved,
            "output_tokens": flags.output_tokens,
            "max_deaths": flags.max_deaths,
            "max_time_s": flags.max_time_s,
            "fail_on": flags.fail_on,
            "content": flags.content,
            "mode": opened.mode,
            "stream": flags.stream,
            "cache": flags.cache,
            "companions": flags.companions,
            "companion_length": flags.companion_length,
        }
        question = BisectQuestion(**{**common, **asked})  # type: ignore[arg-type]
        return await opened.run("bisect", Bisecting(question), listeners, anyio.Event())

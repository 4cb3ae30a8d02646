"""How is an engine looked over? A handful of tiny generations and the counters around them; nothing long is sent."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio

from fuzzer.before.inspection import Try
from fuzzer.heard import heard
from fuzzer.prompts.recipe import Recipe
from fuzzer.watch import Pulse, poll_health, scrape
from targets.base import Fault, Generation, Health, Reply
from targets.scrape import drafted

if TYPE_CHECKING:
    from fuzzer.rig import Rig
    from targets.base import Mode
    from targets.scrape import Scrape

TOKENS_IN = 320  # two blocks of any prefix cache: vLLM's are 128 tokens on a CPU
TOKENS_OUT = 4  # llama.cpp drafts from three on
HEALTH_POLLS = 5
DEADLINE_S = 120.0  # a first generation may capture graphs


async def tries(rig: Rig, mode: Mode) -> tuple[Try, ...]:
    """Three prompts that do not repeat themselves, three that do, one of them twice, and one in every other mode."""
    made = [await _try(rig, mode, content, head) for content in ("words", "repeat") for head in ("1", "2", "3")]
    again = await _try(rig, mode, "words", "warm", warm=True)
    made.append(replace(await _try(rig, mode, "words", "warm", warm=True), content="again") if again.ok else again)
    others: tuple[Mode, ...] = ("ids", "text", "chat")
    made += [await _try(rig, other, "words", other) for other in others if other != mode]
    return tuple(made)


async def idle_health(rig: Rig) -> tuple[tuple[Health, float], ...]:
    """Polls of the idle engine, each with its seconds."""
    polls = []
    for _ in range(HEALTH_POLLS):
        began = time.monotonic()
        poll = await poll_health(rig.target, Pulse(began))
        polls.append((poll, time.monotonic() - began))
    return tuple(polls)


async def _try(rig: Rig, mode: Mode, content: str, head: str, *, warm: bool = False) -> Try:
    tokens = TOKENS_IN if rig.limit is None else max(1, min(TOKENS_IN, rig.limit // 4))
    recipe = Recipe(mode, tokens, content, str(rig.settings.seed), f"inspect/{head}")
    prompt = await rig.prompts.rebuild(recipe)
    ignore = rig.target.traits.ignore_eos
    generation = Generation(prompt, TOKENS_OUT, stream=False, ignore_eos=ignore, cold=not warm)
    before = await scrape(rig.target)
    polls: list[Health] = []
    async with anyio.create_task_group() as group:

        async def watch() -> None:
            polls.append(await poll_health(rig.target, Pulse(time.monotonic())))

        group.start_soon(watch)
        reply = await _within(rig, generation)
    after = await scrape(rig.target)
    counted = reply.draft or drafted(before, after)
    return Try(content, mode, prompt.tokens, reply, prompt.estimated, counted, _hits(before, after), tuple(polls))


async def _within(rig: Rig, generation: Generation) -> Reply:
    with anyio.move_on_after(DEADLINE_S):
        return heard(await rig.target.generate(generation, rig.target.encode(generation)))
    return Reply(sent=True, fault=Fault.TIMEOUT, ended_s=DEADLINE_S)


def _hits(before: Scrape | None, after: Scrape | None) -> float | None:
    if before is None or after is None or before.prefix_hits is None or after.prefix_hits is None:
        return None
    return after.prefix_hits - before.prefix_hits

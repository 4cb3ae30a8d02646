"""Does the engine really work? A canary is a tiny generation that only a working engine can answer.

Health lies both ways; a completed generation does not. Canaries are recorded and count as wear, not as probes.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import anyio

from fuzzer.errors import Interrupted
from fuzzer.evidence import Canary
from fuzzer.garble import garbled, spoken
from fuzzer.heed import unless
from fuzzer.model import Baseline
from fuzzer.prompts.errors import TokenizerLost
from fuzzer.watch import ABSENT_S
from fuzzer.wording import announces_death
from targets.base import Generation
from targets.bodies import visible

if TYPE_CHECKING:
    from collections.abc import Callable

    from fuzzer.prompts import PromptSource
    from fuzzer.prompts.recipe import Recipe
    from targets.base import Prompt, Reply, Target

TOKENS_IN = 16
TOKENS_OUT = 8
DOUBTS = 3  # times that a garbled canary is asked again before it is believed
DRAIN_INTERVAL_S = 1.0  # from one canary to the next, at least, while a queue drains; each time twice as long
LONGEST_DRAIN_INTERVAL_S = 10.0


async def sing(
    target: Target, prompts: PromptSource, recipe: Recipe, deadline_s: float, yardstick: Baseline | None = None
) -> Canary:
    """Send one canary and say how it fared within `deadline_s` seconds. Raises nothing for what the target does.

    With a yardstick, one whose text is garbage may prove that the engine is poisoned. Without, its text is not judged.
    An error answer is asked again with another prompt, twice at most: a sick engine errs on all of them, and a
    healthy one may choke on what it said to one (llama.cpp: 500 where an answer is no valid text). What says that the
    engine died of it is not: the next life might.
    """
    canary = await _once(target, prompts, recipe, deadline_s)
    while canary.timed_out and canary.duration_s > deadline_s + ABSENT_S:  # we were away, not the engine
        canary = await _once(target, prompts, recipe, deadline_s)
    for again in range(2):
        if canary.ok or canary.busy or canary.timed_out or canary.given_up_on:
            break
        if (canary.status or 0) < 500 or announces_death(canary.error):
            break
        canary = await _once(target, prompts, replace(recipe, head=f"{recipe.head}/again-{again}"), deadline_s)
    if canary.garble and yardstick is not None and yardstick.canary_has_text and not yardstick.repeats:
        return await _doubted(target, prompts, recipe, deadline_s, canary)
    return canary


async def outlast(
    target: Target,
    prompts: PromptSource,
    recipe: Recipe,
    deadline_s: float,
    yardstick: Baseline | None = None,
    *,
    stop: anyio.Event,
    tell: Callable[[Canary], None],
) -> Canary:
    """The canary of an engine that may still be at work, though whoever is on the way does not wait for it.

    It waits in the same queue, and is given up on too: that says nothing of the engine. So it is asked again for as
    long as one of its own that hangs would be waited for, `deadline_s` seconds in all. `tell` hears of each one before
    the last. Raises Interrupted where `stop` is set meanwhile.
    """
    began, turn, interval_s = time.monotonic(), 0, DRAIN_INTERVAL_S
    while True:
        left_s = deadline_s - (time.monotonic() - began)
        asked = replace(recipe, head=f"{recipe.head}/drain-{turn}")
        began_s = time.monotonic()
        try:
            canary = await unless(stop, partial(sing, target, prompts, asked, left_s, yardstick))
        except Interrupted:
            tell(Canary(ok=False, duration_s=time.monotonic() - began_s, fault="interrupted"))
            raise
        pause_s = max(0.0, interval_s - canary.duration_s)
        left_s = deadline_s - (time.monotonic() - began)
        if not canary.given_up_on or left_s <= pause_s + canary.duration_s:
            return canary
        tell(canary)
        await unless(stop, partial(anyio.sleep, pause_s))
        turn, interval_s = turn + 1, min(2 * interval_s, LONGEST_DRAIN_INTERVAL_S)


async def _doubted(target: Target, prompts: PromptSource, recipe: Recipe, deadline_s: float, first: Canary) -> Canary:
    """Is a garbled canary to be believed? Only where other prompts get the very same garbage.

    A poisoned engine says one thing to all of them; a model that now and then loops by nature says what the prompt
    makes it say. A false alarm costs somebody's engine a restart, so a poisoned one may rather go unnoticed.
    """
    for again in range(DOUBTS):
        canary = await _once(target, prompts, replace(recipe, head=f"{recipe.head}/doubt-{again}"), deadline_s)
        if not canary.ok:
            return canary
        if not canary.garble or canary.text != first.text:
            return replace(canary, garble=first.garble)
    return replace(first, ok=False, fault=first.garble)


async def _once(target: Target, prompts: PromptSource, recipe: Recipe, deadline_s: float) -> Canary:
    began = time.monotonic()
    try:
        prompt = await prompts.rebuild(recipe)
    except TokenizerLost as lost:  # its first words were never counted, and whoever could is away
        return replace(_read(target, lost.reply, time.monotonic() - began), ok=False)
    _, canary = await ask(target, prompt, TOKENS_OUT, deadline_s)
    return canary


async def ask(target: Target, prompt: Prompt, tokens_out: int, deadline_s: float) -> tuple[Reply | None, Canary]:
    """One small generation, and what is kept of it. The reply is None where none came within `deadline_s` seconds."""
    generation = Generation(prompt, tokens_out, stream=False, ignore_eos=target.traits.ignore_eos)
    began = time.monotonic()
    with anyio.move_on_after(deadline_s):
        reply = await target.generate(generation, target.encode(generation))
        return reply, _read(target, reply, time.monotonic() - began)
    return None, Canary(ok=False, duration_s=time.monotonic() - began, fault="timeout", timed_out=True)


def _read(target: Target, reply: Reply, took: float) -> Canary:
    ok = reply.status == 200 and reply.error is None and reply.complete and (reply.events > 0 or bool(reply.text))
    sign = target.proxy_sign(reply)
    return Canary(
        ok=ok,
        duration_s=took,
        status=reply.status,
        fault=str(reply.fault or ""),
        busy=not ok and target.overload(reply) is not None,
        given_up_on=not ok and sign is not None and sign.kind == "deadline",
        error=(reply.error.message if reply.error else visible(reply.excerpt))[:200] if not ok else "",
        text=reply.text[:200],
        garble=(garbled(reply.text, spoken(reply, TOKENS_OUT), Baseline()) or "") if ok else "",
    )

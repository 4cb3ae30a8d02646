"""Does the engine really work? A canary is a tiny generation that only a working engine can answer.

Health lies both ways; a completed generation does not. Canaries are recorded and count as wear, not as probes.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio

from fuzzer.evidence import Canary
from fuzzer.heard import heard
from fuzzer.model import Baseline
from fuzzer.outcome.garble import garbled, spoken
from fuzzer.prompts.errors import TokenizerLost
from fuzzer.watch import ABSENT_S
from targets.base import Generation
from targets.bodies import visible
from targets.failures import announces_death
from targets.gateways import asked_again, fell_back, stranger
from targets.overloads import names_a_breaker, vouches
from targets.replayed import replayed
from targets.told import told_status

if TYPE_CHECKING:
    from fuzzer.prompts import PromptSource
    from fuzzer.prompts.recipe import Recipe
    from targets.base import Prompt, Reply
    from targets.target import Target

TOKENS_IN = 16
TOKENS_OUT = 8
DOUBTS = 3  # times that a garbled canary is asked again before it is believed


async def sing(
    target: Target, prompts: PromptSource, recipe: Recipe, deadline_s: float, yardstick: Baseline | None = None
) -> Canary:
    """Send one canary and say how it fared within `deadline_s` seconds. Raises nothing for what the target does.

    With a yardstick, one whose text is garbage may prove that the engine is poisoned, and one that another model sang
    proves nothing. Without, its text is not judged. An error answer is asked again with another prompt, twice at most:
    a sick engine errs on all of them, and a healthy one may choke on what it said to one (llama.cpp: 500 where an
    answer is no valid text). What says that the engine died of it is not: the next life might. Who turns it away then
    takes nothing back of the error.
    """
    canary = await _once(target, prompts, recipe, deadline_s, yardstick)
    while canary.timed_out and canary.duration_s > deadline_s + ABSENT_S:  # we were away, not the engine
        canary = await _once(target, prompts, recipe, deadline_s, yardstick)
    for again in range(2):
        if canary.ok or canary.turned_away or canary.timed_out or canary.given_up_on:
            break
        if (canary.status or 0) < 500 or announces_death(canary.error):
            break
        asked = replace(recipe, head=f"{recipe.head}/again-{again}")
        later = await _once(target, prompts, asked, deadline_s, yardstick)
        if later.turned_away or names_a_breaker(later.error):
            break
        canary = later
    if canary.garble and yardstick is not None and yardstick.canary_has_text and not yardstick.repeats:
        return await _doubted(target, prompts, recipe, deadline_s, yardstick, first=canary)
    return canary


async def _doubted(
    target: Target, prompts: PromptSource, recipe: Recipe, deadline_s: float, yardstick: Baseline, *, first: Canary
) -> Canary:
    """Is a garbled canary to be believed? Only where other prompts get the very same garbage.

    A poisoned engine says one thing to all of them; a model that now and then loops by nature says what the prompt
    makes it say. A false alarm costs somebody's engine a restart, so a poisoned one may rather go unnoticed.
    """
    for again in range(DOUBTS):
        asked = replace(recipe, head=f"{recipe.head}/doubt-{again}")
        canary = await _once(target, prompts, asked, deadline_s, yardstick)
        if not canary.ok:
            return canary
        if not canary.garble or canary.text != first.text:
            return replace(canary, garble=first.garble)
    return replace(first, ok=False, fault=first.garble)


async def _once(
    target: Target, prompts: PromptSource, recipe: Recipe, deadline_s: float, yardstick: Baseline | None
) -> Canary:
    """One canary; and where a cache knew it, one that nobody can have asked before."""
    canary = await _asked(target, prompts, recipe, deadline_s, yardstick)
    if not canary.cached:
        return canary
    anew = replace(recipe, head=f"{recipe.head}/{time.time_ns()}")
    return await _asked(target, prompts, anew, deadline_s, yardstick)


async def _asked(
    target: Target, prompts: PromptSource, recipe: Recipe, deadline_s: float, yardstick: Baseline | None
) -> Canary:
    began = time.monotonic()
    try:
        prompt = await prompts.rebuild(recipe)
    except TokenizerLost as lost:  # its first words were never counted, and whoever could is away
        return replace(_read(target, lost.reply, time.monotonic() - began), ok=False)
    reply, canary = await ask(target, prompt, TOKENS_OUT, deadline_s)
    return canary if reply is None or yardstick is None else _of_ours(canary, reply, yardstick)


def _of_ours(canary: Canary, reply: Reply, yardstick: Baseline) -> Canary:
    """Another model than sang at first, or another deployment than answered, says nothing of the engine.

    A gateway may name a model otherwise in an answer that is no stream. Nor is another deployment's cooldown ours.
    """
    if canary.busy:
        return replace(canary, let_down=not vouches(reply, yardstick.deployment))
    models = [yardstick.model, yardstick.also, yardstick.canary_model] if yardstick.canary_model else []
    who = stranger(reply, models, yardstick.deployment) if canary.ok else None
    if who is None:
        return canary
    return replace(canary, ok=False, garble="", fault=who, instead=who, let_down=fell_back(reply, models))


async def ask(target: Target, prompt: Prompt, tokens_out: int, deadline_s: float) -> tuple[Reply | None, Canary]:
    """One small generation, and what is kept of it. The reply is None where none came within `deadline_s` seconds."""
    generation = Generation(prompt, tokens_out, stream=False, ignore_eos=target.traits.ignore_eos)
    began = time.monotonic()
    with anyio.move_on_after(deadline_s):
        reply = heard(await target.generate(generation, target.encode(generation)))
        return reply, _read(target, reply, time.monotonic() - began)
    return None, Canary(ok=False, duration_s=time.monotonic() - began, fault="timeout", timed_out=True)


def _read(target: Target, reply: Reply, took: float) -> Canary:
    whole = reply.status == 200 and reply.error is None and reply.complete and (reply.events > 0 or bool(reply.text))
    cached = replayed(reply) if whole else None
    again = cached or (asked_again(reply.headers) if whole else None)
    ok, wait_s = whole and again is None, None if whole else target.overload(reply)
    busy, sign = wait_s is not None, target.proxy_sign(reply)
    return Canary(
        ok=ok,
        duration_s=took,
        status=told_status(reply),
        fault=again or ("busy" if busy else str(reply.fault or "")),
        busy=busy,
        instead=again or "",
        cached=cached is not None,
        let_down=fell_back(reply) if whole else busy and not vouches(reply),
        wait_s=wait_s,
        given_up_on=not whole and sign is not None and sign.kind == "deadline",
        error=(reply.error.message if reply.error else visible(reply.excerpt))[:200] if not whole else "",
        text=reply.text[:200],
        model=reply.model,
        garble=(garbled(reply.text, spoken(reply, TOKENS_OUT), Baseline()) or "") if ok else "",
    )

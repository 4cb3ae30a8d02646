"""Did the engine live through a probe? Its grace, its canary, and the last scrapes.

Each step adds what it saw to the evidence; none of them judges it.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace
from functools import partial
from math import inf
from typing import TYPE_CHECKING

import anyio

from fuzzer.before.recount import is_withheld
from fuzzer.errors import Interrupted
from fuzzer.heed import unless
from fuzzer.lifetime.canary import TOKENS_IN, sing
from fuzzer.lifetime.encore import is_called_for, sung_twice
from fuzzer.lifetime.patience import Patience, outlast
from fuzzer.outcome.breaker import meets_breaker
from fuzzer.outcome.counting import looks_odd
from fuzzer.outcome.readiness import came_whole, is_still_there, meets_shut_door
from fuzzer.outcome.song import missed_canary
from fuzzer.outcome.vitals import health_went_down, may_still_work
from fuzzer.prompts.recipe import Recipe
from fuzzer.standing import in_flight, unseen_output
from fuzzer.watch import GRACE_INTERVAL_S, TURNS, TURNS_WITHIN_S, Pulse, grace
from targets.base import Fault
from targets.scrape import Scrape, drafted, mixed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fuzzer.evidence import Canary, Evidence
    from fuzzer.model import ProbeSpec, Settings
    from fuzzer.rig import Prepared, Rig
    from fuzzer.standing import Standing

PASS_INTERVAL_S = 0.5
_LOST = {Fault.RESET, Fault.CUT, Fault.REFUSED}


async def aftermath(
    rig: Rig,
    prepared: Prepared,
    standing: Standing,
    e: Evidence,
    *,
    pulse: Pulse,
    tell: Callable[[Pulse, str], None],
) -> Evidence:
    """Grace, canary and the last scrapes: whether the engine lived through it."""
    settings, target = rig.settings, rig.target
    fine = came_whole(e)
    tell(pulse, "grace")
    after = await rig.look(standing)
    seconds, interval = (
        (settings.grace_pass_s, PASS_INTERVAL_S) if fine else (settings.grace_failure_s, GRACE_INTERVAL_S)
    )
    polls = await grace(target, pulse, seconds=seconds, interval_s=interval)
    e = replace(e, health_after=polls, after=after, draft=e.reply.draft or drafted(e.before, after))
    listened = any(poll.status is not None for poll in e.health_during)
    if listened and polls and polls[-1].fault is Fault.REFUSED and not fine and not e.replicas:
        e = replace(e, settled=await rig.look(standing))
        if not is_still_there(e):
            return e  # nobody listens any more: a canary could only be refused
    tell(pulse, "canary")
    e = await _sung(rig, prepared, standing, e, pulse=pulse, fine=fine)
    canary = e.canary
    if canary is None:
        return e
    if e.hung and canary.fault in _LOST:  # it may have died only now: by a watchdog
        late = await grace(target, pulse, seconds=settings.grace_failure_s, interval_s=GRACE_INTERVAL_S)
        e = replace(e, health_after=(*e.health_after, *late))
    settled = await rig.look(standing)
    if missed_canary(replace(e, settled=settled)):  # some count a moment later
        await anyio.sleep(PASS_INTERVAL_S)
        settled = await rig.look(standing)
    several = e.replicas or any(mixed(e.before, late) for late in (after, settled) if e.before and late)
    e = replace(e, settled=settled, replicas=several)
    return await _recounted(rig, e) if canary.ok and looks_odd(e) else e


async def look_again(rig: Rig, standing: Standing) -> list[Scrape | None]:
    """Who answers the metrics by now, several times: enough for one to show that takes turns with another.

    Raises Interrupted where the run is stopped meanwhile.
    """

    async def look() -> list[Scrape | None]:
        looks: list[Scrape | None] = []
        with anyio.move_on_after(TURNS_WITHIN_S):
            for _ in range(TURNS):
                await anyio.sleep(GRACE_INTERVAL_S)
                looks.append(await rig.look(standing))
        return looks

    return await unless(rig.stop, look)


async def _recounted(rig: Rig, e: Evidence) -> Evidence:
    """With what shows whether an odd count is the engine's: short prompts, sent in the same way.

    Where we are interrupted meanwhile nobody can tell, and the probe is no evidence.
    """
    asked: list[Canary] = []
    counts: Mapping[int, int] = {}
    way = (e.spec.mode, e.spec.content)
    ground = None if rig.ground is None else max(rig.ground, e.sent_tokens)  # this one it has just answered
    with suppress(Interrupted):
        counts = await rig.recount.of(rig, *way, ground=ground, deadline_s=e.deadline_s, tell=asked.append)
    stopped = rig.stop.is_set() and not counts
    told, withheld = tuple(counts.items()), is_withheld(rig, ground)
    return replace(e, short_counts=told, recounts=tuple(asked), unrecounted=withheld, cancelled=stopped)


async def _sung(rig: Rig, prepared: Prepared, standing: Standing, e: Evidence, *, pulse: Pulse, fine: bool) -> Evidence:
    """With the canary after it. Where we are interrupted while it is asked again, nobody can tell: it is no evidence.

    What went well is not lost to an interrupt before its first canary was given up on, or turned away.
    """
    spec, settings = prepared.spec, rig.settings
    deadline_s = standing.deadline_s(in_flight(spec), settings.timeout_s, unseen_output(spec))
    yardstick = rig.yardstick(spec, standing)
    head = f"canary/{prepared.seq}"
    recipe = Recipe(spec.mode, TOKENS_IN, standing.canary_content(spec), str(settings.seed), head)
    first: Canary | None = None
    if fine or not may_still_work(e):
        first = await sing(rig.target, rig.prompts, recipe, deadline_s, yardstick)
        if first.fault == Fault.REFUSED:
            e = replace(e, settled=await rig.look(standing))
        is_asked_again = first.turned_away or (fine and first.given_up_on)
        if not _is_kept_out(e, first) and (not is_asked_again or health_went_down(e) is not None):
            e = replace(e, canary=first)
            return await sung_twice(rig, recipe, e, yardstick) if is_called_for(e, prepared.seq) else e
    asked: list[Canary] = []
    left_s = _left_s(settings, standing, spec, pulse)
    patience = Patience(deadline_s, settings.timeout_s, left_s, meets_door=partial(_is_kept_out, e))
    with suppress(Interrupted):
        ask = partial(outlast, rig.target, rig.prompts, yardstick=yardstick, stop=rig.stop, tell=asked.append)
        canary = await ask(recipe, patience, first=first)
        if canary.fault == Fault.REFUSED and e.settled is None:  # only now is it to be known whether that is a door
            e = replace(e, settled=await rig.look(standing))
            patience.meets_door = partial(_is_kept_out, e)
            canary = await ask(replace(recipe, head=f"{head}/door"), patience, first=canary)
        return replace(e, canary=canary, drained=tuple(asked), ran_out=patience.ran_out)
    return replace(e, drained=tuple(asked), cancelled=True)


def _is_kept_out(e: Evidence, canary: Canary) -> bool:
    """Does a door, or a breaker, stand before an engine that answered well?"""
    return meets_shut_door(e, canary) or meets_breaker(e, canary)


def _left_s(settings: Settings, standing: Standing, spec: ProbeSpec, pulse: Pulse) -> float:
    """What --max-time leaves, seconds."""
    if settings.max_time_s is None:
        return inf
    return settings.max_time_s - standing.over_s - spec.wait_s - (time.monotonic() - pulse.began)

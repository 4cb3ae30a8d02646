"""When does the engine serve again, and when can its times be trusted?

tenacity waits here: a revival is the one thing in this product that is asked for again and again.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio
from tenacity import AsyncRetrying, retry_if_result, wait_exponential

from fuzzer.errors import Interrupted
from fuzzer.evidence import Canary
from fuzzer.heed import unless
from fuzzer.lifetime.canary import TOKENS_IN, sing
from fuzzer.lifetime.helping import helped
from fuzzer.lifetime.relapse import Look, Vigil
from fuzzer.outcome.song import describe_canary
from fuzzer.prompts.recipe import Recipe
from fuzzer.standing import Standing
from fuzzer.watch import POLL_TIMEOUT_S
from targets.base import Health

if TYPE_CHECKING:
    from collections.abc import Callable

    from fuzzer.lifetime.relapse import Relapse
    from fuzzer.model import ProbeSpec
    from fuzzer.rig import Rig
    from targets.scrape import Scrape

STEADY_RATIO = 1.5
STEADY_FLOOR_S = 0.25
MOST_CANARIES = 6
FIRST_CANARY_S = 120.0  # the first real generation may capture graphs, or load the model
REQUESTS = 6  # of one attempt at most: health, counters, a canary that may be asked again three times
NOTHING_KNOWN = Standing()
INTERRUPTED = Canary(ok=False, duration_s=0.0, fault="interrupted")
MOST_PER_S = 2  # requests a second while we wait, once the first quick looks are over


@dataclass(frozen=True, slots=True)
class Revival:
    """How a wait for the engine ended. `took_s` counts from the begin of the wait; canaries are those that sang.

    `born` is the first look at the life after the last one that is known to have died: should even that be gone when
    the next probe leaves, it died unseen. `relapses`: so often the engine died again meanwhile.
    """

    came_back: bool
    took_s: float
    canaries: tuple[Canary, ...] = ()
    born: Scrape | None = None
    said: str = ""  # what `--on-death` printed last, where it failed
    relapses: int = 0
    instead: str = ""  # how the last canary was answered, where somebody answers who does not serve


async def revive(
    rig: Rig,
    spec: ProbeSpec,
    head: str,
    tell: Callable[[float, str], None],
    vigil: Vigil | None = None,
    *,
    patience_s: float | None = None,
    standing: Standing = NOTHING_KNOWN,
    bury: Callable[[Relapse, float], bool] = lambda _relapse, _took_s: True,
) -> Revival:
    """Wait until the engine serves again: a canary sings, and its time is steady.

    `vigil` says which life ended, where that is known. `--on-death` is run first; with `patience_s`, where it may well
    serve already or be on its way, only if a canary says after so many seconds that it does not. `standing` has the
    yardstick that a canary's text is held against. `bury` is told of each relapse, and says whether one more can be
    afforded.
    """
    waiting = _Waiting(rig, spec, head, tell, vigil or Vigil(None, ended=True), standing, bury, patience_s or 0.0)
    if patience_s is None:
        await waiting.help()
    retrying = AsyncRetrying(
        retry=retry_if_result(lambda served: not served),
        stop=lambda _: waiting.is_over(),
        wait=wait_exponential(multiplier=0.1, max=max(REQUESTS / MOST_PER_S, rig.settings.health_interval_s)),
        retry_error_callback=lambda _: False,
        sleep=lambda seconds: _nap(rig, seconds),
    )
    came_back = False
    while not came_back and waiting.may_ask() and await retrying(waiting.attempt):
        came_back = await waiting.steadies()
        if waiting.is_over():
            break
    if not came_back:
        await waiting.leave()
    return Revival(
        came_back,
        waiting.took_s(),
        tuple(waiting.sung),
        waiting.vigil.born,
        waiting.said,
        waiting.vigil.relapses,
        "" if came_back else waiting.instead,
    )


@dataclass(slots=True)
class _Waiting:
    """One wait for the engine. `spent`: it died so often meanwhile that no more canaries may be risked.

    `help_due_s`: from then on whoever does not sing is helped; None: it was, and has not died since.
    `kept_out`: the last canary was only turned away, and no death has shown since.
    """

    rig: Rig
    spec: ProbeSpec
    head: str
    tell: Callable[[float, str], None]
    vigil: Vigil
    standing: Standing
    bury: Callable[[Relapse, float], bool]
    help_due_s: float | None
    said: str = ""
    sung: list[Canary] = field(default_factory=list)
    spent: bool = False
    instead: str = ""
    kept_out: bool = False
    _longer: float = 1.0  # so many times the first deadline the next canary has
    _began: float = field(default_factory=time.monotonic)

    def took_s(self) -> float:
        return time.monotonic() - self._began

    def may_ask(self) -> bool:
        return not self.spent and not self.rig.stop.is_set()

    def is_over(self) -> bool:
        return not self.may_ask() or self.took_s() >= self.rig.settings.revival_timeout_s

    async def look(self) -> Look:
        """Look who is there; a death that shows is buried, and needs help unless another life is there."""
        health = await _health(self.rig)
        seen = await self.rig.look(self.standing)
        look = Look(self.took_s(), health, seen)
        relapse = self.vigil.see(look)
        if relapse is not None:
            self.spent, self.kept_out = not self.bury(relapse, look.at_s), False
            self.help_due_s = 0.0 if self.vigil.born is None else self.help_due_s
        return look

    async def help(self) -> None:
        """Run `--on-death`, where there is one: once for each death."""
        self.help_due_s = None
        if self.rig.settings.on_death:
            self.said = await helped(self.rig, self.rig.settings.on_death)

    async def leave(self) -> None:
        """Nobody waits on: what died last is seen, and is helped all the same; who is healthy behind a limit is not."""
        health = None if self.spent else (await self.look()).health
        is_down = health is not None and not (health.ok or health.turned_away)
        if is_down or not self.kept_out:
            await self._help_if_due()

    async def attempt(self) -> bool:
        """Look, and send a canary to a life that is ripe for it: did it sing? One that did not may need help."""
        look = await self.look()
        again = f", died again {self.vigil.relapses}x" if self.vigil.relapses else ""
        self.tell(look.at_s, _spell(look.health) + again)
        if self.spent or (self.vigil.is_young(look) and look.at_s < self.rig.settings.revival_timeout_s / 2):
            return False  # later nobody is too young to be asked: else no canary would be sent at all
        canary = await self._canary()
        if canary.ok:
            self.sung.append(canary)
        elif not self.kept_out:
            await self._help_if_due()
        return canary.ok

    async def steadies(self) -> bool:
        """Canaries until two in a row take about the same time (15.3 s, then 1.3 s have been seen).

        False: it died, or does not serve after all. One that is only turned away says neither. Like a probe, the last
        one has its grace: what dies of it is not to be the next probe's.
        """
        relapses, serves = self.vigil.relapses, True
        for _ in range(MOST_CANARIES - 1):
            if self.rig.stop.is_set():
                break
            before, canary = self.sung[-1].duration_s, await self._canary()
            if not canary.ok:
                serves = self.kept_out
                break
            self.sung.append(canary)
            now = canary.duration_s
            if max(before, now) <= max(STEADY_FLOOR_S, STEADY_RATIO * min(before, now)):
                break
        await _nap(self.rig, self.rig.settings.grace_pass_s)
        await self.look()
        return serves and self.vigil.relapses == relapses

    async def _canary(self) -> Canary:
        """A canary. Whoever loads for the first that asks, and gives up with him, is given twice the time each time."""
        left_s = self.rig.settings.revival_timeout_s - self.took_s()
        wait_s = min(FIRST_CANARY_S * self._longer, max(FIRST_CANARY_S, left_s))
        canary = await _canary(self.rig, self.spec, self.standing, f"{self.head}/{len(self.sung)}", wait_s)
        if canary.timed_out:
            self._longer *= 2
        self.vigil.sang(canary)
        self.kept_out = _met_a_door(canary)
        self.instead = "" if canary.status is None else describe_canary(canary)
        return canary

    async def _help_if_due(self) -> None:
        if self.help_due_s is not None and self.took_s() >= self.help_due_s and not self.rig.stop.is_set():
            await self.help()


def _met_a_door(canary: Canary) -> bool:
    """Was it only turned away, by somebody who has no reason to but his own?"""
    return canary.busy and not canary.let_down


async def _canary(rig: Rig, spec: ProbeSpec, standing: Standing, head: str, deadline_s: float) -> Canary:
    recipe = Recipe(spec.mode, TOKENS_IN, standing.canary_content(spec), str(rig.settings.seed), f"revival/{head}")
    wait_s = min(deadline_s, rig.settings.timeout_s)
    try:
        return await unless(
            rig.stop, lambda: sing(rig.target, rig.prompts, recipe, wait_s, rig.yardstick(spec, standing))
        )
    except Interrupted:
        return INTERRUPTED


async def _health(rig: Rig) -> Health:
    with anyio.move_on_after(POLL_TIMEOUT_S):
        return await rig.target.health()
    return Health(0.0, detail="no answer")


async def _nap(rig: Rig, seconds: float) -> None:
    with anyio.move_on_after(seconds):
        await rig.stop.wait()


def _spell(health: Health) -> str:
    if health.status is not None:
        return f"health HTTP {health.status}"
    return f"health {health.fault}" if health.fault else "health does not answer"

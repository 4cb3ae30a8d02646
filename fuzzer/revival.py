"""When does the engine serve again, and when can its times be trusted?

tenacity waits here: a revival is the one thing in this product that is asked for again and again.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio
from tenacity import AsyncRetrying, retry_if_result, stop_after_delay, wait_exponential
from tenacity.stop import stop_base

from fuzzer.canary import TOKENS_IN, sing
from fuzzer.prompts.recipe import Recipe
from fuzzer.watch import POLL_TIMEOUT_S, scrape
from targets.base import Health, Scrape, restarted

if TYPE_CHECKING:
    from collections.abc import Callable

    from tenacity import RetryCallState

    from fuzzer.evidence import Canary
    from fuzzer.model import ProbeSpec
    from fuzzer.probe import Rig

STEADY_RATIO = 1.5
STEADY_FLOOR_S = 0.25
MOST_CANARIES = 6
FIRST_CANARY_S = 120.0  # the first real generation may capture graphs
REQUESTS = 5  # of one attempt at most: health, counters, a canary that may be asked again twice
MOST_PER_S = 2  # requests a second while we wait, once the first quick looks are over


@dataclass(frozen=True, slots=True)
class Revival:
    """How a wait for the engine ended. `took_s` counts from the begin of the wait; canaries are those that sang.

    `born` is the first look at a life after the one that died: should even that be gone when the next probe leaves, it
    died unseen.
    """

    came_back: bool
    took_s: float
    canaries: tuple[Canary, ...] = ()
    born: Scrape | None = None
    said: str = ""  # what `--on-death` printed last, where it failed


class _Stopped(stop_base):
    """Stop waiting when somebody interrupts us."""

    def __init__(self, event: anyio.Event) -> None:
        self.event = event

    def __call__(self, retry_state: RetryCallState) -> bool:  # noqa: ARG002  (tenacity's protocol)
        return self.event.is_set()


async def revive(
    rig: Rig,
    spec: ProbeSpec,
    head: str,
    tell: Callable[[float, str], None],
    died: Scrape | None = None,
    *,
    needs_help: bool = True,
) -> Revival:
    """Wait until the engine serves again: a canary sings, and its time is steady.

    `died` is the last look at the life that ended, where there was one. `needs_help` is False where it may well serve
    already: then `--on-death` is run only if a canary says that it does not.
    """
    began = time.monotonic()
    born: Scrape | None = None
    said = ""
    sung: list[Canary] = []

    async def attempt() -> bool:
        nonlocal born
        health = await _health(rig)
        tell(time.monotonic() - began, _spell(health))
        if born is None and died is not None:
            seen = await scrape(rig.target)
            born = seen if seen is not None and restarted(died, seen) else None
        canary = await _canary(rig, spec, f"{head}/{len(sung)}", FIRST_CANARY_S)
        if canary.ok:
            sung.append(canary)
        return canary.ok

    retrying = AsyncRetrying(
        retry=retry_if_result(lambda served: not served),
        stop=stop_after_delay(rig.settings.revival_timeout_s) | _Stopped(rig.stop),
        wait=wait_exponential(multiplier=0.1, max=max(REQUESTS / MOST_PER_S, rig.settings.health_interval_s)),
        retry_error_callback=lambda _: False,
        sleep=lambda seconds: _nap(rig, seconds),
    )
    came_back = not needs_help and await attempt()
    if not came_back:
        said = await _help(rig, rig.settings.on_death) if rig.settings.on_death else ""
        came_back = bool(await retrying(attempt))
    if came_back:
        await _steady(rig, spec, head, sung)
    return Revival(came_back, time.monotonic() - began, tuple(sung), born, said)


async def _steady(rig: Rig, spec: ProbeSpec, head: str, sung: list[Canary]) -> None:
    """Canaries until two in a row take about the same time (15.3 s, then 1.3 s have been seen)."""
    while len(sung) < MOST_CANARIES and not rig.stop.is_set():
        canary = await _canary(rig, spec, f"{head}/{len(sung)}", FIRST_CANARY_S)
        sung.append(canary)
        if not canary.ok:
            return
        before, now = sung[-2].duration_s, canary.duration_s
        if max(before, now) <= max(STEADY_FLOOR_S, STEADY_RATIO * min(before, now)):
            return


async def _canary(rig: Rig, spec: ProbeSpec, head: str, deadline_s: float) -> Canary:
    recipe = Recipe(spec.mode, TOKENS_IN, spec.content, str(rig.settings.seed), f"revival/{head}")
    return await sing(rig.target, rig.prompts, recipe, min(deadline_s, rig.settings.timeout_s))


async def _health(rig: Rig) -> Health:
    with anyio.move_on_after(POLL_TIMEOUT_S):
        return await rig.target.health()
    return Health(0.0, detail="no answer")


async def _nap(rig: Rig, seconds: float) -> None:
    with anyio.move_on_after(seconds):
        await rig.stop.wait()


async def _help(rig: Rig, command: str) -> str:
    """Run `--on-death CMD` through the shell, as an operator would. Returns what it said if it failed."""
    with anyio.move_on_after(rig.settings.revival_timeout_s):
        done = await anyio.run_process(command, check=False)
        if done.returncode == 0:
            return ""
        words = (done.stderr or done.stdout).decode(errors="replace").strip()[-200:]
        return f"--on-death exited with {done.returncode}: {words}"
    return "--on-death did not end"


def _spell(health: Health) -> str:
    if health.status is not None:
        return f"health HTTP {health.status}"
    return f"health {health.fault}" if health.fault else "health does not answer"

"""Does the engine really work? A canary is a tiny generation that only a working engine can answer.

Health lies both ways; a completed generation does not. Canaries are recorded and count as wear, not as probes.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import anyio

from fuzzer.model import Canary
from targets.base import Generation

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from targets.base import Prompt, Reply, Target

TOKENS_IN = 16
TOKENS_OUT = 8


async def sing(target: Target, prompt: Callable[[], Awaitable[Prompt]], deadline_s: float) -> Canary:
    """Send one canary and say how it fared within `deadline_s` seconds. Raises nothing for what the target does."""
    generation = Generation(await prompt(), TOKENS_OUT, stream=False, ignore_eos=target.traits.ignore_eos)
    began = time.monotonic()
    with anyio.move_on_after(deadline_s) as scope:
        reply = await target.generate(generation, target.encode(generation))
    took = time.monotonic() - began
    if scope.cancelled_caught:
        return Canary(ok=False, duration_s=took, fault="timeout", timed_out=True)
    return _read(target, reply, took)


def _read(target: Target, reply: Reply, took: float) -> Canary:
    ok = reply.status == 200 and reply.error is None and reply.complete and (reply.events > 0 or bool(reply.text))
    return Canary(
        ok=ok,
        duration_s=took,
        status=reply.status,
        fault=str(reply.fault or ""),
        busy=not ok and target.overload(reply) is not None,
        error=(reply.error.message if reply.error else reply.excerpt)[:200] if not ok else "",
        text=reply.text[:200],
    )

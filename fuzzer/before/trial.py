"""How does the target answer a short prompt that is no probe? Sent outside of any window, and kept like a canary."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from fuzzer.errors import Interrupted
from fuzzer.evidence import Canary
from fuzzer.heed import unless
from fuzzer.lifetime.canary import ask

if TYPE_CHECKING:
    from fuzzer.rig import Rig
    from targets.base import Prompt, Reply

Tell = Callable[[Canary], None]
TOKENS_OUT = 1


def untold(_canary: Canary) -> None:
    """Whom to tell where nothing is recorded."""


async def trial(rig: Rig, prompt: Prompt, deadline_s: float, tell: Tell) -> Reply | None:
    """Its answer; None where none comes within `deadline_s` seconds. `tell` hears of it in any case.

    Raises Interrupted where the run is stopped meanwhile.
    """
    if rig.stop.is_set():
        raise Interrupted
    began = time.monotonic()
    try:
        reply, canary = await unless(rig.stop, lambda: ask(rig.target, prompt, TOKENS_OUT, deadline_s))
    except Interrupted:
        tell(Canary(ok=False, duration_s=time.monotonic() - began, fault="interrupted"))
        raise
    tell(canary)
    return reply

"""How often is a busy door knocked at, before anything is measured? As it asks, and for a bounded time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from targets.refusals import retry_after

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from targets.exchange import Fetched

BUSY = 429
FIRST_S = 1.0  # the first pause; each is twice the one before, and at least what `Retry-After` names
MOST_S = 60.0  # of all pauses


async def unhurried(fetch: Callable[[], Awaitable[Fetched]]) -> Fetched:
    """What is fetched, once it is no 429 any more; the last one, where that would take longer than a minute."""
    waited_s, pause_s = 0.0, FIRST_S
    while True:
        got = await fetch()
        wait_s = max(pause_s, retry_after(got.headers) or 0.0)
        if got.status != BUSY or waited_s + wait_s > MOST_S:
            return got
        await anyio.sleep(wait_s)
        waited_s, pause_s = waited_s + wait_s, 2 * pause_s

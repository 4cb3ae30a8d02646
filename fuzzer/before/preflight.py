"""Who else is there before the first probe? Samples the metrics for a few seconds, and changes nothing."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import anyio

from fuzzer.watch import scrape
from targets.scrape import restarted, same_process

if TYPE_CHECKING:
    from targets.scrape import Scrape
    from targets.target import Target

SAMPLE_S = 3.0
SAMPLES = 8


@dataclass(frozen=True, slots=True)
class Company:
    """What the sampling showed: `replicas` processes behind the URL, the sign of other traffic, if any, and the tokens
    that the KV cache holds, and those of a block of it, where the engine tells. `drafts`: are drafts counted, and be
    it none? None: nothing of the one engine is.
    """

    replicas: int
    traffic: str | None = None
    kv_tokens: int | None = None
    block_size: int | None = None
    drafts: bool | None = None


async def company(target: Target, *, seconds: float = SAMPLE_S, samples: int = SAMPLES) -> Company:
    """Several scrapes, each on a fresh connection, over `seconds`. No metrics: one process, no sign of traffic."""
    seen: list[Scrape] = []
    for number in range(samples):
        one = await scrape(target)
        if one is None:
            break
        seen.append(one)
        if number < samples - 1:
            await anyio.sleep(seconds / (samples - 1))
    return read(seen)


def read(seen: list[Scrape]) -> Company:
    """What a row of scrapes says. Pure."""
    pool = next((one.kv_tokens for one in seen if one.kv_tokens is not None), None)
    block = next((one.block_size for one in seen if one.block_size is not None), None)
    processes: list[Scrape] = []
    for one in seen:
        if one.starts and not any(same_process(known, one) for known in processes):
            processes.append(one)
    if len(processes) > 1:
        return Company(len(processes), kv_tokens=pool, block_size=block)
    if any(restarted(early, late) for early, late in pairwise(seen)):
        return Company(2)  # counters that go to and fro are those of several processes
    drafts = any(one.draft is not None for one in seen) if any(one.work for one in seen) else None
    busiest = max(((one.running or 0) + (one.waiting or 0) for one in seen), default=0)
    if busiest > 0:
        return Company(1, f"{busiest:g} other requests are in the engine", pool, block, drafts)
    finished = [one.finished for one in seen if one.finished is not None]
    if finished and finished[-1] > finished[0]:
        others = f"{finished[-1] - finished[0]:g} other requests finished while we looked"
        return Company(1, others, pool, block, drafts)
    return Company(1, kv_tokens=pool, block_size=block, drafts=drafts)

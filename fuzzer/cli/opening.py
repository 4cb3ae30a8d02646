"""Is the target of the flags there, one engine, and free for us? Connects, and looks who else is there."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio

from fuzzer.before.preflight import SAMPLE_S, Company, company
from fuzzer.cli.secrecy import keep
from fuzzer.cli.session import PACE, Session
from fuzzer.errors import RunStopped
from fuzzer.heed import unless
from targets.detect import connect

if TYPE_CHECKING:
    from pathlib import Path

    from fuzzer.cli.common import CommonFlags
    from fuzzer.model import Settings
    from targets.base import Survey
    from targets.target import Target


@asynccontextmanager
async def opened(
    flags: CommonFlags, *, pace: Settings = PACE, sample_s: float = SAMPLE_S, stop: anyio.Event | None = None
) -> AsyncIterator[Session]:
    """Connect to the target, and see for `sample_s` seconds that it is one engine that serves nobody else.

    `pace` holds what no flag sets: the graces.

    Raises TargetUnusable where it cannot be used, RunStopped where it is not ours to kill, and Interrupted where
    `stop` is set meanwhile.
    """
    keep(flags)
    stop = stop or anyio.Event()
    target, survey = await unless(stop, lambda: _connected(flags))
    try:
        others = await unless(stop, lambda: _alone(flags, target, survey, sample_s))
        yield Session(flags, target, survey, others, pace)
    finally:
        await target.aclose()


async def _connected(flags: CommonFlags) -> tuple[Target, Survey]:
    return await connect(
        flags.url,
        engine=flags.engine,
        model=flags.model,
        api_key=flags.api_key,
        headers=flags.headers,
        cacert=_text(flags.cacert),
        insecure=flags.insecure,
        health_url=flags.health_url,
        metrics_url=flags.metrics_url,
    )


async def _alone(flags: CommonFlags, target: Target, survey: Survey, sample_s: float) -> Company:
    if not survey.has_metrics:
        return Company(1)
    others = await company(target, seconds=sample_s)
    if others.replicas > 1 and not flags.allow_replicas:
        raise RunStopped(
            f"{others.replicas} engines answer at {target.url}: a probe cannot be pinned to one of them. "
            "Give one pod's own URL, or --allow-replicas to go on without metrics as evidence."
        )
    if others.traffic and not flags.allow_busy:
        raise RunStopped(
            f"The target is serving somebody else ({others.traffic}), and ctxfuzz may kill it. "
            "Take it out of rotation, or pass --allow-busy."
        )
    return others


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)

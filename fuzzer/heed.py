"""How is something awaited that a signal may cut short?"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import anyio

from fuzzer.errors import Interrupted

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

T = TypeVar("T")


async def unless(stop: anyio.Event, work: Callable[[], Awaitable[T]]) -> T:
    """What comes of the work; what it raises is raised as it is. Raises Interrupted where `stop` is set before."""
    done: list[T] = []
    failed: list[Exception] = []
    async with anyio.create_task_group() as group:

        async def obey() -> None:
            await stop.wait()
            group.cancel_scope.cancel()

        group.start_soon(obey)
        try:
            done.append(await work())
        except Exception as error:  # noqa: BLE001  (a group would wrap it)
            failed.append(error)
        group.cancel_scope.cancel()
    if failed:
        raise failed[0]
    if not done:
        raise Interrupted
    return done[0]

"""What do the handlers of one simulated API server share?"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from starlette.responses import JSONResponse, Response

from targets.sim.dialects import DIALECTS
from targets.sim.drafts import draw
from targets.sim.supervisor import Supervisor
from targets.sim.world import World

if TYPE_CHECKING:
    from starlette.requests import Request

    from targets.sim.listener import Listener


class Prefilling:
    """Requests that have not answered with a token yet, and since when (seconds on the loop's clock)."""

    def __init__(self) -> None:
        self._since: dict[int, float] = {}

    def add(self, seq: int) -> None:
        self._since[seq] = now()

    def discard(self, seq: int) -> None:
        self._since.pop(seq, None)

    def longest(self) -> float:
        return max((now() - since for since in self._since.values()), default=0.0)


class Site:
    """World, supervisor and listener of one API server, and what health needs to know of its requests."""

    def __init__(self, world: World, supervisor: Supervisor) -> None:
        self.world = world
        self.dialect = DIALECTS[world.dialect]
        self.supervisor = supervisor
        self.prefilling = Prefilling()
        self.listener: Listener
        self._blocked_until = 0.0
        self._polls = 0

    async def unblocked(self) -> None:
        """Wait while the event loop of the world's API server is blocked."""
        await asyncio.sleep(max(self._blocked_until - now(), 0))

    def block(self) -> None:
        """A request has come in: the world may say that the event loop is busy with it now."""
        self._blocked_until = now() + self.world.health.blocked_s

    def meshed(self) -> bool:
        """Does a mesh in front of health answer this poll by itself?"""
        self._polls += 1
        return draw(self.world.seed, self._polls) / 2**64 < self.world.health.flaky

    def unauthorised(self, request: Request) -> Response | None:
        key = self.world.api_key
        if key is None or request.headers.get("authorization") == f"Bearer {key}":
            return None
        return JSONResponse({"error": "Unauthorized"}, 401)

    def error(self, message: str, kind: str, status: int, param: str | None = None) -> Response:
        return JSONResponse(self.dialect.error(message, kind, status, param), status)


def now() -> float:
    """Seconds on the loop's clock."""
    return asyncio.get_running_loop().time()

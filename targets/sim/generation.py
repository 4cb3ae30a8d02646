"""What becomes of one generation? From the engine's events to its client, for every way in which it can end."""

from __future__ import annotations

import asyncio
import contextlib
from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.responses import Response

from targets.sim.answers import Writer
from targets.sim.dialects import ENGINE_DEAD
from targets.sim.frames import Head
from targets.sim.outlets import Outlet, Stream, Whole

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from targets.sim.site import Site
    from targets.sim.supervisor import Record, Seat

ADMISSION_S = 0.05  # the headers of a stream wait so long for the engine to take the request in
FOR_EVER = 1e9


@dataclass(frozen=True, slots=True)
class Plan:
    """A request that the API server has accepted. `output`: tokens to generate, after any clamp."""

    ids: array[int]
    output: int
    asked: int
    stream: bool
    chat: bool
    salt: str
    finish: str  # the finish reason, should it come to that
    usage: bool  # does a stream end with the counts?
    token_ids: bool

    def head(self) -> Head:
        return {
            "prompt": len(self.ids),
            "output": self.output,
            "asked": self.asked,
            "salt": self.salt,
            "stream": self.stream,
            "chat": self.chat,
            "finish": self.finish,
        }


class Answer(Response):
    """Sends what becomes of one generation. Aborts it in the engine when the client goes away."""

    def __init__(self, site: Site, seat: Seat, record: Record, plan: Plan) -> None:
        super().__init__()
        self._site, self._seat, self._record, self._plan = site, seat, record, plan
        self._tokens = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer until the end, or until the client is gone."""
        plan = self._plan
        writer = Writer(self._site.world, plan.chat, plan.usage, plan.token_ids, plan.ids)
        outlet = Stream(writer, send) if self._plan.stream else Whole(writer, send)
        gone = asyncio.create_task(_disconnected(receive))
        pump = asyncio.create_task(self._pump(outlet, scope["client"]))
        self._site.prefilling.add(self._record.seq)
        try:
            await asyncio.wait({gone, pump}, return_when=asyncio.FIRST_COMPLETED)
            if self._record.outcome == "open" and not pump.done():
                self._finish("aborted")
        finally:
            self._site.prefilling.discard(self._record.seq)
            gone.cancel()
            pump.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await pump

    async def _pump(self, outlet: Outlet, client: tuple[str, int]) -> None:
        assert self._seat.child is not None
        with self._seat.child.exchange(self._plan.head(), self._plan.ids) as events:
            try:
                one = await asyncio.wait_for(events.get(), self._patience_s())
            except TimeoutError:  # it is stopped or blocked
                await outlet.begin()
                one = await events.get()
            while await self._goes_on(one, outlet, client):
                await asyncio.sleep(0)  # a backlog of tokens must not hide that the client has left
                one = await events.get()

    def _patience_s(self) -> float | None:
        """How long headers wait: for ever, where the engine may turn a request down, for then they tell the status."""
        turns_down = any(rule.point == "arrival" for rule in self._site.world.rules)
        return None if turns_down else ADMISSION_S

    async def _goes_on(self, one: Head, outlet: Outlet, client: tuple[str, int]) -> bool:
        """Pass one event on. Returns False where it was the last."""
        match one["event"]:
            case "admitted":
                await outlet.begin()
                return True
            case "token":
                self._tokens += 1
                self._site.prefilling.discard(self._record.seq)
                last = self._tokens == self._plan.output
                await outlet.token(one["text"], one["token"], self._plan.finish if last else None)
                return True
            case "end":
                self._finish("answered", 200)
                await outlet.end(one)
            case "reset" | "cut" as how:
                self._finish(how)
                self._site.listener.hang_up(client, reset=how == "reset")
                await asyncio.sleep(FOR_EVER)  # until the disconnect is noticed
            case "dead":
                await self._died(outlet)
            case "busy":
                await self._fail("busy", outlet, one, {"retry-after": f"{one['retry_after']:g}"})
            case _:
                await self._fail("error", outlet, one, {})
        return False

    async def _died(self, outlet: Outlet) -> None:
        if self._site.world.death.silent:  # the port closes with the engine, and nobody says a word
            self._finish("death")
            await asyncio.sleep(FOR_EVER)
        await self._fail("death", outlet, {"status": 500, "message": ENGINE_DEAD, "type": "InternalServerError"}, {})

    async def _fail(self, outcome: str, outlet: Outlet, one: Head, headers: dict[str, str]) -> None:
        body = self._site.dialect.error(one["message"] or ENGINE_DEAD, one["type"], one["status"], None)
        self._finish(outcome)
        self._record.status = await outlet.fail(one["status"], body, headers)

    def _finish(self, outcome: str, status: int | None = None) -> None:
        self._record.outcome = outcome
        self._record.status = status


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass

"""In which form does an answer leave: as one body, or as a stream? Both are told the same events, in order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from starlette.responses import JSONResponse

from targets.sim.answers import DONE, Body, Writer, event

if TYPE_CHECKING:
    from starlette.types import Send


class Outlet(Protocol):
    """Where the events of one generation go. `begin` may be called more than once."""

    async def begin(self) -> None: ...

    async def token(self, text: str, token: int, finish: str | None) -> None: ...

    async def end(self, counts: Body) -> None: ...

    async def fail(self, status: int, body: Body, headers: Mapping[str, str]) -> int:
        """Say what went wrong, as well as still possible. Returns the status that the client saw."""
        ...


class Whole:
    """Nothing leaves before everything is known."""

    def __init__(self, writer: Writer, send: Send) -> None:
        self._writer, self._send = writer, send
        self._texts: list[str] = []
        self._tokens: list[int] = []

    async def begin(self) -> None:
        """A whole body begins with its end."""

    async def token(self, text: str, token: int, finish: str | None) -> None:  # noqa: ARG002  (the end tells it too)
        self._texts.append(text)
        self._tokens.append(token)

    async def end(self, counts: Body) -> None:
        await _send_json(self._send, 200, self._writer.body("".join(self._texts), self._tokens, counts), {})

    async def fail(self, status: int, body: Body, headers: Mapping[str, str]) -> int:
        await _send_json(self._send, status, body, headers)
        return status


class Stream:
    """Headers first, then an event a token. What fails after the headers is told inside the 200."""

    def __init__(self, writer: Writer, send: Send) -> None:
        self._writer, self._send = writer, send
        self._begun = False

    async def begin(self) -> None:
        if self._begun:
            return
        self._begun = True
        headers = [(b"content-type", b"text/event-stream; charset=utf-8")]
        await self._send({"type": "http.response.start", "status": 200, "headers": headers})
        for chunk in self._writer.begin():
            await self._chunk(chunk)

    async def token(self, text: str, token: int, finish: str | None) -> None:
        await self._chunk(self._writer.token(text, token, finish))

    async def end(self, counts: Body) -> None:
        for chunk in self._writer.end(counts):
            await self._chunk(chunk)
        await self._chunk(b"", more=False)

    async def fail(self, status: int, body: Body, headers: Mapping[str, str]) -> int:
        if not self._begun:
            await _send_json(self._send, status, body, headers)
            return status
        await self._chunk(event(body))
        await self._chunk(DONE)
        await self._chunk(b"", more=False)
        return 200

    async def _chunk(self, data: bytes, *, more: bool = True) -> None:
        await self._send({"type": "http.response.body", "body": data, "more_body": more})


async def _send_json(send: Send, status: int, body: dict[str, Any], headers: Mapping[str, str]) -> None:
    response = JSONResponse(body, status, headers)
    await send({"type": "http.response.start", "status": status, "headers": response.raw_headers})
    await send({"type": "http.response.body", "body": bytes(response.body)})

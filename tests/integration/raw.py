"""How does a test play any server at all? Raw sockets on a free port of loopback, one handler a connection."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeAlias

Reader: TypeAlias = asyncio.StreamReader
Writer: TypeAlias = asyncio.StreamWriter
Handler = Callable[[Reader, Writer], Awaitable[None]]


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def whole(status: int, body: bytes, *headers: str) -> bytes:
    head = [f"HTTP/1.1 {status} X", f"content-length: {len(body)}", *headers, "", ""]
    return "\r\n".join(head).encode() + body


@asynccontextmanager
async def serving(handler: Handler, tls: ssl.SSLContext | None = None, port: int = 0) -> AsyncIterator[int]:
    """A server on a free port of loopback, or on this one, that does to each connection what the handler does."""
    tasks: list[asyncio.Task[None]] = []

    async def run(reader: Reader, writer: Writer) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await handler(reader, writer)
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()

    def accept(reader: Reader, writer: Writer) -> None:
        tasks.append(asyncio.ensure_future(run(reader, writer)))

    server = await asyncio.start_server(accept, "127.0.0.1", port, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def request_of(reader: Reader) -> tuple[bytes, bytes]:
    """The head and the whole body of one request."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = next((int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0)
    return head, await reader.readexactly(length)


def reset(writer: Writer) -> None:
    """Hang up with a RST instead of a FIN."""
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


def answering(*pieces: bytes, then: Callable[[Writer], None] | None = None) -> Handler:
    async def handler(reader: Reader, writer: Writer) -> None:
        await request_of(reader)
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        if then is not None:
            then(writer)

    return handler

"""Which address of a host answers first, and why does none? A connect that fails keeps its OSError."""

from __future__ import annotations

import errno
import os
import socket
from typing import Any

import anyio

_NEXT_ADDRESS_S = 0.25  # how long one address may be silent before the next is tried beside it (RFC 8305)
_KEEPALIVE = (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 6))  # a host that vanished: about 90 s


async def dial(host: str, port: int) -> socket.socket:
    """The first connection that stands. Raises the most telling OSError of all attempts: a refusal before the rest."""
    try:
        found = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError as error:
        raise socket.gaierror(socket.EAI_NONAME, "not a host name") from error
    errors: list[OSError] = []
    winner: list[socket.socket] = []

    try:
        async with anyio.create_task_group() as group:

            async def attempt(family: int, address: tuple[Any, ...], failed: anyio.Event) -> None:
                try:
                    sock = await _connect(family, address)
                except OSError as error:
                    errors.append(error)
                    failed.set()
                else:
                    winner.append(sock)
                    group.cancel_scope.cancel()

            for family, _, _, _, address in found:
                failed = anyio.Event()
                group.start_soon(attempt, family, address, failed)
                with anyio.move_on_after(_NEXT_ADDRESS_S):
                    await failed.wait()
    except BaseException:
        for sock in winner:
            sock.close()
        raise
    for late in winner[1:]:
        late.close()
    if winner:
        return winner[0]
    raise min(errors, key=lambda error: error.errno != errno.ECONNREFUSED)


async def _connect(family: int, address: tuple[Any, ...]) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.settimeout(0)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in _KEEPALIVE:
            if hasattr(socket, name):
                sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
        code = sock.connect_ex(address)
        if code == errno.EINPROGRESS:
            await anyio.wait_writable(sock)
            code = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    except BaseException:
        sock.close()
        raise
    if code:
        sock.close()
        raise OSError(code, os.strerror(code))
    return sock

"""How does a port really close and come back? Uvicorn's HTTP protocol on a socket that we open and close ourselves.

The connections are accepted here, and not by an `asyncio.Server`: one that is closed between the accepting of a
connection and its first step drops that connection without closing it, and its client waits for nobody.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from typing import TYPE_CHECKING

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

if TYPE_CHECKING:
    from starlette.types import ASGIApp

NO_LINGER = struct.pack("ii", 1, 0)  # close() then sends a reset


class Listener:
    """One HTTP port. While it is closed, connections are refused by the kernel.

    A second socket stays bound to the port and never listens, so nobody else is given it in the meantime.
    """

    def __init__(self, app: ASGIApp, host: str, port: int, server: str | None = None) -> None:
        self._config = uvicorn.Config(
            app,
            log_config=None,
            log_level="critical",  # an answer that is cut short is the world's doing, not news
            access_log=False,
            lifespan="off",
            http="h11",
            ws="none",
            server_header=server is None,
            headers=[("server", server)] if server else [],
        )
        self._config.load()
        self._state = ServerState()
        self._state.default_headers = self._config.encoded_headers
        self._reservation = _bound(host, port)
        self.host, self.port = host, int(self._reservation.getsockname()[1])
        self._socket: socket.socket | None = None  # that listens
        self._arriving: set[asyncio.Task[None]] = set()

    def open(self) -> None:
        """Listen. Does nothing if it does already. Raises OSError."""
        if self._socket is not None:
            return
        self._socket = _bound(self.host, self.port)
        self._socket.settimeout(0)
        self._socket.listen(512)
        asyncio.get_running_loop().add_reader(self._socket, self._accept, self._socket)

    def close(self) -> None:
        """Stop listening and reset every connection."""
        if self._socket is None:
            return
        asyncio.get_running_loop().remove_reader(self._socket)
        self._socket.close()
        self._socket = None
        for protocol in list(self._state.connections):
            _reset(protocol.transport)

    def hang_up(self, client: tuple[str, int], *, reset: bool) -> None:
        """End the connection of this client: by a reset, or by a plain close in the middle of whatever it was."""
        for protocol in list(self._state.connections):
            if isinstance(protocol, H11Protocol) and protocol.client == client:
                _reset(protocol.transport) if reset else protocol.transport.close()

    def release(self) -> None:
        """Close, and give the port back."""
        self.close()
        self._reservation.close()

    def _accept(self, listening: socket.socket) -> None:
        with contextlib.suppress(BlockingIOError, ConnectionAbortedError):  # its client has left already
            connected, _ = listening.accept()
            arrival = asyncio.get_running_loop().create_task(self._arrive(connected, listening))
            self._arriving.add(arrival)
            arrival.add_done_callback(self._arriving.discard)

    async def _arrive(self, connected: socket.socket, listening: socket.socket) -> None:
        connected.settimeout(0)
        transport, _ = await asyncio.get_running_loop().connect_accepted_socket(self._protocol, connected)
        if self._socket is not listening:  # closed while this one was on its way
            _reset(transport)

    def _protocol(self) -> asyncio.Protocol:
        return H11Protocol(config=self._config, server_state=self._state, app_state={})


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # named, or asyncio sets no TCP_NODELAY
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((host, port))
    except OSError:
        sock.close()
        raise
    return sock


def _reset(transport: asyncio.Transport | None) -> None:
    if transport is None:
        return
    with contextlib.suppress(OSError):  # it is closed already
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
    transport.abort()

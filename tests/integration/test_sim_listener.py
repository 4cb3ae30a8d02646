"""Does a port of the simulator that closes leave no client waiting?"""

from __future__ import annotations

import asyncio
import gc
import socket
from collections.abc import Iterator

import pytest
from starlette.applications import Starlette

from targets.sim.listener import Listener

pytestmark = pytest.mark.anyio


@pytest.fixture
def nothing_is_collected() -> Iterator[None]:
    """A socket that nobody closed would be closed by the collector, sooner or later."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("nothing_is_collected")
@pytest.mark.parametrize("steps", range(6))
async def test_who_connects_while_it_closes_is_reset(steps: int) -> None:
    """`steps`: of the event loop, between the connection's arrival in the kernel and the close."""
    listener = Listener(Starlette(), "127.0.0.1", 0)
    try:
        listener.open()
        with socket.create_connection((listener.host, listener.port)) as client:
            client.settimeout(0)
            for _ in range(steps):
                await asyncio.sleep(0)
            listener.close()
            with pytest.raises(ConnectionResetError):
                await asyncio.wait_for(asyncio.get_running_loop().sock_recv(client, 1), 5)
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((listener.host, listener.port))
    finally:
        listener.release()


async def test_it_opens_again_where_it_was() -> None:
    listener = Listener(Starlette(), "127.0.0.1", 0)
    try:
        for _ in range(3):
            listener.open()
            listener.open()  # does nothing
            with socket.create_connection((listener.host, listener.port)) as client:
                client.settimeout(0)
                await asyncio.get_running_loop().sock_sendall(client, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                assert (await asyncio.get_running_loop().sock_recv(client, 100)).startswith(b"HTTP/1.1 404")
            listener.close()
            listener.close()  # does nothing
    finally:
        listener.release()

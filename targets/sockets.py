"""How do bytes reach a peer so that an early answer is never lost and a refusal is told from a silence?

httpcore lets a client bring its own network backend. Ours sits on plain non-blocking sockets, for two reasons:

* A server may answer (413, 400) and hang up while we still write a body of megabytes. An asyncio transport that fails
  to write throws away what was received and not yet read; a socket keeps it.
* A connect that fails keeps its `OSError`, so that refused, unreachable and unresolvable stay apart.
"""

from __future__ import annotations

import array
import fcntl
import socket
import ssl
import termios
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
import httpcore
from anyio.abc import ByteStream
from anyio.streams.tls import TLSAttribute, TLSStream

from targets.dial import dial

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class SocketStream(ByteStream):
    """A connected socket as a byte stream. What was received before a failure can be read after it.

    In the plain, a write that cannot go on ends as soon as the peer has said something: whoever answers before it heard
    us out will not read the rest. `under_tls` those bytes may be a handshake's; and a write that fails is told to the
    reader alone, at the end of what there is to read, for a TLS layer that saw it would read no more.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._broken: OSError | None = None  # why a write failed
        self.under_tls = False

    async def receive(self, max_bytes: int = 65536) -> bytes:
        await anyio.lowlevel.checkpoint()
        while True:
            try:
                data = self._sock.recv(max_bytes)
            except BlockingIOError:
                await anyio.wait_readable(self._sock)
            except OSError as error:
                raise anyio.BrokenResourceError from error
            else:
                if data:
                    return data
                if self._broken is not None:
                    raise anyio.BrokenResourceError from self._broken
                raise anyio.EndOfStream

    async def send(self, item: bytes) -> None:
        await anyio.lowlevel.checkpoint()
        rest = memoryview(item)
        while rest and self._broken is None:
            try:
                rest = rest[self._sock.send(rest) :]
            except BlockingIOError:
                await self._until_writable()
            except OSError as error:
                self._broken = error
        if self._broken is not None and not self.under_tls:
            raise anyio.BrokenResourceError from self._broken

    async def _until_writable(self) -> None:
        if self.under_tls:
            await anyio.wait_writable(self._sock)
            return
        answered = False

        async with anyio.create_task_group() as group:

            async def until_answered() -> None:
                nonlocal answered
                await anyio.wait_readable(self._sock)
                answered = True
                group.cancel_scope.cancel()

            group.start_soon(until_answered)
            await anyio.wait_writable(self._sock)
            group.cancel_scope.cancel()
        if answered:
            raise anyio.BrokenResourceError

    def waiting(self) -> int:
        """Bytes that were sent and that the peer has not acknowledged; 0 where the system does not tell."""
        told = array.array("i", [0])
        try:
            fcntl.ioctl(self._sock, termios.TIOCOUTQ, told)
        except (OSError, ValueError):  # it is closed, or no Linux
            return 0
        return told[0]

    async def send_eof(self) -> None:
        self._sock.shutdown(socket.SHUT_WR)

    async def aclose(self) -> None:
        self._sock.close()
        await anyio.lowlevel.checkpoint()


class NetworkStream(httpcore.AsyncNetworkStream):
    """What httpcore reads from and writes to."""

    def __init__(self, stream: SocketStream | TLSStream) -> None:
        self._stream = stream

    def waiting(self) -> int:
        """Bytes on their way out that the peer has not acknowledged."""
        return self._stream.waiting() if isinstance(self._stream, SocketStream) else 0

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109  (httpcore's interface)
        with _faults(httpcore.ReadTimeout, httpcore.ReadError), anyio.fail_after(timeout):
            try:
                return await self._stream.receive(max_bytes)
            except anyio.EndOfStream:
                return b""

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109
        with _faults(httpcore.WriteTimeout, httpcore.WriteError), anyio.fail_after(timeout):
            await self._stream.send(buffer)

    async def aclose(self) -> None:
        # Closing is hanging up: no TLS goodbye that a dead peer would have to answer.
        stream = self._stream
        await (stream.transport_stream if isinstance(stream, TLSStream) else stream).aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> NetworkStream:
        if isinstance(self._stream, SocketStream):
            self._stream.under_tls = True
        with _faults(httpcore.ConnectTimeout, httpcore.ConnectError), anyio.fail_after(timeout):
            try:
                tls = await TLSStream.wrap(
                    self._stream,
                    hostname=server_hostname,
                    ssl_context=ssl_context,
                    standard_compatible=False,
                    server_side=False,
                )
            except BaseException:
                await self.aclose()
                raise
        return NetworkStream(tls)

    def get_extra_info(self, info: str) -> Any:  # noqa: ANN401  (httpcore's interface)
        if info == "ssl_object" and isinstance(self._stream, TLSStream):
            return self._stream.extra_attributes[TLSAttribute.ssl_object]()
        return None


class Backend(httpcore.AsyncNetworkBackend):
    """Opens connections. `origins` are the hosts that are asked; whoever else is dialled is a proxy of ours."""

    def __init__(self) -> None:
        self.origins: set[tuple[str, int]] = set()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109
        local_address: str | None = None,  # noqa: ARG002  (httpcore's interface; we never bind)
        socket_options: Iterable[Any] | None = None,
    ) -> NetworkStream:
        ours = (host.lower(), port) in self.origins
        error = httpcore.ConnectError if ours else httpcore.ProxyError
        with _faults(httpcore.ConnectTimeout if ours else httpcore.ProxyError, error), anyio.fail_after(timeout):
            sock = await dial(host, port)
        for option in socket_options or ():
            sock.setsockopt(*option)
        return NetworkStream(SocketStream(sock))

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds)


@contextmanager
def _faults(timeout: type[Exception], broken: type[Exception]) -> Iterator[None]:
    """Turn what a socket can do into httpcore's exceptions; the OSError stays reachable as their cause."""
    try:
        yield
    except TimeoutError as error:
        if error.errno is None:
            raise timeout("timed out") from error
        raise broken(str(error)) from error  # ETIMEDOUT: the kernel gave up, not we
    except anyio.BrokenResourceError as error:
        cause = error.__cause__ or error
        raise broken(str(cause) or "the peer stopped reading") from cause
    except (OSError, anyio.EndOfStream, anyio.ClosedResourceError) as error:
        raise broken(str(error) or "the peer hung up") from error

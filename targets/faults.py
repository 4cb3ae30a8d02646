"""What is each failed request evidence for? Pure: httpx's exceptions and their causes, in one table."""

from __future__ import annotations

import errno
import re
import socket
import ssl
from typing import TYPE_CHECKING

import anyio
import httpx

from targets.base import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# Each exception by which httpx can report a failed request, and what it is evidence for. A test walks httpx's tree.
FAULTS: Mapping[type[httpx.RequestError], Fault] = {
    httpx.ConnectError: Fault.NO_ROUTE,  # refined by its cause, see `_connect_fault`
    httpx.ConnectTimeout: Fault.NO_ROUTE,
    httpx.PoolTimeout: Fault.NO_ROUTE,
    httpx.UnsupportedProtocol: Fault.NO_ROUTE,
    httpx.ProxyError: Fault.PROXY,
    httpx.ReadError: Fault.RESET,  # or NETWORK, by its cause; so are the two below
    httpx.WriteError: Fault.RESET,
    httpx.CloseError: Fault.RESET,
    httpx.ReadTimeout: Fault.TIMEOUT,
    httpx.WriteTimeout: Fault.TIMEOUT,
    httpx.RemoteProtocolError: Fault.PROTOCOL,  # or CUT, see `fault_of`
    httpx.LocalProtocolError: Fault.PROTOCOL,
    httpx.DecodingError: Fault.PROTOCOL,
    httpx.TooManyRedirects: Fault.PROTOCOL,
}
_HUNG_UP = frozenset({errno.ECONNREFUSED, errno.ECONNRESET, errno.ECONNABORTED, errno.EPIPE})
# What a kernel says of a line that no packet came back on: our network is down as well as their host may be.
_NO_NETWORK = frozenset(
    {errno.ENETDOWN, errno.ENETUNREACH, errno.ENETRESET, errno.EHOSTDOWN, errno.EHOSTUNREACH, errno.ETIMEDOUT}
)
_CUT_WORDS = re.compile(r"disconnected|peer closed|closed connection", re.IGNORECASE)


def fault_of(error: httpx.RequestError) -> Fault:
    """What a failed request is evidence for. An exception that httpx invents tomorrow is looked up by its bases."""
    fault = next(FAULTS[kind] for kind in (*type(error).__mro__, httpx.ReadError) if kind in FAULTS)
    if isinstance(error, httpx.ConnectError):
        return _connect_fault(error)
    if isinstance(error, httpx.RemoteProtocolError) and _CUT_WORDS.search(str(error)):
        return Fault.CUT
    if fault is Fault.RESET and any(isinstance(at, OSError) and at.errno in _NO_NETWORK for at in _causes(error)):
        return Fault.NETWORK
    return fault


def _connect_fault(error: BaseException) -> Fault:
    """Why a connection did not come to stand. A peer that hangs up in the TLS handshake refused, like any other."""
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLEOFError | ssl.SSLZeroReturnError | anyio.EndOfStream):
            return Fault.REFUSED
        if isinstance(cause, ssl.SSLError):
            return Fault.TLS
        if isinstance(cause, socket.gaierror):
            return Fault.NO_ROUTE
        if isinstance(cause, OSError) and cause.errno in _HUNG_UP:
            return Fault.REFUSED
    return Fault.NO_ROUTE


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An exception's causes, outermost first; of a group, all of its members."""
    waiting, seen = [error], 0
    while waiting and seen < 32:
        seen += 1
        current = waiting.pop(0)
        yield current
        if isinstance(current, BaseExceptionGroup):
            waiting += current.exceptions
        cause = current.__cause__ or current.__context__
        if cause is not None:
            waiting.append(cause)


def words_of(error: BaseException) -> str:
    """An error in at most 200 printable characters."""
    text = str(error) or type(error).__name__
    return "".join(char if char.isprintable() else " " for char in text)[:200]

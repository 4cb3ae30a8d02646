"""Is every way in which httpx can fail mapped to evidence?"""

from __future__ import annotations

import errno
import socket
import ssl

import httpx
import pytest

from targets.base import Fault
from targets.faults import FAULTS, fault_of


def concrete(kind: type[httpx.RequestError]) -> set[type[httpx.RequestError]]:
    """All that can be raised below a class: httpx raises leaves only."""
    below = {sub for sub in kind.__subclasses__() if sub.__module__.startswith("httpx")}
    return {kind} if not below else {leaf for sub in below for leaf in concrete(sub)}


def test_every_exception_of_httpx_has_its_row() -> None:
    assert set(FAULTS) == concrete(httpx.RequestError)


@pytest.mark.parametrize("kind", sorted(FAULTS, key=str))
def test_every_row_is_found(kind: type[httpx.RequestError]) -> None:
    assert fault_of(kind("some words")) is FAULTS[kind]


def test_an_exception_that_httpx_invents_tomorrow_counts_as_its_base_or_as_a_loss() -> None:
    class Novel(httpx.ReadError):
        pass

    class Unheard(httpx.TransportError):
        pass

    assert fault_of(Novel("?")) is Fault.RESET
    assert fault_of(Unheard("?")) is Fault.RESET


def connect_error(cause: BaseException) -> httpx.ConnectError:
    error = httpx.ConnectError("All connection attempts failed")
    error.__cause__ = cause
    return error


CAUSES = [
    (ConnectionRefusedError(errno.ECONNREFUSED, "refused"), Fault.REFUSED),
    (ConnectionResetError(errno.ECONNRESET, "reset"), Fault.REFUSED),
    (OSError(errno.ENETUNREACH, "unreachable"), Fault.NO_ROUTE),
    (OSError(errno.EHOSTUNREACH, "unreachable"), Fault.NO_ROUTE),
    (socket.gaierror(socket.EAI_NONAME, "unknown"), Fault.NO_ROUTE),
    (ssl.SSLCertVerificationError("self-signed"), Fault.TLS),
    (ssl.SSLError("wrong version number"), Fault.TLS),
    (ssl.SSLEOFError("EOF in the handshake"), Fault.REFUSED),
    (ExceptionGroup("all", [OSError(errno.ENETUNREACH, "v6"), ConnectionRefusedError(111, "v4")]), Fault.REFUSED),
    (ValueError("odd"), Fault.NO_ROUTE),
]


@pytest.mark.parametrize(("cause", "fault"), CAUSES)
def test_a_failed_connect_is_told_by_its_cause(cause: BaseException, fault: Fault) -> None:
    assert fault_of(connect_error(cause)) is fault
    wrapped = OSError("All connection attempts failed")
    wrapped.__cause__ = cause
    assert fault_of(connect_error(wrapped)) is fault


@pytest.mark.parametrize("kind", [httpx.ReadError, httpx.WriteError, httpx.CloseError])
@pytest.mark.parametrize(
    ("number", "fault"),
    [
        (errno.ENETDOWN, Fault.NETWORK),
        (errno.ENETUNREACH, Fault.NETWORK),
        (errno.EHOSTUNREACH, Fault.NETWORK),
        (errno.ETIMEDOUT, Fault.NETWORK),  # the kernel gave up, not we
        (errno.ECONNRESET, Fault.RESET),
        (errno.EPIPE, Fault.RESET),
    ],
)
def test_a_network_that_is_down_is_no_reset_by_the_peer(
    kind: type[httpx.RequestError], number: int, fault: Fault
) -> None:
    error = kind("broken")
    error.__cause__ = OSError(number, "broken")
    assert fault_of(error) is fault
    assert not Fault.NETWORK.lost
    assert not Fault.NETWORK.nothing_sent


def test_causes_in_a_circle_end() -> None:
    one, two = OSError("one"), OSError("two")
    one.__cause__, two.__cause__ = two, one
    assert fault_of(connect_error(one)) is Fault.NO_ROUTE


def test_nothing_left_exactly_where_no_request_can_have_gone_out() -> None:
    assert {fault for fault in Fault if fault.nothing_sent} == {Fault.REFUSED, Fault.NO_ROUTE, Fault.TLS, Fault.PROXY}

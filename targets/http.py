"""What came back over the wire, whatever happened? The one place that speaks httpx.

Every request goes out on a fresh connection, once, and follows no redirect. What the peer does is never an exception
here: it is an `Exchange`, whose fault is looked up in the table of `targets.faults`.
"""

from __future__ import annotations

import re
import time
import zlib
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import anyio
import httpx

from targets.base import Fault
from targets.errors import TargetUnusable
from targets.exchange import Exchange, Fetched, Upload, Whole
from targets.faults import fault_of, words_of
from targets.forward import forward_proxies
from targets.routes import Routes, origin_of
from targets.sockets import Backend, NetworkStream
from targets.trust import ssl_context

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping

    from targets.address import Address
    from targets.exchange import Sink

CONNECT_S = 10.0
_CHUNK = 65_536
_HEADERS_KEPT = 64
_HEADER_CHARS = 512
_PRIVATE_HEADERS = frozenset({"set-cookie", "authorization", "proxy-authorization", "www-authenticate"})
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


class Http:
    """A client for one target. Credentials go to the target's own origin alone, and into no message."""

    def __init__(
        self,
        address: Address,
        *,
        api_key: str | None = None,
        headers: Iterable[tuple[str, str]] = (),
        cacert: str | None = None,
        insecure: bool = False,
        trust_env: bool = True,
        elsewhere: Iterable[Address] = (),
    ) -> None:
        private = {} if address.basic is None else {"authorization": address.basic}
        if api_key:
            private["authorization"] = f"Bearer {api_key}"
        private |= {name.strip().lower(): value.strip() for name, value in headers}
        for name, value in private.items():
            if not _TOKEN.fullmatch(name) or not value.isascii() or not value.isprintable():
                raise TargetUnusable(f"The header {name!r} cannot be sent: a name, a colon and plain ASCII are needed.")
        # What is secret, by the origin that may see it. `elsewhere`: health and metrics, with their own userinfo.
        others = list(elsewhere)
        self._private = {other.origin: {"authorization": other.basic} for other in others if other.basic}
        self._private[address.origin] = private
        origins = [one.origin for one in (address, *others)]
        secure = any(scheme == "https" for scheme, _, _ in origins)
        self._backend = Backend()
        self._client = httpx.AsyncClient(
            transport=Routes(
                origins,
                self._backend,
                ssl_context(cacert, insecure=insecure, trust_env=trust_env, needed=secure),
                forward_proxies() if trust_env else {},
            ),
            trust_env=False,  # what of it counts is read by us
            follow_redirects=False,
            timeout=httpx.Timeout(None, connect=CONNECT_S),
            headers={"user-agent": "ctxfuzz", "accept-encoding": "identity", "connection": "close"},
        )

    async def exchange(
        self,
        method: str,
        url: str,
        sink: Sink,
        *,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        within_s: float | None = None,
        on_progress: Callable[[], None] | None = None,
        upload: Upload | None = None,
    ) -> Exchange:
        """Send one request once and pour its response into the sink. Cancellable at any await.

        `within_s` bounds the whole exchange, however slowly bytes trickle in; past it the fault is TIMEOUT. `upload`
        tells all the while how much of the body has gone.
        """
        seen, upload = Exchange(), upload or Upload()
        upload.size = len(body or b"")
        began = time.monotonic()
        request = self._client.build_request(
            method,
            url,
            content=_pieces(body, upload),
            headers=self._headers(url, body, headers or {}),
            extensions={"trace": _watcher(upload)},
        )
        with anyio.move_on_after(within_s) as scope:
            await self._pour(seen, sink, began, request, on_progress)
        if scope.cancelled_caught:
            seen.fault, seen.fault_text = Fault.TIMEOUT, f"no whole answer within {within_s:g} s"
        seen.bytes_sent = upload.handed
        seen.ended_s = time.monotonic() - began
        return seen

    async def fetch(
        self, method: str, url: str, *, within_s: float, body: bytes | None = None, limit: int = 1 << 20
    ) -> Fetched:
        """A small request with its whole answer, at most `limit` bytes of it, within so many seconds."""
        sink = Whole(limit)
        seen = await self.exchange(method, url, sink, body=body, within_s=within_s)
        fault, text = seen.fault, seen.fault_text
        if sink.oversize:
            fault, text = Fault.OVERSIZE, f"the answer is longer than {limit} bytes"
        return Fetched(seen.status, seen.headers, bytes(sink.body), fault, text)

    async def aclose(self) -> None:
        await self._client.aclose()

    async def _pour(
        self,
        seen: Exchange,
        sink: Sink,
        began: float,
        request: httpx.Request,
        on_progress: Callable[[], None] | None,
    ) -> None:
        try:
            response = await self._client.send(request, stream=True)
            async with aclosing(response):
                seen.status, seen.headers = response.status_code, _kept(response.headers)
                seen.first_byte_s = time.monotonic() - began
                sink.begin(seen.status, seen.headers, seen.first_byte_s)
                expand = _expander(response.headers.get("content-encoding", ""))
                async for raw in response.aiter_raw():
                    if on_progress is not None:
                        on_progress()
                    for data in expand(raw):
                        if not sink.feed(data, time.monotonic() - began):
                            return
                seen.ended = True
        except httpx.RequestError as error:
            seen.fault = fault_of(error)
            seen.fault_text = words_of(error)
            seen.sent = not seen.fault.nothing_sent
        except zlib.error as error:
            seen.fault, seen.fault_text = Fault.PROTOCOL, f"the body cannot be decompressed: {error}"

    def _headers(self, url: str, body: bytes | None, extra: Mapping[str, str]) -> dict[str, str]:
        parsed = httpx.URL(url)
        scheme, host, port = origin_of(parsed)
        self._backend.origins.add((host, port))
        headers = dict(extra)
        if body is not None:
            headers |= {"content-type": "application/json", "content-length": str(len(body))}
        return headers | self._private.get((scheme, host, port), {})


async def _pieces_of(body: bytes, upload: Upload) -> AsyncIterator[bytes]:
    for start in range(0, len(body), _CHUNK):
        piece = body[start : start + _CHUNK]
        yield piece
        upload.handed += len(piece)


def _pieces(body: bytes | None, upload: Upload) -> AsyncIterator[bytes] | None:
    return None if body is None else _pieces_of(body, upload)


def _watcher(upload: Upload) -> Callable[[str, Mapping[str, Any]], Awaitable[None]]:
    """httpcore tells of each step of a request: of its connection we want to know what waits there to be sent."""

    async def told(step: str, info: Mapping[str, Any]) -> None:
        if step == "connection.connect_tcp.complete" and isinstance(stream := info["return_value"], NetworkStream):
            upload.waiting = stream.waiting

    return told


def _expander(encoding: str) -> Callable[[bytes], Iterable[bytes]]:
    """A decoder of bounded pieces. We ask for `identity`; a proxy that compresses all the same must not flood us."""
    kind = encoding.strip().lower()
    if kind in {"", "identity"}:
        return lambda raw: (raw,)
    if kind not in {"gzip", "x-gzip", "deflate"}:
        raise httpx.DecodingError(f"content-encoding {kind[:20]!r}, which was not asked for")
    engine = zlib.decompressobj(wbits=47)  # gzip or zlib, by its header

    def expand(raw: bytes) -> Iterable[bytes]:
        while raw:
            yield engine.decompress(raw, _CHUNK)
            raw = engine.unconsumed_tail

    return expand


def _kept(headers: httpx.Headers) -> dict[str, str]:
    """Response headers in lower case, bounded, without anything that may be a secret."""
    pairs = ((name.lower(), value[:_HEADER_CHARS]) for name, value in headers.items())
    return dict([pair for pair in pairs if pair[0] not in _PRIVATE_HEADERS][:_HEADERS_KEPT])

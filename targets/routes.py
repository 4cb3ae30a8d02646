"""On which way does a request go out: straight to its origin, or through a forward proxy?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx

from targets.forward import proxy_for

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterable, Mapping

    from targets.forward import Origin
    from targets.sockets import Backend

LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=0)


def origin_of(url: httpx.URL) -> Origin:
    """Scheme, host and port of what is asked there."""
    return url.scheme, url.host.lower(), url.port or (443 if url.scheme == "https" else 80)


class Routes(httpx.AsyncBaseTransport):
    """All the ways to these origins; they are found at once, so that none is found to be unreadable in mid-run.

    Raises UnreadableEnvironment where a proxy on one of them cannot be read.
    """

    def __init__(
        self, origins: Iterable[Origin], backend: Backend, trust: ssl.SSLContext, proxies: Mapping[str, str]
    ) -> None:
        self._backend, self._trust, self._proxies = backend, trust, proxies
        self._ways: dict[Origin, httpx.AsyncHTTPTransport] = {}
        for origin in origins:
            self._way_to(origin)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return await self._way_to(origin_of(request.url)).handle_async_request(request)

    async def aclose(self) -> None:
        for way in self._ways.values():
            await way.aclose()

    def _way_to(self, origin: Origin) -> httpx.AsyncHTTPTransport:
        if origin not in self._ways:
            way = httpx.AsyncHTTPTransport(
                verify=self._trust, trust_env=False, limits=LIMITS, proxy=proxy_for(origin, self._proxies)
            )
            # httpx has no public way to bring a network backend; without ours an early answer to a long body is lost.
            way._pool._network_backend = self._backend  # noqa: SLF001
            self._ways[origin] = way
        return self._ways[origin]

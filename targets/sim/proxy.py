"""What does a proxy make of an engine's death? A small reverse proxy that answers as nginx, Envoy or LiteLLM would."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import httpx

from targets.sim.parts import Proxy

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

Page = tuple[int, str, bytes]  # status, content type, body
HOP_BY_HOP = {b"connection", b"transfer-encoding", b"keep-alive", b"server", b"date"}


class ReverseProxy:
    """An ASGI application that passes everything on, on a fresh connection each time."""

    def __init__(self, proxy: Proxy, upstream: str) -> None:
        self._proxy = proxy
        self._page = PAGES[proxy.kind]
        self.server = {"nginx": "nginx/1.22.1", "envoy": "envoy", "litellm": "uvicorn"}[proxy.kind]
        self._client = httpx.AsyncClient(
            base_url=upstream,
            timeout=httpx.Timeout(proxy.timeout_s),
            limits=httpx.Limits(max_keepalive_connections=0),
            trust_env=False,
        )

    async def aclose(self) -> None:
        await self._client.aclose()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await _body(receive)
        if self._proxy.body_limit is not None and len(body) > self._proxy.body_limit:
            await _answer(send, self._page("too large"))
            return
        path = scope["path"] + ("?" + scope["query_string"].decode() if scope["query_string"] else "")
        headers = [(name, value) for name, value in scope["headers"] if name not in {b"host", *HOP_BY_HOP}]
        request = self._client.build_request(scope["method"], path, content=body, headers=headers)
        try:
            upstream = await self._client.send(request, stream=True)
        except httpx.TimeoutException:
            await _answer(send, self._page("timeout"))
            return
        except httpx.TransportError:
            await _answer(send, self._page("gone"))
            return
        await self._pass_on(upstream, send)

    async def _pass_on(self, upstream: httpx.Response, send: Send) -> None:
        """Once the headers are out, an upstream that breaks off can only be shown as a cut answer."""
        kept = [(name.lower(), value) for name, value in upstream.headers.raw if name.lower() not in HOP_BY_HOP]
        try:
            if self._proxy.kind == "litellm" and upstream.status_code == 400:
                await _answer(send, _litellm_refusal(await upstream.aread()))
                return
            await send({"type": "http.response.start", "status": upstream.status_code, "headers": kept})
            async for chunk in upstream.aiter_raw():
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
        finally:
            await upstream.aclose()
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def _nginx(trouble: str) -> Page:
    status, title = {
        "gone": (502, "Bad Gateway"),
        "timeout": (504, "Gateway Time-out"),
        "too large": (413, "Request Entity Too Large"),
    }[trouble]
    html = (
        f"<html>\r\n<head><title>{status} {title}</title></head>\r\n<body>\r\n"
        f"<center><h1>{status} {title}</h1></center>\r\n<hr><center>nginx/1.22.1</center>\r\n</body>\r\n</html>\r\n"
    )
    return status, "text/html", html.encode()


def _envoy(trouble: str) -> Page:
    status, text = {
        "gone": (
            503,
            "upstream connect error or disconnect/reset before headers. reset reason: connection termination",
        ),
        "timeout": (504, "upstream request timeout"),
        "too large": (413, "Payload Too Large"),
    }[trouble]
    return status, "text/plain", text.encode()


def _litellm(trouble: str) -> Page:
    status, text, kind = {
        "gone": (
            500,
            "litellm.InternalServerError: InternalServerError: OpenAIException - Connection error.",
            "internal_server_error",
        ),
        "timeout": (408, "litellm.Timeout: APITimeoutError - Request timed out.", None),
        "too large": (413, "litellm.BadRequestError: Request too large.", None),
    }[trouble]
    return _litellm_page(status, text, kind)


def _litellm_refusal(body: bytes) -> Page:
    """An over-length refusal comes under LiteLLM's own name."""
    try:
        message = json.loads(body)["error"]["message"]
    except (ValueError, KeyError, TypeError):
        message = body.decode(errors="replace")
    text = "litellm.ContextWindowExceededError: litellm.BadRequestError: ContextWindowExceededError: OpenAIException - "
    return _litellm_page(400, text + "Error code: 400 - " + message, None)


def _litellm_page(status: int, message: str, kind: str | None) -> Page:
    message += "\n\nLiteLLM: model group 'sim' failed with the error above. No fallback was attempted."
    error: dict[str, Any] = {"message": message, "type": kind, "param": None, "code": str(status)}
    return status, "application/json", json.dumps({"error": error}).encode()


PAGES: dict[str, Callable[[str], Page]] = {"nginx": _nginx, "envoy": _envoy, "litellm": _litellm}


async def _body(receive: Callable[[], Awaitable[Any]]) -> bytes:
    parts = []
    while True:
        message = await receive()
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(parts)


async def _answer(send: Send, page: Page) -> None:
    status, kind, body = page
    headers = [(b"content-type", kind.encode()), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})

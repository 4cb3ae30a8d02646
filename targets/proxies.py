"""Did the engine answer, or somebody in front of it? Pure: signs of proxies in a reply, with the setting to change."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from targets.base import ProxySign

if TYPE_CHECKING:
    from collections.abc import Mapping

    from targets.base import Reply

Kind = Literal["body-limit", "deadline", "upstream-lost", "broken", "auth", "redirect", "not-found", "bad-request"]

_A_PROXY = "a proxy"
_SERVERS = ("nginx", "openresty", "envoy", "cloudflare", "awselb", "caddy", "haproxy", "traefik", "litellm", "varnish")
_BODIES = (
    (re.compile(r"<center>(?:nginx|openresty)"), "nginx"),
    (re.compile(r"upstream (?:connect error|request timeout)|no healthy upstream|stream timeout"), "envoy"),
    (re.compile(r"litellm[.: ]"), "litellm"),
    (re.compile(r"cloudflare|^error code: 5\d\d"), "cloudflare"),
    (re.compile(r"(?:no server is available to handle|the server didn't respond in time)"), "haproxy"),
    (re.compile(r"<h1>|<html"), _A_PROXY),
)
_BODY_LIMIT = {
    "nginx": "Raise nginx's client_max_body_size (1 MB unless set; 200,000 token ids are 1.4 MB).",
    "envoy": "Raise Envoy's per_connection_buffer_limit_bytes, or the buffer filter's max_request_bytes.",
    "litellm": "Raise LiteLLM's max_request_size_mb.",
    "cloudflare": "Cloudflare limits request bodies by plan: ask the engine directly (--url of its own host).",
}
_DEADLINE = {
    "nginx": "Raise nginx's proxy_read_timeout (60 s unless set).",
    "envoy": "Raise the route's timeout in Envoy or Istio (15 s unless set).",
    "litellm": "Raise LiteLLM's request_timeout, and the model's timeout and stream_timeout.",
    "cloudflare": "Cloudflare ends requests after about 100 s: ask the engine directly (--url of its own host).",
    "awselb": "Raise the load balancer's idle timeout (60 s unless set).",
    "haproxy": "Raise HAProxy's timeout server.",
    "traefik": "Raise Traefik's responding and forwarding timeouts.",
}
_ADVICE = {
    "upstream-lost": "The proxy lost the engine: see the engine's own log, or point --health-url at the engine itself.",
    "broken": "The proxy failed itself: see its error log. If it hides the engine's: proxy_intercept_errors off.",
    "auth": "Give a valid key with --api-key or OPENAI_API_KEY.",
    "not-found": "Check --url (its path, with or without /v1) and --model.",
    "bad-request": "This route of the proxy takes no token ids: use its text-completion-openai/ route, or --mode text.",
}
_OWN_PAGES = {"nginx", "haproxy"}  # a 500 in HTML is theirs: engines err in JSON
_LOST_STATUS = {502, 503, 520, 521, 522, 523}
_LOST_WORDS = re.compile(r"upstream connect error|no healthy upstream|connection (?:error|refused|reset)|bad gateway")


def product(headers: Mapping[str, str], body: str = "") -> str | None:
    """Which proxy's hand is seen in a response, or None where there is no sign of one."""
    server = f"{headers.get('server', '')} {headers.get('via', '')}".lower()
    for name in _SERVERS:
        if name in server:
            return "nginx" if name == "openresty" else name
    if any(name.startswith("x-litellm") for name in headers):
        return "litellm"
    if any(name.startswith("x-envoy") for name in headers):
        return "envoy"
    if "cf-ray" in headers:
        return "cloudflare"
    return next((name for pattern, name in _BODIES if pattern.search(body.lower())), None)


def sign(reply: Reply) -> ProxySign | None:
    """The reply as somebody else's than the engine's, or None where nothing says so."""
    if reply.status is None or 200 <= reply.status < 300:
        return None
    words = reply.excerpt or (reply.error.message if reply.error else "")
    by = product(reply.headers, words)
    kind = _kind(reply, words.lower(), by)
    if kind is None:
        return None
    by = by or _A_PROXY
    return ProxySign(kind, by, _advice(kind, by, reply))


_BY_STATUS: dict[int, Kind] = {
    **dict.fromkeys((301, 302, 303, 307, 308), "redirect"),
    **dict.fromkeys((401, 403, 407), "auth"),
    **dict.fromkeys((404, 405), "not-found"),
    **dict.fromkeys((408, 504, 524), "deadline"),
}


def _kind(reply: Reply, words: str, by: str | None) -> Kind | None:
    """What kind of answer it is, or None where it may well be the engine's own."""
    if reply.status in _BY_STATUS:
        return _BY_STATUS[reply.status]
    if reply.status == 413 and (reply.error is None or "token" not in reply.error.message.lower()):
        return "body-limit"
    if by == "litellm" and "unmapped prompt format" in words:
        return "bad-request"
    lost = _LOST_WORDS.search(words) is not None
    if reply.status in _LOST_STATUS and (lost or (by is not None and reply.error is None)):
        return "upstream-lost"
    if reply.status == 500 and by == "litellm" and lost:
        return "upstream-lost"
    own_page = by in _OWN_PAGES and "<html" in words
    return "broken" if reply.status == 500 and own_page and reply.error is None else None


def _advice(kind: Kind, by: str, reply: Reply) -> str:
    match kind:
        case "body-limit":
            return _BODY_LIMIT.get(by, "Raise the proxy's limit on the size of a request body.")
        case "deadline":
            return _DEADLINE.get(by, "Raise the proxy's read timeout.")
        case "redirect":
            where = reply.headers.get("location", "").partition("?")[0].rpartition("@")[2]
            return f"Give {where or 'the address that it points to'} as --url: credentials never follow a redirect."
        case _:
            return _ADVICE[kind]

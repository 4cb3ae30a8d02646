"""Did the engine answer, or somebody in front of it? Pure: signs of proxies in a reply, with the setting to change."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from targets.base import Fault, ProxySign
from targets.bodies import visible
from targets.failures import names_breakage
from targets.overloads import overload
from targets.sizes import names_bytes, names_memory, names_tokens, setting
from targets.told import CLOCKS, told_status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from targets.base import ProxyKind, Reply, ServerError

_A_PROXY = "a proxy"
_A_QUEUE = "a job queue"
_SERVERS = (
    "nginx", "openresty", "envoy", "cloudflare", "awselb", "caddy", "haproxy", "traefik", "litellm", "varnish", "kong",
    "apisix", "microsoft-iis",
)  # fmt: skip
_BODIES = (
    (re.compile(r"<center>(?:nginx|openresty)"), "nginx"),
    (re.compile(r"upstream (?:connect error|request timeout)|no healthy upstream|stream timeout"), "envoy"),
    (re.compile(r"litellm[.: ]"), "litellm"),
    (re.compile(r"cloudflare|^error code: 5\d\d"), "cloudflare"),
    (re.compile(r"(?:no server is available to handle|the server didn't respond in time)"), "haproxy"),
    (re.compile(r"from primary with message|container primary"), "sagemaker"),
    (re.compile(r'^\s*\{\s*"message"\s*:\s*"request too long"\s*\}'), "aws"),
    (re.compile(r"for the (?:invokefunction operation|event invocation type)"), "aws"),
    (re.compile(r"<h1>|<html"), _A_PROXY),
)
_BODY_LIMIT = {
    "nginx": "Raise nginx's client_max_body_size (1 MB unless set; 200,000 token ids are 1.4 MB).",
    "envoy": "Raise Envoy's per_connection_buffer_limit_bytes, or the buffer filter's max_request_bytes.",
    "litellm": "Raise LiteLLM's max_request_size_mb.",
    "cloudflare": "Cloudflare limits request bodies by plan: ask the engine directly (--url of its own host).",
    "aws": "AWS sets that limit (API Gateway: 10 MB, Lambda: 6 MB): ask the engine itself by its own --url.",
    "microsoft-iis": "Raise IIS's maxAllowedContentLength.",
}
_DEADLINE = {
    "nginx": "Raise nginx's proxy_read_timeout (60 s unless set).",
    "envoy": "Raise the route's timeout in Envoy or Istio (15 s unless set).",
    "litellm": "Raise LiteLLM's request_timeout, and the model's timeout and stream_timeout.",
    "cloudflare": "Cloudflare ends requests after about 100 s: ask the engine directly (--url of its own host).",
    "awselb": "Raise the load balancer's idle timeout (60 s unless set).",
    "haproxy": "Raise HAProxy's timeout server.",
    "traefik": "Raise Traefik's responding and forwarding timeouts.",
    "sagemaker": "SageMaker ends invocations after 60 s, or later where they stream: ask the engine itself.",
    _A_QUEUE: "Let the queue wait for longer (RunPod: runsync's wait), or ask the engine itself by its own --url.",
}
_ADVICE = {
    "upstream-lost": "The proxy lost the engine: see the engine's own log, or point --health-url at the engine itself.",
    "broken": "The proxy failed itself: see its error log. If it hides the engine's: proxy_intercept_errors off.",
    "blocked": (
        "A filter or a firewall on the way refuses it, for its content or its size: try another --content, or ask the "
        "engine itself by its own --url."
    ),
    "auth": "Give a valid key with --api-key or OPENAI_API_KEY.",
    "not-found": "Check --url (its path, with or without /v1) and --model.",
    "bad-request": "This route of the proxy takes no token ids: use its text-completion-openai/ route, or --mode text.",
}
_OWN_PAGES = {"nginx", "haproxy"}  # a 500 in HTML is theirs: engines err in JSON
_LOST_BY_STATUS = {520, 521, 522, 523}  # no engine's
_LOST_WORDS = re.compile(
    r"upstream connect error|no healthy upstream|bad gateway|ring-balancer|backend fetch failed|no available server"
    r"|connection (?:error|refused|reset|terminat|closed|timed out)|(?:from|to|by) (?:the )?upstream"
    r"|upstream (?:prematurely|server|host|service|command)"
)
_PAGE = re.compile(r"<html|<h1>|<!doctype html|<center>")
# A 200 of whoever runs jobs: this one is not done yet, and its answer is to be fetched elsewhere (RunPod, Replicate).
_A_JOB = re.compile(r'"status"\s*:\s*"(?:in_progress|in_queue|queued|pending|running|processing|starting|timed_out)"')
_GAVE_UP_WORDS = re.compile(r"invocation timed out|timed out while waiting for a response")  # as a 424: SageMaker
# Whoever stops waiting for an engine says so, whatever status he gives that. Engines have clocks of their own inside.
_WAITED_WORDS = re.compile(
    r"(?:request|read|socket|response|upstream|gateway|operation|invocation|api|http|generation|inference|i/o|litellm\.)"
    r"(?: was| has)?[ _-]?tim(?:ed|e)[ _-]?out|tim(?:ed |e[ -]?)out (?:after|on|while|awaiting|waiting)\b"
    r"|deadline ?exceeded|client\.timeout exceeded"
)
_ENGINES_CLOCK = re.compile(
    r"\brpc call|collective|watchdog|execute_model|sample_tokens|\bworker|\brunner|engine|\brank\b|to (?:start|load)"
    r"|connect(?:ion|ing)? ?tim|dial tcp|prefill|decod|\bkv\b|scheduler|kernel|\bgpu\b"
)
_SHORTEST_WAIT_S = 1.0
_NOT_AT_THE_DOOR = {424, 429}  # an engine's error, and a wait
_FILTER_WORDS = re.compile(
    r"content.{0,20}(?:filter|polic)|guardrail|moderation|usage polic|safety (?:filter|polic|system)"
    r"|flagged (?:as|by|for)|jailbreak|prompt injection|web application firewall|\bwaf\b"
)
_BLOCKING_PAGE = re.compile(
    r"(?:url|request) (?:was |has been )?(?:rejected|blocked|denied)|request unsuccessful|incapsula|access denied"
    r"|support id|you have been blocked"
)


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
    if reply.status is None:
        return None
    words = reply.excerpt or (reply.error.message if reply.error else "")
    by = product(reply.headers, words)
    kind = _kind(reply, words.lower(), by)
    if kind is None:
        return None
    by = _A_QUEUE if kind == "deadline" and _tells_of_a_job(reply, words.lower()) else by or _A_PROXY
    return ProxySign(kind, by, _advice(kind, by, reply))


_BY_STATUS: dict[int, ProxyKind] = {
    **dict.fromkeys((301, 302, 303, 307, 308), "redirect"),
    **dict.fromkeys((401, 403, 407), "auth"),
    **dict.fromkeys((404, 405), "not-found"),
    **dict.fromkeys((202, 408, 504, 524), "deadline"),  # 202: fetch the answer elsewhere, later
}


def _kind(reply: Reply, words: str, by: str | None) -> ProxyKind | None:
    """What kind of answer it is, or None where it may well be the engine's own. The first that fits, decides."""
    status = told_status(reply) or 0
    if status >= 400 and overload(reply) is None and _measures_bodies(reply, words):
        return "body-limit"
    if (status in _BY_STATUS and not _is_an_engines_clock(reply)) or _gave_up(reply, words):
        return _BY_STATUS.get(status, "deadline")
    if by == "litellm" and "unmapped prompt format" in words:
        return "bad-request"
    if status < 500:
        return "blocked" if _is_blocked(reply, words) else None
    if _lost(reply, words, by):
        return "upstream-lost"
    own_page = by in _OWN_PAGES and "<html" in words
    return "broken" if status == 500 and own_page and reply.error is None else None


def _gave_up(reply: Reply, words: str) -> bool:
    """Did somebody stop waiting for the engine, with a status that says nothing of it?"""
    if reply.status == 424:
        return _GAVE_UP_WORDS.search(words) is not None
    failed = (reply.status or 0) >= 500 or reply.error_in_stream
    if failed and reply.ended_s >= _SHORTEST_WAIT_S and _WAITED_WORDS.search(words):
        return _ENGINES_CLOCK.search(words) is None and not names_breakage(words)
    return _tells_of_a_job(reply, words)


def _is_an_engines_clock(reply: Reply) -> bool:
    """Inside a stream engines number their own clocks as proxies do theirs."""
    inside = reply.status == 200 and reply.error is not None and told_status(reply) in CLOCKS
    return inside and reply.error is not None and _ENGINES_CLOCK.search(reply.error.message.lower()) is not None


def _tells_of_a_job(reply: Reply, words: str) -> bool:
    no_answer = reply.status == 200 and reply.fault is Fault.PROTOCOL and reply.events == 0
    return no_answer and '"id"' in words and _A_JOB.search(words) is not None


def _measures_bodies(reply: Reply, words: str) -> bool:
    """An engine's own words name tokens; who measures a body counts bytes."""
    said = reply.error.message.lower() if reply.error else visible(words)
    if names_memory(said):
        return False
    return names_bytes(said) or (told_status(reply) == 413 and not (reply.error is not None and names_tokens(said)))


def _is_blocked(reply: Reply, words: str) -> bool:
    """A page, or nothing at all, is nobody's refusal for length: engines refuse in words. A filter says what it is.

    Some firewalls send their page as a 200.
    """
    page = reply.error is None and _PAGE.search(words) is not None
    status = told_status(reply) or 0
    if status < 400:
        return page and reply.fault is Fault.PROTOCOL and _BLOCKING_PAGE.search(visible(words)) is not None
    if status in _NOT_AT_THE_DOOR:
        return False
    if reply.error is None:
        return page or not words.strip()
    return _FILTER_WORDS.search(_in_full(reply.error).lower()) is not None


def _in_full(error: ServerError) -> str:
    return f"{error.message} {error.type} {error.code}"


def _lost(reply: Reply, words: str, by: str | None) -> bool:
    """A 502 is a proxy's, unless it comes in an engine's shape; a 503 and LiteLLM's 500 only where more says so."""
    said_so = _LOST_WORDS.search(words) is not None
    match reply.status:
        case 502:
            return said_so or not is_engines_shape(reply.error)
        case 503:
            return said_so or (by is not None and reply.error is None)
        case 500:
            return said_so and by == "litellm"
        case status:
            return status in _LOST_BY_STATUS


def is_engines_shape(error: ServerError | None) -> bool:
    """Engines type their errors, or number them; proxies only say a message."""
    return error is not None and any(field is not None for field in (error.type, error.code, error.param))


def _advice(kind: ProxyKind, by: str, reply: Reply) -> str:
    match kind:
        case "body-limit":
            named = setting(_in_full(reply.error) if reply.error else visible(reply.excerpt))
            if named is not None:
                return f"Raise the limit on the size of a request body: {named}."
            return _BODY_LIMIT.get(by, "Raise the proxy's limit on the size of a request body.")
        case "deadline":
            return _DEADLINE.get(by, "Raise the proxy's read timeout.")
        case "redirect":
            where = reply.headers.get("location", "").partition("?")[0].rpartition("@")[2]
            return f"Give {where or 'the address that it points to'} as --url: credentials never follow a redirect."
        case _:
            return _ADVICE[kind]

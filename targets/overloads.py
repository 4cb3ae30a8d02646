"""Does an answer turn a request away because the engine is busy, and whose word is that? Pure.

Tolerant of wording, and strict about what else the words may say: who lost an engine, or has no memory left for a
request, asks to come back later too.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from targets import sizes
from targets.failures import names_breakage
from targets.refusals import names_a_rate, names_length, retry_after
from targets.told import numbered, told_status

if TYPE_CHECKING:
    from targets.base import Reply

_TURNING_AWAY = {429, 503, 529}
_ENVOYS = "x-envoy-overloaded"  # its own limit on requests was met
_BUSY_WORDS = re.compile(
    r"(?<![a-z])overload(?:ed|ing)?(?![a-z])|queue (?:is )?full|too many (?:requests|concurrent|connections)"
    r"|rate.?limit|max_num_queued|queued requests|reset reason: overflow"
    r"|(?:workers?|server|engine|instances?|replicas?|slots?) (?:is |are )?(?:all |currently )?busy"
)
_COME_BACK = re.compile(r"try (?:again )?later")  # no word of overload, unless a status says it too
# A bound on what waits or is at work, and that it is met: nobody says so of an engine that he lost. Words of tokens, of
# a size or of memory tell of other bounds.
_WAITING = r"(?:queue|backlog|concurren\w{1,4}|(?:concurrent|queued|pending|in-?flight|outstanding|running) requests?)"
_BOUND = r"(?:limit|capacity|maximum|size|length|depth)"
_MET = r"(?:reached|exceeded|hit|full)"
_QUEUE = re.compile(
    rf"back[ -]?pressure|num_queued_requests|(?:request|connection)s? limit (?:(?:is|was|has been) )?{_MET}"
    rf"|\b{_WAITING}(?: {_BOUND}){{0,2}} (?:(?:is|was|has been) )?{_MET}"
    rf"|(?:exceed(?:s|ed|ing)?|reached|hit)(?: [\w']{{1,12}}){{0,5}} {_WAITING}\b"
)
_CAPACITY = re.compile(r"resource[ _]?exhausted|(?:at|over) capacity|capacity (?:exceeded|reached)|exceed\w* capacity")
_NOT_BUSY = re.compile(
    r"loading model|no healthy upstream|unhealthy|is dead|upstream connect error(?!.{0,200}overflow)", re.DOTALL
)
_LOST = re.compile(r"connection (?:error|refused|reset|aborted|closed|terminat)|max retries|\bbad gateway\b")
# How a gateway says that it lets an engine alone for now, because that failed it. LiteLLM says the same of a rate: then
# its list of those in a cooldown is empty, or holds other models' alone.
_BREAKER = re.compile(r"circuits?[ _-]?(?:breaker|(?:(?:is|are|has|have been) )?open)", re.IGNORECASE)
_COOLDOWN = re.compile(
    r"no (?:available |healthy )?(?:deployment|backend|upstream|worker|instance|provider|endpoint|replica|target)s?\b"
    rf"|cool(?:ing|ed)?[ _-]?down|{_BREAKER.pattern}"
)
_WHO_COOLS = re.compile(r"cooldown_list=\[(.*)", re.DOTALL)


def overload(reply: Reply) -> float | None:
    """Seconds to wait (0 where the server names none) if it says that it is busy, else None.

    A plain 503 is no overload: it may be a mesh that lost the engine, or an engine that loads its model. Nor is a limit
    on bytes that has such a status, where no word is of overload or of a rate; nor an engine that broke, whose 429 may
    be a translation of its RESOURCE_EXHAUSTED. Whose word it is, `vouches` tells.
    """
    status, said, is_rate = turning_away(reply), _said(reply), names_a_rate(reply)
    if status is None or _NOT_BUSY.search(said) or (names_breakage(_words(reply)) and not is_rate):
        return None
    if sizes.names_bytes(said) and not (names_overload(reply) or is_rate):
        return None
    wait = named_wait_s(reply)
    if status != 503 or wait is not None or _is_of_a_mesh(reply) or names_overload(reply):
        return wait or 0.0
    return None


def turning_away(reply: Reply) -> int | None:
    """The status by which a request is turned away for now, or None.

    An error inside a 200 that bears no number is as good as a 503 where its words name an overload: a word, no more.
    """
    status, error = told_status(reply), reply.error
    if status == 200 and error is not None and reply.events == 0 and numbered(error) is None and _names_load(reply):
        return 503
    return status if status in _TURNING_AWAY else None


def named_wait_s(reply: Reply) -> float | None:
    """Seconds after which to come back, as its head names them; None where it does not. That of a 200 is none's."""
    return retry_after(reply.headers) if reply.status in _TURNING_AWAY else None


def names_overload(reply: Reply) -> bool:
    """Do the words name an overload, and neither a length nor a failure?"""
    if _names_load(reply):
        return True
    return _COME_BACK.search(_said(reply)) is not None and not _names_else(reply)


def in_cooldown(reply: Reply, deployment: str = "") -> bool:
    """Is it turned away by whoever lets the engine alone for now, because that failed him? Then it is no overload.

    `deployment` is the engine's name there; empty where it is not known: then whoever is let alone may be it.
    """
    said = _said(reply)
    if turning_away(reply) is None or not _COOLDOWN.search(said):
        return False
    if (listed := _WHO_COOLS.search(said)) is not None:
        return not listed[1].startswith("]") and deployment.lower() in listed[1]
    return not names_a_rate(reply)


def names_a_breaker(said: str) -> bool:
    """Do words name a circuit breaker? It counts whatever it takes for a failure; some count a refusal as one."""
    return _BREAKER.search(said) is not None


def vouches(reply: Reply, deployment: str = "") -> bool:
    """Is it an engine's own word of overload, or a limit's? A bare 503 may be how a gateway says that it lost one.

    Outside of JSON only a queue that is full is such a word.
    """
    if in_cooldown(reply, deployment):
        return False
    if turning_away(reply) != 503 or _is_of_a_mesh(reply):
        return True
    return names_overload(reply) and (reply.error is not None or _names_a_queue(reply))


def _names_load(reply: Reply) -> bool:
    words = _words(reply)
    is_full = _QUEUE.search(words) or _CAPACITY.search(words)
    named = _BUSY_WORDS.search(_said(reply)) or (is_full and not _measures(words))
    return bool(named) and not _names_else(reply)


def _names_a_queue(reply: Reply) -> bool:
    """By plain words: a page is nobody's."""
    words = _words(reply)
    return _QUEUE.search(words) is not None and not _measures(words) and not words.lstrip().startswith("<")


def _measures(words: str) -> bool:
    """Tokens, bytes or memory: not what waits."""
    return sizes.names_tokens(words) or sizes.names_bytes(words) or sizes.names_memory(words)


def _names_else(reply: Reply) -> bool:
    """A failure of the machine, an engine that was lost, or a length."""
    words = _words(reply)
    return names_breakage(words) or names_length(words) or _LOST.search(words) is not None


def _is_of_a_mesh(reply: Reply) -> bool:
    return reply.status == 503 and _ENVOYS in reply.headers


def _words(reply: Reply) -> str:
    return (reply.error.message if reply.error else reply.excerpt).lower()


def _said(reply: Reply) -> str:
    """All that it says. What a 200 holds beside its error may be what was generated."""
    error = reply.error
    if reply.status == 200:
        return "" if error is None else f"{error.message}\n{error.type}\n{error.code}".lower()
    return f"{error.message if error else ''}\n{reply.excerpt}".lower()

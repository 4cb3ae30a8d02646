"""Of what do an answer's words speak: of a death, of a failure of the machine, of a length? PURE.

Words are claims and no proof: they decide only where nothing that was measured does. Each table stands here once.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from targets.bodies import visible

if TYPE_CHECKING:
    from targets.base import Reply

SHOWN_CHARS = 160
_WHO = (
    r"(?:engine(?:\s{0,3}core)?|runner|worker|actor|replica|model|server|backend|child|subprocess|process|stub|scheduler"
    r"|executor|container|pod)"
)
_HAS = r"(?:\s{1,3}(?:is|was|has|had|have|been)){0,2}"
_GONE = r"(?:dead|died|crashed|exited|terminated|killed|no longer running|unexpectedly\s{1,3}(?:stop|exit|terminat))"
# Engines, and what runs them, that announce a death.
_LAST_WORDS = re.compile(
    rf"EngineCore encountered|EngineDead|\b{_WHO}(?:\s{{1,3}}(?:process|loop))?{_HAS}\s{{1,3}}{_GONE}"
    r"|stub process.{0,80}not healthy|cuda\s*error|illegal memory access|device-side assert|cb_worker_dead",
    re.IGNORECASE | re.DOTALL,
)
# A proxy's words for it, or its library's. They say the same of an engine that is not there yet.
_LOST_UPSTREAM = re.compile(
    r"upstream connect error.{0,120}(?:connection termination|remote connection failure|connection refused)"
    r"|connection (?:error|aborted|refused|reset|broken)|connection ?(?:aborted|refused|reset) ?error"
    r"|remote ?disconnected|(?:remote end|server|peer) (?:disconnected|hung up|closed (?:the )?connection)"
    r"|remote server .{0,80} closed|socket hang up|econn(?:refused|reset)|max retries exceeded"
    r"|all connection attempts failed|incomplete (?:chunked )?read|error reading from server"
    r"|(?:\"http[^\"]{0,160}\"|running the model): (?:unexpected )?eof\b"
    r"|(?:code = |statuscode\.)unavailable.{0,200}(?:eof|connection|socket|transport|reset|closed)",
    re.IGNORECASE | re.DOTALL,
)
# What no refusal says: the machine failed, and whoever hid it behind a 4xx did not look.
_FAILURE = re.compile(
    r"out of (?:gpu |device |host |system )?memory|\boom\b|(?:insufficient|not enough) memory|allocat\w* fail"
    r"|fail\w* to allocate|cannot allocate|\bcuda|\bhip\b|\brocm\b|\bnccl\b|\bcublas|\bcudnn|device[- ]side"
    r"|crash|\bexit(?:ed| code)\b|\bterminated\b|\bkilled\b|\bdied\b|\bdead\b|segfault|segmentation fault|core dumped"
    r"|\bassert|\bexception\b|traceback|runtime ?error|internal[ _]?(?:server|engine)?[ _]?error"
    r"|\bnan\b|\binf(?:inity)?\b|non-?finite",
    re.IGNORECASE,
)
# How a router says that no engine is registered for the model, or that it sleeps.
_NOBODY = re.compile(
    r"model.{0,80}(?:not found|does not exist)|\bsleeping\b"
    r"|no (?:available |healthy )?(?:workers?|backends?|instances?)\b",
    re.IGNORECASE | re.DOTALL,
)
# Far looser than a wording that is known to refuse: enough to believe a refusal below an advertised limit.
_LENGTH = re.compile(
    r"too (?:big|long|large|many)|exceed|(?:long|larg|bigg|great)er than|maximum|\bmax|limit|context|length|overflow"
    r"|reduce|shorten|truncat|does not fit",
    re.IGNORECASE,
)
# What engines count, and no proxy does.
_TOKENS = re.compile(r"token|context|prompt|too long|\binput|sequence|seq_len|model_len", re.IGNORECASE)


def words(reply: Reply) -> str:
    """What the server said, as a reader sees it: bounded, on one line, without markup. Empty where it said nothing."""
    said = reply.error.message if reply.error else (reply.fault_text or visible(reply.excerpt))
    return " ".join(said.split())[:SHOWN_CHARS]


def says_dead(reply: Reply) -> bool:
    """True where the answer's own words, or a proxy's, claim that the engine is dead."""
    said = _all_words(reply)
    return announces_death(said) or bool(_LOST_UPSTREAM.search(said))


def announces_death(said: str) -> bool:
    """True where an engine's own words claim that it is dead."""
    return bool(_LAST_WORDS.search(said))


def names_nobody(said: str) -> bool:
    """True where words say that no engine is there for the model."""
    return bool(_NOBODY.search(said))


def tells_of_failure(said: str) -> bool:
    """True where words name a failure of the machine, a death among them."""
    return bool(_FAILURE.search(said) or _LAST_WORDS.search(said) or _LOST_UPSTREAM.search(said))


def refuses_by_failure(reply: Reply) -> bool:
    """True where an answer, whatever its status, is about a failure of the machine."""
    kind = (reply.error.type if reply.error else None) or ""
    return tells_of_failure(f"{_all_words(reply)} {kind}")


def tells_of_length(reply: Reply) -> bool:
    """True where the words may well be about a length."""
    return bool(_LENGTH.search(_all_words(reply)))


def tells_of_tokens(reply: Reply) -> bool:
    """True where the words name tokens, or what holds them."""
    return bool(_TOKENS.search(_all_words(reply)))


def _all_words(reply: Reply) -> str:
    return reply.error.message if reply.error else reply.excerpt

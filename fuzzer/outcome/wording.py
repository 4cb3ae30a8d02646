"""Of what do an answer's words speak: of a death, of a failure of the machine, of a length? PURE.

Words are claims and no proof: they decide only where nothing that was measured does. Each table stands here once.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from targets.bodies import visible
from targets.failures import announces_death, gives_up, is_short_of_memory, names_breakage
from targets.proxies import is_engines_shape
from targets.sizes import LEAST_LIMIT

if TYPE_CHECKING:
    from targets.base import Reply

SHOWN_CHARS = 160
# A proxy's words for it, or its library's. They say the same of an engine that is not there yet.
_LOST_UPSTREAM = re.compile(
    r"upstream connect error.{0,120}(?:connection termination|remote connection failure|connection refused)"
    r"|connection (?:error|aborted|refused|reset|broken)|connection ?(?:aborted|refused|reset) ?error"
    r"|connection (?:was |has been )?(?:(?:forcibly|prematurely|unexpectedly) )?(?:closed|lost|terminated)\b"
    r"|remote ?disconnected|(?:remote end|server|peer) (?:disconnected|hung up|closed (?:the )?connection)"
    r"|other side closed|remote server .{0,80} closed|socket hang up|econn(?:refused|reset)|max retries exceeded"
    r"|all connection attempts failed|incomplete ?(?:chunked ?)?(?:read|message)\b|error reading from server"
    r"|broken pipe|\bepipe\b|channel (?:error|closed)\b|(?:response )?payload is not completed"
    r"|error decoding response body|premature (?:eof|close|end of)|(?:stream|response) ended before"
    r"|(?:fail\w*|error|unable|could ?n[o']t|cannot)(?: to)? (?:connect to|reach|send\w* (?:the )?request)"
    r"|\bno responders\b|no instances found|do[ _]request[ _]failed|fetch failed|i/o error on [a-z]{3,7} request"
    r"|\bbad gateway\b|transport is closing"
    r"|(?:\"http[^\"]{0,160}\"|running the model): (?:unexpected )?eof\b"
    r"|(?:code = |statuscode\.)unavailable.{0,200}(?:eof|connection|socket|transport|reset|closed)",
    re.IGNORECASE | re.DOTALL,
)
# What may be a failure of the machine, and whoever hid it behind a 4xx did not look.
_FAILURE = re.compile(
    r"\bexit(?:ed| code)\b|\bterminated\b|\bkilled\b|\bdied\b|\bdead\b|\bassert|\bexception\b|traceback|runtime ?error"
    r"|index out of|internal[ _]?(?:server|engine)?[ _]?error|\bnan\b|\binf(?:inity)?\b|non-?finite"
    r"|\bshapes?\b|size of tensor|broadcast|dimension|\bret = -|attempting to allocat|(?:input/output|\bi/o) error"
    r"|context cancell?ed|recursion|stack overflow|\b(?:type|index|key|attribute|assertion|os) ?error\b"
    r"|fail\w* to (?:decode|eval|run|execute|launch|load|process the batch)",
    re.IGNORECASE,
)
# How a router says that no engine is registered for the model, or that it sleeps.
_NOBODY = re.compile(
    r"model.{0,80}(?:not found|does not exist)|\bsleeping\b"
    r"|no (?:available |healthy )?(?:workers?|backends?|instances?)\b",
    re.IGNORECASE | re.DOTALL,
)
# How whoever has no such model, route or page says so.
_MISSING = re.compile(
    r"not[ _-]{0,2}found|(?:does not|doesn'?t) exist|no such"
    r"|no (?:\w{1,20} ){0,3}(?:found|match|route|endpoint|deployment)"
    r"|unknown (?:model|route|path|url|endpoint|deployment)|cannot (?:post|find)|could not find|invalid url"
    r"|unrecognized request",
    re.IGNORECASE,
)
# Far looser than a wording that is known to refuse: enough to believe a refusal, in more languages than one.
_LENGTH = re.compile(
    r"too[ _](?:big|long|large|many)|exceed|(?:long|larg|bigg|great)er than|maximum|\bmax|limit|context|length|overflow"
    r"|reduce|shorten|truncat|(?:does not|doesn'?t) fit|at most|(?:no more|fewer|less) than"
    r"|zu (?:lang|groß|viele)|länge|überschr|trop (?:long|de )|longueur|dépass|demasiad[oa]|longitud|supera|excede"
    r"|troppo|lunghezza|muito long|comprimento|слишком|длин|превы"
    r"|长度|過長|过长|太长|太長|超出|超过|超過|超え|上限|上下文|長す|長さ|길이|초과|너무",
    re.IGNORECASE,
)
# An error that says no more than that.
_ERRS = re.compile(r"\W*(?:(?:internal|unknown|server|service|error|failure|unavailable)\W*){0,4}", re.IGNORECASE)
# What engines count, and no proxy does.
_TOKENS = re.compile(
    r"token|context|prompt|too long|\binput|sequence|seq_len|model_len|トークン|토큰|токен|上下文", re.IGNORECASE
)
_NUMBER = re.compile(r"(?<!\d)\d{1,12}(?!\d)")


def words(reply: Reply) -> str:
    """What the server said, as a reader sees it: bounded, on one line, without markup. Empty where it said nothing."""
    said = reply.error.message if reply.error else (reply.fault_text or visible(reply.excerpt))
    return " ".join(said.split())[:SHOWN_CHARS]


def says_dead(reply: Reply) -> bool:
    """True where the answer's own words, or a proxy's, claim that the engine is dead."""
    said = _all_words(reply)
    return announces_death(said) or bool(_LOST_UPSTREAM.search(said))


def is_of_its_own(reply: Reply) -> bool:
    """True where whoever generates tells of its own failure, and nobody relays one: by its shape, or by its words.

    Of its memory only in JSON: pages are a proxy's.
    """
    error = reply.error
    short = error is not None and is_short_of_memory(error.message)
    return short or is_engines_shape(error) or gives_up(words(reply))


def names_nobody(said: str) -> bool:
    """True where words say that no engine is there for the model."""
    return bool(_NOBODY.search(said))


def names_missing(reply: Reply) -> bool:
    """True where an answer says that something is not there: a model, a route, a page."""
    return bool(_MISSING.search(visible(_all_words(reply))))


def tells_of_failure(said: str) -> bool:
    """True where words name a failure of the machine, a death among them."""
    return names_breakage(said) or bool(_FAILURE.search(said) or _LOST_UPSTREAM.search(said))


def refuses_by_failure(reply: Reply) -> bool:
    """True where an answer, whatever its status, is about a failure of the machine."""
    kind = (reply.error.type if reply.error else None) or ""
    return tells_of_failure(f"{_all_words(reply)} {kind}")


def is_in_nobodys_words(reply: Reply) -> bool:
    """True of an error that says no more than that it is one: whose it is, nobody can tell."""
    return reply.error is None or _ERRS.fullmatch(_all_words(reply)) is not None


def tells_of_length(reply: Reply) -> bool:
    """True where the words may well be about a length."""
    return bool(_LENGTH.search(_all_words(reply)))


def tells_of_tokens(reply: Reply) -> bool:
    """True where the words name tokens, or what holds them."""
    return bool(_TOKENS.search(_all_words(reply)))


def names_one_of(reply: Reply, counts: set[int]) -> bool:
    """True where the words name one of these numbers and a lower one, in whatever language: whoever counted a request
    held it against a limit.
    """
    named = {int(number) for number in _NUMBER.findall(_all_words(reply))}
    return any(LEAST_LIMIT <= number < count for count in counts & named for number in named)


def _all_words(reply: Reply) -> str:
    return reply.error.message if reply.error else reply.excerpt

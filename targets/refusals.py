"""Which kind of "no" is this answer: refused for its length, or turned away because the engine is busy? Pure.

Tolerant of wording, for engines and versions that nobody listed here; strict about shape: only an error that the
server put in JSON counts, so that a proxy's HTML never passes for an engine's limit.
"""

from __future__ import annotations

import math
import re
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from targets.base import Refusal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from targets.base import Reply

_REFUSING = {400, 413, 422}
_CODES = {
    "context_length_exceeded",  # OpenAI, LMDeploy
    "exceed_context_size_error",  # llama.cpp
    "contextwindowexceedederror",  # LiteLLM
}
_PARAMS = {"input_tokens", "input_text"}  # vLLM 0.3x

# What a message says when it refuses for length. The gaps are bounded, so that no message can make these slow.
_MAX = r"(?:max|limit|allowed|max_model_len|max_seq_len|max_num_tokens)"
_CONTEXT = r"context[ _]?(?:length|window|size)"
_TEXT = r"(?:prompt|inputs?|request|query|sequence|messages?|tokens?)"
_OUTPUT = r"max_(?:completion_|new_)?tokens"
_WORDINGS = tuple(
    re.compile(pattern)
    for pattern in (
        r"context[ _-]?window[ _-]?exceeded",
        rf"(?:maximum|max|available|model'?s?|loaded) {_CONTEXT}",
        rf"(?:exceed|longer|larger|greater|too (?:long|large)|beyond|overflow|not fit).{{0,80}}{_CONTEXT}",
        rf"{_CONTEXT}.{{0,80}}(?:exceed|too (?:small|long)|overflow|not enough)",
        rf"{_TEXT}.{{0,60}}too (?:long|large).{{0,120}}token",
        rf"{_TEXT} (?:is |are )?too long",
        rf"{_TEXT}.{{0,100}}(?:exceed|(?:longer|larger|greater) than).{{0,60}}{_MAX}",
        rf"{_OUTPUT}`? must be <=",  # TGI, alone or as `inputs` tokens + `max_new_tokens`
        rf"{_TEXT}`? must have (?:less|fewer) than \d+ tokens",
        r"range of input length should be",  # DashScope
        r"should not exceed max_(?:num_tokens|seq_len|input_len|model_len)",
        rf"{_OUTPUT}.{{0,40}}(?:cannot be greater than|exceeds?|too large).{{0,60}}(?:max_model_len|context|model)",
        # vLLM 0.3x at prompt = limit: what it computes for the output is nothing. We never ask for nothing.
        rf"{_OUTPUT} must be (?:at least 1|greater than 0), got (?:0|-\d+)",
    )
)
# What sounds like length and is not: rates, budgets, a batch size, characters of another field.
_RATE = r"per (?:minute|second|hour|day)|rate.?limit|\btpm\b|quota"
_VETO = re.compile(rf"{_RATE}|\bbytes\b|\bbody\b|physical batch size|vocabulary")
_RATES = re.compile(_RATE)
_CHARACTERS = re.compile(
    r"\b\d[\d,]{0,12} char(?:acter)?(?:s|\(s\))?\b|too many characters|max(?:imum)? (?:number of )?characters"
    r"|string(?: is |[ _])too[ _]long|string_above_max_length|any_str\.max_length"
)

_N = r"(\d[\d,]{0,12})(?!\d|\.\d)"
_LIMITS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"context[ _]?(?:length|window|size)(?: of)?(?: is)?(?: only)?(?: of)?[ :=]{{0,3}}\(?{_N}",
        rf"max_(?:model_len|seq_len|num_tokens|total_tokens|input_len)[ =:]{{0,3}}\(?{_N}",
        rf"must be <= {_N}",
        rf"must have (?:less|fewer) than {_N}",
        rf"(?:maximum|allowed) (?:model |input |sequence |prompt )?(?:length|tokens)[a-z ]{{0,24}}\(?{_N}",
        rf"exceeds? (?:the )?limit of {_N}",
        rf"maximum number of tokens allowed \(?{_N}",
        rf"> {_N} maximum",
        rf"length should be \[\d{{1,6}}, ?{_N}\]",
        rf"{_N} maximum context",
    )
)
_N_CTX = re.compile(rf'"n_ctx"\s*:\s*{_N}')


def refusal(reply: Reply) -> Refusal | None:
    """The reply as a refusal for its length, or None. A 200 counts where it holds an error before any token."""
    error = reply.error
    if error is None or reply.events > 0 or (reply.status not in _REFUSING and reply.status != 200):
        return None
    words = error.message.lower()
    named = {str(error.code).lower(), str(error.type).lower()} & _CODES or str(error.param) in _PARAMS
    if (
        _VETO.search(words)
        or names_characters(reply)
        or not (named or any(pattern.search(words) for pattern in _WORDINGS))
    ):
        return None
    return Refusal(error.message, _limit(words, reply.excerpt))


def _limit(words: str, excerpt: str) -> int | None:
    found = _N_CTX.search(excerpt)
    for pattern in _LIMITS:
        found = found or pattern.search(words)
    value = int(found[1].replace(",", "")) if found else 0
    return value if 0 < value < 1 << 40 else None


_BUSY_WORDS = re.compile(
    r"overload|queue (?:is )?full|too many (?:requests|concurrent)|at capacity|capacity (?:exceeded|reached)"
    r"|exceed\w* capacity|server (?:is )?busy|try again later|rate.?limit|max_num_queued|queued requests"
    r"|reset reason: overflow"
)
_NOT_BUSY = re.compile(
    r"loading model|no healthy upstream|unhealthy|is dead|upstream connect error(?!.{0,200}overflow)", re.DOTALL
)


def overload(reply: Reply) -> float | None:
    """Seconds to wait (0 where the server names none) if it says that it is busy, else None.

    A plain 503 is no overload: it may be a mesh that lost the engine, or an engine that loads its model.
    """
    wait = retry_after(reply.headers)
    if reply.status in {429, 529}:
        return wait or 0.0
    if reply.status != 503:
        return None
    if _NOT_BUSY.search(_said(reply)):
        return None
    if wait is not None or "x-envoy-overloaded" in reply.headers or names_overload(reply):
        return wait or 0.0
    return None


def names_overload(reply: Reply) -> bool:
    """Do the words name an overload?"""
    return bool(_BUSY_WORDS.search(_said(reply)))


def names_a_rate(reply: Reply) -> bool:
    """Are the words about so many tokens in so much time? That is nobody's context."""
    return bool(_RATES.search(_said(reply)))


def names_characters(reply: Reply) -> bool:
    """Are the words about a number of characters, and not about the tokens that they may stand for?"""
    error = reply.error
    said = (f"{error.message} {error.type} {error.code}" if error else reply.excerpt).lower()
    return _CHARACTERS.search(said) is not None and "token" not in said


def _said(reply: Reply) -> str:
    return f"{reply.error.message if reply.error else ''}\n{reply.excerpt}".lower()


def retry_after(headers: Mapping[str, str]) -> float | None:
    """`Retry-After` in seconds: a number, or a date against the response's own Date; None where there is neither."""
    value = headers.get("retry-after", "").strip()
    try:
        seconds = float(value)
    except ValueError:
        seconds = _until(value, headers.get("date", ""))
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _until(date: str, now: str) -> float:
    try:
        return (parsedate_to_datetime(date) - parsedate_to_datetime(now)).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return math.nan

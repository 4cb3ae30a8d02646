"""Is this answer a refusal for its length, or of what else does a "no" speak? Pure.

Tolerant of wording, for engines and versions that nobody listed here; strict about shape: only an error that the
server put in JSON counts, so that a proxy's HTML never passes for an engine's limit.
"""

from __future__ import annotations

import math
import re
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from targets import sizes
from targets.base import Refusal
from targets.failures import names_breakage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from targets.base import Reply, ServerError

_REFUSING = {200, 400, 413, 422}
_REFUSING_TOKENS = {403, 417}  # Together, LightLLM: a refusal where the words name tokens
_FAILING = 500  # LocalAI, of its llama.cpp: a refusal where they name the limit too, and the engine is well after it
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
        rf"{_TEXT}(?: text)? (?:is |are )?too long",
        r"tokens? len(?:gth)? is too long|tokens? len(?:gth)? .{0,60} > \d",  # LightLLM
        r"sequence length is (?:greater|longer|larger) than \d",  # mistral.rs
        r"maximum (?:prompt|input) length is \d",  # xAI
        rf"tokens in the {_TEXT} cannot exceed \d",  # Cohere
        rf"{_TEXT}.{{0,80}}must be (?:less|smaller|fewer) than.{{0,40}}(?:{_MAX}|{_CONTEXT})",  # Together, SiliconFlow
        r"input_length_error",  # LMDeploy
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
# What sounds like length and is not: rates, budgets, a batch size.
_RATE = r"per (?:minute|second|hour|day)|rate.?limit|\btpm\b|quota|\b(?:budget|credits?|balance|billing)\b"
_VETO = re.compile(rf"{_RATE}|\bbytes\b|\bbody\b|physical batch size|vocabulary")
_RATES = re.compile(_RATE)

# A limit, its thousands set apart or not. What is greater than another number is none, and a rounded one ("128k": is it
# 128,000, or 131,072?) tells none.
_THOUSANDS = r"\d{1,3}(?:[ _'\u2019\u00a0\u2009\u202f]\d{3}){1,4}"
_N = rf"({_THOUSANDS}|\d[\d,]{{0,12}})(?!\d|\.\d| ?> ?\d| ?(?:k|m|thousand|million)\b)"
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
        rf"context[ _]?(?:length|window|size)[a-z ]{{1,40}}\({_N}",
        rf"(?:cannot exceed|length is (?:greater|longer|larger) than) {_N}",
        rf" \+ (?:{_OUTPUT} )?\d{{1,9}} > {_N}",
    )
)
_N_CTX = re.compile(rf'"n_ctx"\s*:\s*{_N}')


def refusal(reply: Reply) -> Refusal | None:
    """The reply as a refusal for its length, or None. A 200 counts where it holds an error before any token."""
    error = reply.error
    if error is None or reply.events > 0:
        return None
    words = error.message.lower()
    if _is_vetoed(words) or names_characters(reply) or not (bears_a_code(error) or names_length(words)):
        return None
    refused = Refusal(error.message, _limit(words, reply.excerpt))
    return refused if _may_refuse(reply.status, words, refused.limit) else None


def bears_a_code(error: ServerError) -> bool:
    """Does it bear a code by which engines refuse for a length, or the name of what is too long?"""
    return bool({str(error.code).lower(), str(error.type).lower()} & _CODES) or str(error.param) in _PARAMS


def names_length(words: str) -> bool:
    """Do the words refuse for a length, as engines word it? Who only names a request measures its bytes."""
    said = words.lower()
    if not sizes.names_tokens(said) or sizes.names_bytes(said) or _is_vetoed(said):
        return False
    return any(pattern.search(said) for pattern in _WORDINGS)


def _is_vetoed(words: str) -> bool:
    return bool(_VETO.search(words)) or names_breakage(words)


def _may_refuse(status: int | None, words: str, limit: int | None) -> bool:
    """Is it a status of refusals? Those of doors and of failures are where the words leave no doubt."""
    if status in _REFUSING:
        return True
    return "token" in words and (status in _REFUSING_TOKENS or (status == _FAILING and limit is not None))


def _limit(words: str, excerpt: str) -> int | None:
    found = _N_CTX.search(excerpt)
    for pattern in _LIMITS:
        found = found or pattern.search(words)
    value = int(re.sub(r"\D", "", found[1])) if found else 0
    return value if 0 < value < 1 << 40 else None


def names_a_rate(reply: Reply) -> bool:
    """Are the words about so many tokens in so much time? That is nobody's context."""
    return bool(_RATES.search(_said(reply)))


def names_characters(reply: Reply) -> bool:
    """Are the words about a number of characters, and not about the tokens that they may stand for?"""
    error = reply.error
    return sizes.names_characters(f"{error.message} {error.type} {error.code}" if error else reply.excerpt)


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

"""Do words measure a request in bytes, or a text in characters, and whose setting is that? PURE.

An engine measures in tokens, and says so. Words that name these are about no size.
"""

from __future__ import annotations

import re

_TOKENS = re.compile(r"token|context|prompt|input|sequence|max_(?:model|seq)_len|max_(?:total|position)")
_BYTES = re.compile(
    r"max(?:imum)? bytes to buffer|buffer the request body|body (?:size )?limit|exceeds the capacity limit"
    r"|(?:payload|entity|body|content[ -]length|request size)(?: size| length)?(?: is| was)? (?:too large|exceed)"
    r"|(?:payload|entity|body)[^.]{0,30} size limit|payload content length|maximum payload|content-length too long"
    r"|at 'body' failed to satisfy"
    r"|(?:pars|read|decod)[^.]{0,20} (?:request )?body[^.]{0,20}(?:eof|limit|large)"
    r"|(?:larger|bigger|longer|greater|exceed|limit|maximum|too (?:large|big|long))[^.]{0,80}\bbytes\b"
    r"|\bbytes\b[^.]{0,80}(?:larger|exceed|limit|maximum|too (?:large|big|long))"
    r"|(?:exceed|larger than|bigger than)[^.]{0,60}\b(?:body|payload|entity|content[ -]length)\b"
)
_UNITS = re.compile(r"\b\d[\d.,]{0,9} ?[kmg]i?b\b")
# The whole of what was sent: it may be measured in tokens all the same, by whoever says so.
_WHOLE = re.compile(
    r"\brequest (?:is |was )?too (?:large|big|long)|\brequest exceeds the maximum size|request was larger than"
    r"|\bmessage (?:size )?(?:larger than|exceeds) (?:the )?max|form is larger than|member must have length"
)
_CHARACTERS = re.compile(
    r"\b(?:\d[\d,]{0,12}|0x[0-9a-f]{1,16}) (?:char(?:acter)?(?:s|\(s\))?|runes)\b"
    r"|too many characters|max(?:imum)? (?:number of )?characters"
    r"|string(?: is |[ _])too[ _]long|string_above_max_length|any_str\.max_length"
    r"|\bstring (?:value )?length\b|streamreadconstraints|expected string to|string[^.]{0,40} maximum length"
)
_SETTINGS = tuple(
    (re.compile(pattern), name)
    for pattern, name in (
        (
            r"message (?:length |size )?(?:larger than|exceeds|too large)",
            "gRPC's max_receive_message_length (4 MB unless set)",
        ),
        (
            r"streamreadconstraints|\bstring length \(\d",
            "Jackson's StreamReadConstraints.maxStringLength (20,000,000 unless set)",
        ),
        (r"payload content length", "hapi's payload.maxBytes (1 MB unless set)"),
        (r"http: request body too large", "the http.MaxBytesReader of whoever is written in Go"),
        (r"payloadtoolargeerror|entity\.too\.large", "limit of express's body-parser (100 kB unless set)"),
        (r"payload too large: request body is too large", "Fastify's bodyLimit (1 MB unless set)"),
        (r"^body exceeded \w{1,12} limit", "sizeLimit of Next.js's bodyParser (1 MB unless set)"),
        (r"data_upload_max", "Django's DATA_UPLOAD_MAX_MEMORY_SIZE (2.5 MB unless set)"),
        (r"the data value transmitted", "Flask's MAX_CONTENT_LENGTH"),
        (r"maximum request body size \d{1,12} exceeded", "aiohttp's client_max_size (1 MB unless set)"),
        (r"length limit exceeded", "axum's DefaultBodyLimit (2 MB unless set)"),
        (r"json payload \(\d|payload reached size limit", "limit of actix's JsonConfig or PayloadConfig"),
        (r"the max request body size is", "Kestrel's MaxRequestBodySize (30 MB unless set)"),
        (r"max bytes to buffer", "Spring's spring.codec.max-in-memory-size (256 kB unless set)"),
        (r"request size limit exceeded", "allowed_payload_size of Kong's request-size-limiting"),
    )
)
LEAST_LIMIT = 16  # tokens: what is lower is a count of something else
_NUMBER = re.compile(r"(?<![\w.])(?:\d{1,3}(?:,\d{3}){1,4}|\d{1,12})(?!\w|\.\d)")
_COMPARES = re.compile(r"exceed|(?:larg|great|long|bigg)er|over|above|max|limit|allowed|at most|>|\bvs\b")
_TOO_MUCH = re.compile(rf"too (?:large|big|long)|{_COMPARES.pattern}")
_MEMORY = re.compile(r"alloc|(?<!max_)memory|cuda|\bhip\b|\bkv\b|\bv?ram\b|\bgpu\b|\bdevice\b")
_ENGINES = re.compile(r"token|context|max_\w{0,20}(?:len|position)|positions\b")  # what no limit on bytes is called


def names_tokens(said: str) -> bool:
    """Do they name what engines count, or what holds it?"""
    return _TOKENS.search(said.lower()) is not None


def names_bytes(said: str) -> bool:
    """Do they name the size of a request in bytes, and not the tokens in it?"""
    words = said.lower()
    if "token" in words or names_memory(words):
        return False
    return _counts_bytes(words) or (_WHOLE.search(words) is not None and not names_tokens(words))


def names_only_the_whole(said: str, tokens: int) -> bool:
    """Do they call a request too long, by no part, no unit and no number that is beyond so many tokens?

    Then they may be an engine's as well as a proxy's.
    """
    words = said.lower()
    return names_bytes(words) and not _counts_bytes(words) and min(_numbers(words), default=0) <= tokens


def _counts_bytes(words: str) -> bool:
    in_units = _TOO_MUCH.search(words) is not None and _UNITS.search(words) is not None
    return in_units or _BYTES.search(words) is not None


def names_memory(said: str) -> bool:
    """Do they name what an engine holds a request in? Its size is none of the request."""
    return _MEMORY.search(said.lower()) is not None


def names_characters(said: str) -> bool:
    """Do they name a number of characters, and not the tokens that these may stand for?"""
    words = said.lower()
    return _CHARACTERS.search(words) is not None and "token" not in words


def outgrows(said: str, tokens: int, limit: int | None = None) -> bool:
    """Do they hold a number against a limit, and are both greater than so many tokens? Then they count no tokens.

    Unless one of them is the `limit` on tokens that is advertised.
    """
    words = said.lower()
    if _COMPARES.search(words) is None or _ENGINES.search(words) is not None:
        return False
    named = _numbers(words)
    return len(named) > 1 and min(named) > tokens and limit not in named


def _numbers(words: str) -> set[int]:
    return {number for found in _NUMBER.findall(words) if (number := int(found.replace(",", ""))) >= LEAST_LIMIT}


def setting(said: str) -> str | None:
    """What to raise, and how much it is unless set; None where the words do not show whose limit it is."""
    words = said.strip().lower()
    return next((name for pattern, name in _SETTINGS if pattern.search(words)), None)

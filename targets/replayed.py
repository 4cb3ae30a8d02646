"""Did a response cache answer, in the place of an engine that was not asked? Pure: its own headers say so.

It gives a whole answer again, counts included, to whoever asks the same, or much the same. That is no prefix cache.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from targets.base import Reply

_ON_HITS_ALONE = "x-litellm-cache-key"
_STATUS = re.compile(r"(?:[a-z0-9]+-){0,3}cache(?:-status|-hit)?")
_OF_SOMETHING_ELSE = re.compile(
    r"(?:^|-)(?:prompt|prefix|kv|radix|blocks?|tokens?|tokenizer|context|model|adapter|lora|encoder|embeddings?|image|mm"
    r"|auth|keys?|jwt|session|dns|tls|template|grammar|config|policy)-"
)
_HIT = re.compile(r"(?<![a-z0-9])(?<!no[- ])(?<!not[- ])hit(?![a-z0-9]|=\?0|[- ]for[- ])")  # a hit for a pass is none
_YES = {"true", "1", "yes"}
_AGE = "age"
_AGE_SLACK_S = 2.0  # ages are whole seconds, and clocks differ
_ASKING_NOT_TO = {
    "x-portkey-cache-status": "x-portkey-cache-force-refresh: true",
    "cf-aig-cache-status": "cf-aig-skip-cache: true",
}
_OFF = (
    "switch the response cache off, or ask the engine itself by its own --url; where the same --seed was asked here "
    "before, give another one, or none"
)


def replayed(reply: Reply) -> str | None:
    """How a cache says that this answer is one that it gave before, or None where none does."""
    name = _told(reply)
    return None if name is None else f"it came out of a response cache ({name}: {reply.headers[name][:40]})"


def bypass(reply: Reply) -> str:
    """What to change so that the engine itself is asked."""
    header = _ASKING_NOT_TO.get(_told(reply) or "")
    return _OFF if header is None else f"ask it not to with --header '{header}'; or {_OFF}"


def _told(reply: Reply) -> str | None:
    if reply.status != 200:
        return None
    if reply.headers.get(_ON_HITS_ALONE, "").strip():
        return _ON_HITS_ALONE
    hits = (name for name, value in reply.headers.items() if _is_hit(name, value.strip().casefold()))
    return next(hits, _AGE if _is_older_than_its_request(reply) else None)


def _is_hit(name: str, value: str) -> bool:
    if not _STATUS.fullmatch(name) or _OF_SOMETHING_ELSE.search(name):
        return False
    return bool(_HIT.search(value)) or (name.endswith("-hit") and value in _YES)


def _is_older_than_its_request(reply: Reply) -> bool:
    """Some proxies count the time that an answer took as its age: only what is beyond that was kept somewhere."""
    age = reply.headers.get(_AGE, "").strip()
    took_s = reply.ended_s if reply.first_byte_s is None else reply.first_byte_s
    return age.isascii() and age.isdigit() and int(age[:9]) > took_s + _AGE_SLACK_S

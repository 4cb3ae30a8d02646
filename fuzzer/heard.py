"""What do the words of an answer say without the secrets in them? PURE.

An error may tell those of the server's own operators: a signed URL, a key of its cache. They are masked as the answer
comes in, so that whatever is made of it, kept and shown is one text. No number of a refusal is touched.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING

from fuzzer.store.masking import masked_words

if TYPE_CHECKING:
    from targets.base import Reply, ServerError


def heard(reply: Reply) -> Reply:
    """The same reply, its words masked. What it generated, and its headers, stay."""
    if not (reply.error or reply.excerpt or reply.fault_text):
        return reply
    return replace(
        reply,
        error=None if reply.error is None else _error(reply.error),
        excerpt=masked_words(reply.excerpt),
        fault_text=masked_words(reply.fault_text),
    )


def _error(error: ServerError) -> ServerError:
    texts = {one.name: getattr(error, one.name) for one in fields(error)}
    return replace(error, **{name: masked_words(text) for name, text in texts.items() if isinstance(text, str)})

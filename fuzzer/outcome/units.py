"""Does a 4xx in words that we do not know measure tokens, or something else? PURE."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzzer.outcome import way
from fuzzer.outcome.wording import names_one_of, tells_of_length, tells_of_tokens, words
from targets.proxies import is_engines_shape
from targets.refusals import bears_a_code, names_a_rate, names_characters
from targets.sizes import names_only_the_whole, outgrows, setting
from targets.told import told_status

if TYPE_CHECKING:
    from fuzzer.evidence import Evidence
    from targets.base import Reply

_BLAMES_THE_REQUEST = {400, 413, 422}
_ADDED, _ADDED_SHARE = 1024, 0.05  # tokens that an engine may count beside ours: of a template, a draft, a block
_REFUSING = {400, 422}
_OF_SOMETHING_ELSE = (
    "the limit that it names is above the tokens that were sent, so it counts bytes, or characters: raise it, or ask "
    "the engine itself by its own --url"
)


def beside_the_length(e: Evidence) -> str | None:
    """What to do about a 4xx that is not about a length in tokens, or None where it may be."""
    if names_a_rate(e.reply):
        return "raise the limit on tokens per minute, or ask the engine itself by its own --url"
    if names_characters(e.reply):
        return _of_characters(e.reply)
    if counts_no_tokens(e):
        return _OF_SOMETHING_ELSE
    if e.baseline is None:
        streams = "stream_options" in words(e.reply)
        return way.NO_STREAM_OPTIONS if streams else way.NOT_TAKEN
    if told_status(e.reply) not in _BLAMES_THE_REQUEST:
        return "the target, or somebody before it, does not take a request of this length: see its log"
    return way.FOR_ITS_SIZE if _may_be_of_bytes(e) else None


def counts_no_tokens(e: Evidence) -> bool:
    """Whoever refuses it by a limit that it is within counts something else.

    How many output tokens an engine adds that it is not told, nobody knows; and one that refuses what is past its own
    limit may name any numbers.
    """
    error = e.reply.error
    if told_status(e.reply) not in _BLAMES_THE_REQUEST or e.spec.omit_max_tokens:
        return False
    if (error is not None and bears_a_code(error)) or (_is_past_the_limit(e) and is_engines_shape(error)):
        return False
    return outgrows(words(e.reply), _most(e), e.limit)


def refused_for_length(e: Evidence) -> str | None:
    """What an engine says that refuses it for its length, or None where it does not."""
    if e.refusal is not None:
        return None if counts_no_tokens(e) else e.refusal.message
    return words(e.reply) if _is_refused_tersely(e) else None


def _is_refused_tersely(e: Evidence) -> bool:
    """Past the limit that it advertises, an engine needs no more words than a proxy. A 413 is the proxy's."""
    if told_status(e.reply) not in _REFUSING or e.reply.error is None or not _is_past_the_limit(e):
        return False
    return names_only_the_whole(e.reply.error.message, _most(e))


def _may_be_of_bytes(e: Evidence) -> bool:
    """It comes in no engine's shape and names no tokens, where nothing that is advertised was passed."""
    if e.reply.error is not None or tells_of_tokens(e.reply):
        return False
    return e.limit is None or (_has_room(e) and tells_of_length(e.reply))


def may_name_a_limit(e: Evidence) -> bool:
    """Past a limit that is advertised any words will do, and within it none that only name tokens."""
    length = e.sent_tokens + (e.offset or 0)
    if tells_of_length(e.reply) or names_one_of(e.reply, {length, length + e.spec.output_tokens}):
        return True
    return not _has_room(e) if e.limit is not None else tells_of_tokens(e.reply)


def _has_room(e: Evidence) -> bool:
    """True where the target advertises a limit that this prompt and its output stay within."""
    return e.limit is not None and _total(e) <= e.limit


def _is_past_the_limit(e: Evidence) -> bool:
    """True where the target advertises a limit, and this prompt and its output pass it."""
    return e.limit is not None and not _has_room(e)


def _total(e: Evidence) -> int:
    """Tokens of the prompt and its output, as far as we can count them."""
    return e.sent_tokens + (e.offset or 0) + e.spec.output_tokens


def _most(e: Evidence) -> int:
    """More tokens than these no engine counts of it."""
    total = _total(e)
    return total + max(_ADDED, int(_ADDED_SHARE * total))


def _of_characters(reply: Reply) -> str:
    """What to do about a limit on the characters of a text."""
    named = f"raise {name}" if (name := setting(words(reply))) else "raise it"
    return f"it is a limit on characters, not on tokens: {named}, or ask the engine itself by its own --url"

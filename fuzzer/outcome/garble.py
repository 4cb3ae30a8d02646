"""Is the answer's text garbage although short answers had text? PURE.

The yardstick is the run's own baseline: a tiny or odd model that repeats itself in short answers proves nothing by
repeating itself in long ones.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fuzzer.outcome.ending import by_itself

if TYPE_CHECKING:
    from fuzzer.model import Baseline
    from targets.base import Reply

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_ONE_UNIT = re.compile(r"\s*(\S.{0,39}?|\S)\s*(?:\1\s*){7,}\S{0,40}\s*", re.DOTALL)
# "www", "..." and "==" are ordinary text
_RUN = re.compile(r"(\S{3,40}?)(?:\s*\1){3,}|(\S{1,2}?)(?:\s*\2){11,}", re.DOTALL)
_WORD = re.compile(r"\w+(?:['\u2019]\w+)*|[^\w\s]+")  # no more of them than tokens
# Tokens that no answer is to show: special ones, and bytes that were never put together.
_LEAKED = re.compile(
    r"<\|[^|<>\s]{1,48}\|>|<(?:pad|unk|mask|bos|eos|s|/s|unused\d{1,5})>|\[(?:PAD|UNK|MASK|CLS|SEP)\]|<0x[0-9A-F]{2}>"
)
_INDENT = re.compile(r"\n{1,2}[ \t]{1,40}")
_NAN = re.compile(r"^\W*(?:nan\W*){2,}$", re.IGNORECASE)
# Decoding that breaks some tokens in says good words first, then one token to the end. All of it must hold:
LONGEST_UNIT = 40  # characters: longer than nearly every token, special ones among them
FEWEST_IN_A_RUN = 12  # rulers, dots and laughter of ordinary text are shorter
MOST_GOOD_WORDS = 16  # a greedy loop may come after many words; what breaks at a prompt's length breaks early
GOOD_SHARE = 4  # and one in so many tokens, where more leave room for a ruler, or an indent, that is one token
USUAL_BLANKS = 8  # good answers end in fewer


def spoken(reply: Reply, asked: int) -> int:
    """Output tokens that a text is judged by: as the server told, else as they came in a stream, else as asked.

    An answer that ended by itself before it said anything had room for all of them.
    """
    told, events = reply.usage.completion_tokens, reply.events
    if by_itself(reply) and not reply.text.strip():
        return asked
    return told or (events if told is not None or events > 1 else asked)


def garbled(text: str, tokens: int, baseline: Baseline) -> str | None:
    """Why a text of `tokens` output tokens is garbage, as half a sentence, or None."""
    if not text.strip():
        return "the answer is empty" if baseline.has_text and tokens >= 4 else None
    if not baseline.has_replacement and text.count(REPLACEMENT) * 4 > len(text):
        return "the answer is mostly replacement characters"
    if _NAN.match(text):
        return "the answer is NaN"
    if not baseline.leaks and leaks(text):
        return "the answer is special tokens for the most part"
    return None if baseline.repeats else _loop(text, tokens, may_end_in_blanks=baseline.runs_out)


def repeats(text: str) -> bool:
    """True where a good text says a word four times in a row, or would be taken for one token over and over itself.

    Such a model loops by nature.
    """
    return bool(_RUN.search(text[:2048]) or _ONE_UNIT.fullmatch(text[:2048]))


def runs_out(text: str) -> bool:
    """True where a good text ends in so many blanks that others may: then such an end says nothing."""
    return len(_blanks(text)) >= USUAL_BLANKS


def leaks(text: str) -> bool:
    """True where a text is special tokens for the most part, by their names."""
    leaked = sum(len(found[0]) for found in _LEAKED.finditer(text))
    return 2 * leaked > len(text.strip())


def _loop(text: str, tokens: int, *, may_end_in_blanks: bool) -> str | None:
    if not may_end_in_blanks and _fell_silent(text, tokens):
        return f"the answer ends in blanks over and over ({text[-4:]!r})"
    if tokens >= 8 and _ONE_UNIT.fullmatch(text[:2048]):
        return f"the answer is one token over and over ({text.strip()[:12]!r})"
    if (unit := _stuck_on(text, tokens)) is not None:
        return f"the answer ends in one token over and over ({unit.strip()[:12]!r})"
    return None


def _blanks(text: str) -> str:
    return text[len(text.rstrip()) :]


def _fell_silent(text: str, tokens: int) -> bool:
    """True where more than half of a text's `tokens` output tokens may be blanks at its end, after a few words.

    An indent is one token, however wide it is.
    """
    blanks, tokens = _blanks(text), min(tokens, len(text))
    if _INDENT.fullmatch(blanks) or len(blanks) < FEWEST_IN_A_RUN:
        return False
    return 2 * len(blanks) > tokens and _words(text) <= _few(tokens)


def _stuck_on(text: str, tokens: int) -> str | None:
    """The one token that a text of `tokens` output tokens ends in after a few good words, or None.

    A unit that comes more than half as often as there are tokens can only be one token, and no phrase.
    """
    tokens = min(tokens, len(text))  # a text that was cut holds no more
    for length in range(1, min(LONGEST_UNIT, len(text)) + 1):
        unit = text[-length:]
        same = length
        while same < len(text) and text[-same - 1] == text[length - same - 1]:
            same += 1
        times, head = same // length, text[: len(text) - same]
        if times < FEWEST_IN_A_RUN or 2 * times <= tokens or len(unit.split()) != 1:
            continue
        words = _words(head)
        each_is_a_token = words + times <= tokens  # else it may be a ruler
        return unit if words <= (MOST_GOOD_WORDS if each_is_a_token else _few(tokens)) else None
    return None


def _words(text: str) -> int:
    return len(_WORD.findall(text))


def _few(tokens: int) -> int:
    return min(MOST_GOOD_WORDS, tokens // GOOD_SHARE)

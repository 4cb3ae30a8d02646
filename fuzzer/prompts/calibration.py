"""How many tokens are words whose tokenizer nobody knows? Learnt from the `usage` of short prompts, or refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fuzzer.prompts.page import MARKERS, WORDS
from fuzzer.prompts.recipe import HEAD
from fuzzer.prompts.text import TextPrompts
from fuzzer.prompts.vocabulary import Vocabulary

_TIMES = (1, 2, 5)  # so often every word of an alphabet stands in a short probe
_LEAST = 2  # of those fit in any case
# Words that are most likely one token each, and then words that are it nearly everywhere.
ALPHABETS: tuple[tuple[str, ...], ...] = (tuple(word for word in WORDS if len(word) <= 4)[:199], MARKERS)


def assumed(alphabet: Sequence[str]) -> TextPrompts:
    """Texts of one token a word, by assumption: for a calibration to confirm or refuse."""
    return TextPrompts(Vocabulary("guess", (), dict.fromkeys(alphabet, 0)), _one_a_word)


async def _one_a_word(texts: Sequence[str]) -> Sequence[Sequence[int]]:
    return [range(text.count(" ") + 1) for text in texts]


def least() -> int:
    """The shortest ground, in words, that a calibration stands on. A canary with its answer is as long."""
    return HEAD + _LEAST * min(len(alphabet) for alphabet in ALPHABETS)


def room(ground: int, counted: int) -> int:
    """How many words stay within a ground in tokens, where the server counts so many of the first, shortest, text.

    It may add a template to every text, or make several tokens of a word: until a second text tells, it may be both.
    """
    added = max(counted - HEAD, 0)
    return max(min(ground - added, ground * HEAD // (HEAD + added)), least())


def fitted(alphabet: Sequence[str], ground: int | None) -> tuple[str, ...]:
    """As much of an alphabet as `lengths` within `ground` words have room for."""
    return tuple(alphabet) if ground is None else tuple(alphabet[: max(ground - HEAD, 0) // _LEAST])


def lengths(alphabet: Sequence[str], ground: int | None = None) -> tuple[int, ...]:
    """The lengths, in words, to send as short probes, from the shortest on and none above `ground`.

    All but the first hold every word of the alphabet.
    """
    each = (HEAD, *(HEAD + times * len(alphabet) for times in _TIMES))
    return each if ground is None else tuple(length for length in each if length <= ground)


def adds_up(usages: Mapping[int, int]) -> bool:
    """Is each count (words sent -> tokens counted) one token a word, and the same more for all of them?"""
    offsets = {counted - sent for sent, counted in usages.items()}
    return len(offsets) == 1 and min(offsets) >= 0


def offset(sent: Sequence[int], usages: Mapping[int, int]) -> int | None:
    """What the server adds to every prompt, from words sent -> tokens counted.

    None unless all that was sent was answered, and adds up to exactly one token a word.
    """
    if usages.keys() >= set(sent) and adds_up(usages):
        return next(counted - words for words, counted in usages.items())
    return None

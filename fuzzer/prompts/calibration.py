"""How many tokens are words whose tokenizer nobody knows? Learnt from the `usage` of short prompts, or refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fuzzer.prompts.page import MARKERS, WORDS
from fuzzer.prompts.recipe import HEAD
from fuzzer.prompts.text import TextPrompts
from fuzzer.prompts.vocabulary import Vocabulary

# Words that are most likely one token each, and then words that are it nearly everywhere.
ALPHABETS: tuple[tuple[str, ...], ...] = (tuple(word for word in WORDS if len(word) <= 4)[:199], MARKERS)


def assumed(alphabet: Sequence[str]) -> TextPrompts:
    """Texts of one token a word, by assumption: for a calibration to confirm or refuse."""
    return TextPrompts(Vocabulary("guess", (), dict.fromkeys(alphabet, 0)), _one_a_word)


async def _one_a_word(texts: Sequence[str]) -> Sequence[Sequence[int]]:
    return [range(text.count(" ") + 1) for text in texts]


def lengths(alphabet: Sequence[str]) -> tuple[int, ...]:
    """The lengths, in words, to send as short probes. All but the first hold every word of the alphabet."""
    size = len(alphabet)
    return (HEAD, HEAD + size, HEAD + 2 * size, HEAD + 5 * size)


def offset(alphabet: Sequence[str], usages: Mapping[int, int]) -> int | None:
    """What the server adds to every prompt, from words sent -> tokens counted.

    None unless all of `lengths` were answered, and add up to exactly one token a word.
    """
    offsets = {counted - sent for sent, counted in usages.items()}
    if usages.keys() >= set(lengths(alphabet)) and len(offsets) == 1 and min(offsets) >= 0:
        return offsets.pop()
    return None

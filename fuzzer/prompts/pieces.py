"""How many tokens has each piece of a passage, and which? Read as far as needed, each piece encoded once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import accumulate, islice, takewhile

from fuzzer.prompts.errors import PromptError
from fuzzer.prompts.vocabulary import Encode, Vocabulary

MARKS = 3  # in a row: a passage may say the marker's word, but not like this
FIRST_PIECES = 8  # read before anything is known of their size
TOGETHER = 100  # pieces encoded as one text: some 200 kB, which passes every proxy
NOTHING_LEFT = "the passage has no ordinary token in this vocabulary: use --content words"


def _pieces_for(tokens: int, known: int, read: int) -> int:
    """How many more pieces should make up for `tokens`, when those that were read had `known` of them."""
    return (tokens - known) * read // known + 1 if known else FIRST_PIECES


def _groups(fresh: Sequence[str]) -> list[Sequence[str]]:
    return [fresh[at : at + TOGETHER] for at in range(0, len(fresh), TOGETHER)]


class PieceCounts:
    """Pieces with their counts: one encoding tells those of many, with marks in between."""

    def __init__(self, stream: Iterator[str], vocabulary: Vocabulary, encode: Encode) -> None:
        self._stream = stream
        self._vocabulary = vocabulary
        self._encode = encode
        self._pieces: list[str] = []
        self._counts: list[int] = []
        self._barren = 0  # pieces in a row that brought nothing

    async def first(self, tokens: int) -> tuple[list[str], list[int]]:
        """As many pieces as fit into `tokens` tokens, with their counts.

        Raises PromptError where the marks lose themselves in the words next to them, and where the tokenizer leaves out
        all that many pieces in a row say.
        """
        while (counted := sum(self._counts)) < tokens:
            fresh = list(islice(self._stream, _pieces_for(tokens, counted, len(self._pieces))))
            counts = await self._counted(fresh)
            self._counts += counts
            self._pieces += fresh
            self._barren = 0 if any(counts) else self._barren + len(fresh)
            if self._barren >= TOGETHER:
                raise PromptError(NOTHING_LEFT)
        fits = sum(1 for _ in takewhile(lambda total: total <= tokens, accumulate(self._counts)))
        return self._pieces[:fits], self._counts[:fits]

    async def _counted(self, fresh: Sequence[str]) -> list[int]:
        marks = f" {self._vocabulary.marker}" * MARKS
        encoded = await self._encode([f"so{marks}{marks.join(group)}{marks}" for group in _groups(fresh)])
        counts = [count for ids in encoded for count in between(ids, self._vocabulary.marker_id)[1:-1]]
        if len(counts) != len(fresh):
            raise PromptError("this tokenizer joins words of the passage: use --content words")
        return counts


def between(ids: Iterable[int], mark: int) -> list[int]:
    """How many ids stand before, between and after the runs of marks."""
    counts, run = [0], 0
    for token in ids:
        run = run + 1 if token == mark else 0
        if run == MARKS:
            counts[-1] -= MARKS - 1
            counts.append(0)
            run = 0
        else:
            counts[-1] += 1
    return counts


class PieceIds:
    """The ids of pieces, without those that must never be sent: special ones, and fragments of characters."""

    def __init__(
        self, stream: Iterator[str], encode: Encode, unfit: Callable[[Collection[int]], Collection[int]]
    ) -> None:
        self._stream = stream
        self._encode = encode
        self._unfit = unfit
        self._read = 0
        self._barren = 0  # pieces in a row that brought nothing
        self._ids: list[int] = []

    async def first(self, tokens: int) -> list[int]:
        """At least `tokens` ids. Raises PromptError where many pieces in a row have none that may be sent."""
        while len(self._ids) < tokens:
            fresh = list(islice(self._stream, _pieces_for(tokens, len(self._ids), self._read)))
            encoded = await self._encode(["".join(group) for group in _groups(fresh)])
            unfit = self._unfit(frozenset().union(*encoded))
            fit = [token for ids in encoded for token in ids if token not in unfit]
            self._ids += fit
            self._read += len(fresh)
            self._barren = 0 if fit else self._barren + len(fresh)
            if self._barren >= TOGETHER:
                raise PromptError(NOTHING_LEFT)
        return self._ids

"""How is a text of exactly so many tokens built? From pieces whose counts are known, then verified by encoding it.

A text is an opening word, the head's own words, a body, and words that fill what the body misses. Bodies of words
(`words`, `repeat`, ...) take only words of one token, so they miss nothing. Nothing is ever decoded.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice

from fuzzer.prompts.content import Sequences, drawn
from fuzzer.prompts.errors import PromptError
from fuzzer.prompts.passages import pieces
from fuzzer.prompts.pieces import PieceCounts
from fuzzer.prompts.recipe import HEAD, Recipe
from fuzzer.prompts.vocabulary import Encode, Vocabulary

Part = tuple[str, int]  # a text, and the count that it should have

SEAM = 64  # tokens: further than any tokenizer looks across
SPAN = 16_384  # tokens verified as one text: some 100 kB, which passes every proxy
TOGETHER = 2  # spans encoded at once
REPAIRS = 4
OPENINGS = 16  # words tried as the first one


@dataclass(frozen=True, slots=True)
class Draft:
    """A text in its parts. All but the opening begin with white space; `counts` are the body's, the others are one."""

    front: Sequence[str]
    body: Sequence[str]
    counts: Sequence[int]
    fill: Sequence[str]

    @property
    def text(self) -> str:
        return "".join((*self.front, *self.body, *self.fill))

    def spans(self) -> Iterator[Part]:
        """The whole, in parts of a bounded size, each of which begins within the one before it."""
        totals = array("q", accumulate(self.counts, initial=0))  # a list of them would weigh five times as much
        begin, end = 0, 0
        while True:
            end = max(end, bisect_right(totals, totals[begin] + SPAN) - 1)
            yield self._part(begin, end)
            if end == len(self.body):
                return
            begin, end = max(begin + 1, bisect_right(totals, totals[end] - SEAM) - 1), end + 1

    def seams(self) -> list[Part]:
        """Both ends of the body in their surroundings."""
        begin, end = _reach(self.counts[:SEAM]), _reach(self.counts[: -SEAM - 1 : -1])
        return [self._part(0, begin), self._part(len(self.body) - end, len(self.body))]

    def _part(self, begin: int, end: int) -> Part:
        front = self.front if begin == 0 else self.front[:1]
        fill = self.fill if end == len(self.body) else ()
        count = len(front) + sum(self.counts[begin:end]) + len(fill)
        return "".join((*front, *self.body[begin:end], *fill)), count


def _reach(counts: Sequence[int]) -> int:
    """How many pieces make up a seam."""
    return next((at for at, total in enumerate(accumulate(counts), 1) if total >= SEAM), len(counts))


class TextPrompts:
    """Texts over one vocabulary, exact by its `encode`. A body is encoded whole once; shorter slices at their seams."""

    def __init__(self, vocabulary: Vocabulary, encode: Encode) -> None:
        self._vocabulary = vocabulary
        self._encode = encode
        self._opening = ""
        self._words = [f" {word}" for word in vocabulary.words]
        self._sequences = Sequences(self._words, {word: f" {word}" for word in vocabulary.words})
        self._passages: dict[tuple[str, str], PieceCounts] = {}
        self._proven: dict[tuple[str, str, str], int] = {}

    async def build(self, recipe: Recipe, corpus: str) -> str:
        """A text of exactly `recipe.tokens` tokens that begins and ends with a word.

        Raises PromptError where this tokenizer has no ordinary words, or will not be exact.
        """
        if len(self._words) < 2:
            raise PromptError("this tokenizer has no words of one token, so no text can be exact: use --mode ids")
        front = [await self._first_word(), *self._sequences.head(recipe)[1:]]
        body, counts = await self._body(recipe, corpus)
        missing = recipe.tokens - len(front) - sum(counts)
        fill = list(islice(drawn(self._words, f"{recipe.seed}/fill"), missing))
        return await self._verified(Draft(front, body, counts, fill), recipe)

    async def _first_word(self) -> str:
        """A word that is one token also where no space stands before it."""
        if not self._opening:
            for word in self._words[:OPENINGS]:
                self._opening = word.lstrip()
                if await self._counted([self._opening]) == [1]:
                    break
        return self._opening

    async def _body(self, recipe: Recipe, corpus: str) -> tuple[Sequence[str], Sequence[int]]:
        if recipe.is_sequence:
            words = self._sequences.body(recipe)
            return words, [1] * len(words)
        key = (recipe.content, recipe.seed)
        if key not in self._passages:
            stream = pieces(recipe.content, corpus, f"{recipe.seed}/{recipe.content}")
            self._passages[key] = PieceCounts(stream, self._vocabulary, self._encode)
        return await self._passages[key].first(max(0, recipe.tokens - HEAD))

    async def _verified(self, draft: Draft, recipe: Recipe) -> str:
        """The draft's text; should words grow together somewhere, with words added or taken away at its end."""
        key = (recipe.content, recipe.seed, "" if recipe.shared is None else f"{recipe.shared}/{recipe.head}")
        proven = self._proven.get(key, 0)
        parts = draft.seams() if recipe.tokens <= proven else list(draft.spans())
        if recipe.tokens <= HEAD and self._opening:
            return draft.text  # words of one token each: a canary is to be had also while nobody tokenizes
        if await self._counted([text for text, _ in parts]) == [count for _, count in parts]:
            self._proven[key] = max(recipe.tokens, proven)
            return draft.text
        text, spare = draft.text, drawn(self._words, f"{recipe.seed}/repair")
        for _ in range(REPAIRS):
            wrong = recipe.tokens - (await self._counted([text]))[0]
            if wrong == 0:
                return text
            text = text.rsplit(" ", -wrong)[0] if wrong < 0 else "".join((text, *islice(spare, wrong)))
        raise PromptError(f"no text of exactly {recipe.tokens} tokens can be made with this tokenizer: use --mode ids")

    async def _counted(self, texts: Sequence[str]) -> list[int]:
        """Counts of texts, a few at a time: what an encoder makes of a text weighs many times more than the text."""
        counts: list[int] = []
        for at in range(0, len(texts), TOGETHER):
            counts += [len(ids) for ids in await self._encode(texts[at : at + TOGETHER])]
        return counts

"""How is a token-id prompt of an exact length built? PURE: exact by construction, no tokenizer needed."""

from __future__ import annotations

from collections.abc import Sequence

from fuzzer.prompts.content import Sequences
from fuzzer.prompts.recipe import Recipe
from fuzzer.prompts.vocabulary import Vocabulary

BLOCK = 16_384


class IdPrompts:
    """Prompts over one vocabulary. Ids are kept as their decimal digits, so that a prompt is a slice and a join."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        units = dict(zip(vocabulary.words, _digits(list(vocabulary.words.values())), strict=True))
        self._sequences = Sequences(_digits(vocabulary.ids), units)

    def build(self, recipe: Recipe, passage: Sequence[int] | None = None) -> bytes:
        """A JSON array of exactly `recipe.tokens` ids: its own head, then its body, or the begin of a passage."""
        head = self._sequences.head(recipe)
        body = self._sequences.body(recipe) if passage is None else _digits(passage[: recipe.tokens - len(head)])
        # In blocks: while bytes are joined, each of them takes another 80.
        blocks = (b",".join(body[at : at + BLOCK]) for at in range(0, len(body), BLOCK))
        return b"[" + b",".join((*head, *blocks)) + b"]"


def _digits(ids: Sequence[int]) -> list[bytes]:
    return [b"%d" % token for token in ids]

"""What does a text cost? One encoding of the whole, then slices: a shorter one is encoded at its seams only."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from fuzzer.prompts import PromptError, PromptSource
from fuzzer.prompts.page import MARKERS
from fuzzer.prompts.text import REPAIRS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.unit.prompts.conftest import Known

pytestmark = pytest.mark.anyio


class Server:
    """A /tokenize that counts the characters it is sent."""

    def __init__(self, known: Known) -> None:
        self.known = known
        self.characters = 0

    async def __call__(self, text: str) -> Sequence[int]:
        self.characters += len(text)
        return await self.known.server(text)

    async def cost(self, source: PromptSource, tokens: int, content: str) -> float:
        """Characters sent for each character of the prompt."""
        self.characters = 0
        prompt = await source.build(mode="text", tokens=tokens, content=content, head=tokens)
        return self.characters / len(json.loads(prompt.json))


@pytest.mark.parametrize(
    ("content", "encodings"),
    [("words", 1.01), ("repeat", 1.01), ("copy", 1.01), ("random", 1.01), ("code", 2.2), ("cjk", 2.4)],
)
async def test_the_whole_is_encoded_once_and_then_only_seams(known: Known, content: str, encodings: float) -> None:
    """The pieces of a passage are read once more, to be counted."""
    server = Server(known)
    source = await PromptSource.open(tokenize=server)
    assert await server.cost(source, 20_000, content) < encodings
    assert await server.cost(source, 19_999, content) < 0.35
    assert await server.cost(source, 15_000, content) < 0.35


async def test_words_that_grow_together_are_made_up_for(known: Known) -> None:
    """A vocabulary with tokens across spaces: the counts do not add up, the text is exact all the same."""

    async def greedy(text: str) -> Sequence[int]:
        ids = list(await known.server(text))
        joined = [a not in marks and b not in marks and (a * 31 + b) % 97 == 0 for a, b in pairwise(ids)]
        return [token for token, gone in zip(ids, [*joined, False], strict=True) if not gone]

    marks = set(await known.server("so " + " ".join(MARKERS)))
    source = await PromptSource.open(tokenize=greedy)
    for tokens in (500, 3000, 2000):
        prompt = await source.build(mode="text", tokens=tokens)
        assert len(await greedy(json.loads(prompt.json))) == tokens


async def test_what_will_not_be_exact_is_refused(known: Known) -> None:
    calls = 0

    async def fickle(text: str) -> Sequence[int]:
        nonlocal calls
        calls += 1
        ids = await known.server(text)
        return [*ids, *ids[: calls % 2 + 1]] if len(text) > 300 and " the " not in text else ids

    source = await PromptSource.open(tokenize=fickle)
    calls = 0
    with pytest.raises(PromptError, match=r"no text of exactly 400 tokens .* use --mode ids"):
        await source.build(mode="text", tokens=400)
    assert calls <= REPAIRS + 2


async def test_a_server_that_stops_tokenizing_is_said(known: Known) -> None:
    alive = True

    async def mortal(text: str) -> Sequence[int] | None:
        return await known.server(text) if alive else None

    source = await PromptSource.open(tokenize=mortal)
    alive = False
    with pytest.raises(PromptError, match="does not tokenize any more"):
        await source.build(mode="text", tokens=400)
    assert len(json.loads((await source.build(mode="ids", tokens=400)).json)) == 400

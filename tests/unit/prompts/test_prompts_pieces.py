"""Does the reading of a passage end, whatever a tokenizer leaves out of it?"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, cycle, repeat

import pytest

from fuzzer.prompts import PromptError, PromptSource
from fuzzer.prompts.page import WORDS
from fuzzer.prompts.pieces import MARKS, TOGETHER, PieceIds

pytestmark = pytest.mark.anyio

IDS = {word: number for number, word in enumerate(dict.fromkeys([*WORDS, "the", "of", "and", "to"]), 10)}


async def knowing(text: str) -> list[int]:
    """Leaves out what it does not know, as tokenizers without an unknown token do."""
    return [IDS[word] for word in text.split() if word in IDS]


@pytest.mark.parametrize("mode", ["ids", "text"])
async def test_a_passage_of_which_nothing_is_left_is_refused(mode: str) -> None:
    source = await PromptSource.open(tokenize=knowing)
    with pytest.raises(PromptError, match=r"no ordinary token in this vocabulary: use --content words"):
        await source.build(mode=mode, tokens=300, content="cjk")  # type: ignore[arg-type]


async def encode(texts: Sequence[str]) -> list[list[int]]:
    return [await knowing(text) for text in texts]


@pytest.mark.parametrize("foreign", [0, 1, 20])
async def test_a_passage_of_which_some_is_left_is_read_on(foreign: int) -> None:
    stream = chain(repeat(" \u3042", foreign), cycle([f" {WORDS[0]}", *[" \u3042"] * foreign]))
    assert foreign < TOGETHER
    pieces = PieceIds(stream, encode, lambda _: ())
    assert await pieces.first(5) == [IDS[WORDS[0]]] * len(await pieces.first(1))


@pytest.mark.parametrize("mode", ["ids", "text"])
async def test_a_passage_that_says_something_at_its_beginning_alone_is_refused(mode: str) -> None:
    """It would be read without an end: what it has so far is some of it, and never enough."""
    said = 0

    async def knowing_the_beginning(text: str) -> list[int]:
        nonlocal said
        ids = await knowing(text)
        if said == 0 and "\u3042" in text:
            said, ids = 1, [*ids[:-MARKS], IDS[WORDS[0]], *ids[-MARKS:]]
        return ids

    source = await PromptSource.open(tokenize=knowing_the_beginning)
    with pytest.raises(PromptError, match=r"no ordinary token in this vocabulary"):
        await source.build(mode=mode, tokens=300, content="cjk")  # type: ignore[arg-type]

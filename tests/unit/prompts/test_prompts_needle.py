"""Is a needle where it should be, said once, in a prompt of exactly the length that was asked?"""

from __future__ import annotations

import json

import pytest

from fuzzer.prompts import PromptSource
from fuzzer.prompts.errors import PromptError
from fuzzer.prompts.page import NEEDLES
from tests.unit.prompts.conftest import Known

pytestmark = pytest.mark.anyio

LENGTHS = (64, 1000)


@pytest.mark.parametrize("tokens", LENGTHS)
async def test_the_text_is_exact_and_says_each_needle_once(source: PromptSource, known: Known, tokens: int) -> None:
    prompt = await source.build(mode="text", tokens=tokens, content="needle")
    text = str(json.loads(prompt.json))
    assert known.count(text) == prompt.tokens == tokens
    said_at_both_ends(text)


@pytest.mark.parametrize("tokens", LENGTHS)
async def test_so_do_ids(source: PromptSource, known: Known, tokens: int) -> None:
    ids = json.loads((await source.build(mode="ids", tokens=tokens, content="needle")).json)
    assert len(ids) == tokens
    said_at_both_ends(" ".join(known.backend.decode(ids).split()))


def said_at_both_ends(text: str) -> None:
    head, tail = (text.find(needle) for needle in NEEDLES)
    assert 0 <= head < len(text) / 2 < tail
    words = text.split()
    assert [words.count(word) for needle in NEEDLES for word in needle.split()] == [1, 1, 1, 1]


async def test_too_short_a_prompt_has_no_needle_in_it(source: PromptSource) -> None:
    ids = json.loads((await source.build(mode="ids", tokens=16, content="needle")).json)
    assert len(ids) == 16


async def test_without_words_there_is_no_needle() -> None:
    source = await PromptSource.open()
    with pytest.raises(PromptError, match="needs a tokenizer"):
        await source.build(mode="ids", tokens=300, content="needle")

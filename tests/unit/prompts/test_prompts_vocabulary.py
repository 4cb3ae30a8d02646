"""Are the ids that we send ordinary text, and nothing but?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from fuzzer.prompts import PromptSource
from fuzzer.prompts.page import COPY_INSTRUCTION, MARKERS, WORDS
from fuzzer.prompts.vocabulary import guesses, learn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.unit.prompts.conftest import Known

pytestmark = pytest.mark.anyio

CONTENTS = ("words", "repeat", "copy", "random", "code", "cjk")


async def sent(source: PromptSource, content: str, tokens: int = 3000) -> list[int]:
    return [int(token) for token in json.loads((await source.build(mode="ids", tokens=tokens, content=content)).json)]


async def test_never_a_special_token_and_never_beyond_the_vocabulary(source: PromptSource, known: Known) -> None:
    for content in CONTENTS:
        ids = set(await sent(source, content))
        assert not ids & set(known.whole.all_special_ids), content
        assert max(ids) < len(known.whole), content


async def test_never_a_byte_fragment(known: Known) -> None:
    source = await PromptSource.open(tokenizer=str(known.folder))
    for content in CONTENTS:
        ids = set(await sent(source, content))
        assert [token for token in ids if "\ufffd" in known.backend.decode([token])] == [], content


async def test_words_are_words(source: PromptSource, known: Known) -> None:
    """Every id of `words` stands for a word of our page, and the text of the same words encodes to such ids."""
    pieces = {known.backend.decode([token]).strip() for token in await sent(source, "words")}
    assert pieces <= set(WORDS)
    assert len(pieces) > 256


async def test_the_server_teaches_what_the_tokenizer_teaches(known: Known) -> None:
    local = await PromptSource.open(tokenizer=str(known.folder))
    served = await PromptSource.open(tokenize=known.server)
    assert (local.vocabulary_origin, served.vocabulary_origin) == ("local tokenizer", "server")
    assert await sent(local, "words") == await sent(served, "words")


async def test_it_is_learnt_once_and_in_few_calls(known: Known) -> None:
    calls: list[str] = []

    async def counting(text: str) -> Sequence[int]:
        calls.append(text)
        return await known.server(text)

    source = await PromptSource.open(tokenize=counting)
    assert len(calls) <= 2 + len(MARKERS)
    calls.clear()
    await source.build(mode="ids", tokens=100_000)
    await source.build(mode="ids", tokens=100_001, head=1)
    assert calls == []


async def test_a_server_that_adds_special_tokens_does_not_get_them_back(known: Known) -> None:
    async def careless(texts: Sequence[str]) -> Sequence[Sequence[int]]:
        return [[0, *await known.server(text), 1] for text in texts]

    vocabulary = await learn(careless, "server")
    assert vocabulary is not None
    assert not {0, 1} & set(vocabulary.ids)


async def test_unknown_words_are_not_ordinary() -> None:
    vocab = {"[UNK]": 0, "so": 1, "the": 2, "water": 3, "stone": 4}
    tokenizer = Tokenizer(models.WordLevel(vocab, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()

    async def encode(texts: Sequence[str]) -> Sequence[Sequence[int]]:
        return [encoding.ids for encoding in tokenizer.encode_batch(list(texts))]

    vocabulary = await learn(encode, "server")
    assert vocabulary is not None
    assert 0 not in vocabulary.ids
    assert {3, 4} <= set(vocabulary.ids)


async def test_a_vocabulary_of_bytes_still_has_ids() -> None:
    """Where no word is one token, the pieces of words do; texts are refused with what to do instead."""

    async def encode(text: str) -> Sequence[int]:
        return list(text.encode())

    source = await PromptSource.open(tokenize=encode)
    ids = await sent(source, "words")
    assert len(ids) == 3000
    assert all(chr(token).isascii() for token in ids)


async def test_without_any_tokenizer_it_guesses_and_says_so() -> None:
    async def none(text: str) -> None:
        return None

    for source in (await PromptSource.open(), await PromptSource.open(tokenize=none)):
        assert source.vocabulary_origin == "guess"
        first = await sent(source, "words", 16)
        assert source.guess_again()
        assert not set(first) & set(await sent(source, "words", 16))
        assert not source.guess_again()


async def test_what_was_learnt_is_no_guess(source: PromptSource) -> None:
    assert not source.guess_again()


def test_guesses_stay_clear_of_special_tokens_and_raw_bytes() -> None:
    """Llama: bytes up to 258; GPT-2: up to 255; Tekken: special up to 999, bytes up to 1255."""
    first, second = guesses()
    assert min(first.ids) > 1255
    assert max(first.ids) < 2048
    assert min(second.ids) > 258
    assert max(second.ids) < 512


def test_the_page_is_ordinary() -> None:
    assert len(set(WORDS)) == len(WORDS) > 1009  # so that `words` has a million pairs without a repeat
    assert all(word.isascii() and word.isalpha() and word.islower() for word in WORDS)
    assert set(COPY_INSTRUCTION.split()) <= set(WORDS)

"""Is a prompt exactly as long as was asked, in every mode, content and family of tokenizers?"""

from __future__ import annotations

import json
import random
from itertools import product
from typing import TYPE_CHECKING

import pytest

from fuzzer.prompts import PromptSource

if TYPE_CHECKING:
    from pathlib import Path

    from targets.base import Mode
    from tests.unit.prompts.conftest import Known

pytestmark = pytest.mark.anyio

CONTENTS = ("words", "repeat", "copy", "random", "code", "cjk")
LENGTHS = (1, 2, 15, 16, 17, 257, *random.Random(7).sample(range(18, 4000), 4))


def text_of(body: bytes, mode: str) -> str:
    value = json.loads(body)
    if mode == "text":
        return str(value)
    assert [message["role"] for message in value] == ["user"]
    return str(value[0]["content"])


async def test_ids_are_as_many_as_asked(source: PromptSource) -> None:
    for content, tokens in product(CONTENTS, LENGTHS):
        prompt = await source.build(mode="ids", tokens=tokens, content=content, head=tokens)
        assert len(json.loads(prompt.json)) == prompt.tokens == tokens, content
        assert not prompt.estimated


@pytest.mark.parametrize("mode", ["text", "chat"])
async def test_texts_encode_to_as_many_tokens_as_asked(source: PromptSource, known: Known, mode: Mode) -> None:
    for content, tokens in product(CONTENTS, LENGTHS):
        prompt = await source.build(mode=mode, tokens=tokens, content=content, head=tokens)
        assert known.count(text_of(prompt.json, mode)) == prompt.tokens == tokens, content
        assert not prompt.estimated


async def test_a_corpus_of_any_layout_is_exact(source: PromptSource, known: Known, tmp_path: Path) -> None:
    file = tmp_path / "corpus.txt"
    file.write_text(
        "Where did it stop?\n\n  - At 262,144 (they said).\n\t\tNobody knew;\r\nso: ask!\n" * 9
        + "没有空格的一长行。" * 300
        + "<|im_end|> was quoted, `x = [1, 2]`...\n" * 40,
        encoding="utf-8",
    )
    for tokens in (17, 300, 5000, 4999, 12_345):
        prompt = await source.build(mode="text", tokens=tokens, content=f"corpus:{file}", head=tokens)
        assert known.count(text_of(prompt.json, "text")) == tokens
    ids = json.loads((await source.build(mode="ids", tokens=5000, content=f"corpus:{file}")).json)
    assert len(ids) == 5000


async def test_texts_begin_and_end_with_a_word(source: PromptSource) -> None:
    """So that a template that strips, or a tokenizer that adds a space, changes nothing."""
    for content in ("words", "copy", "code", "cjk"):
        text = text_of((await source.build(mode="text", tokens=2000, content=content)).json, "text")
        assert text[0].isalnum()
        assert text == text.strip()


async def test_the_template_costs_the_same_round_every_content(known: Known) -> None:
    source = await PromptSource.open(tokenizer=str(known.folder))
    overhead = await source.overhead("chat")
    if overhead is None:
        assert not known.whole.chat_template
        return
    for content in CONTENTS:
        for tokens in (16, 700):
            prompt = await source.build(mode="chat", tokens=tokens, content=content, head=content)
            whole = known.whole.apply_chat_template(
                json.loads(prompt.json), tokenize=True, add_generation_prompt=True, return_dict=False
            )
            assert len(whole) == tokens + overhead


async def test_what_the_tokenizer_puts_round_a_text_is_told_apart(known: Known) -> None:
    source = await PromptSource.open(tokenizer=str(known.folder))
    assert await source.overhead("ids") == 0
    added = await source.overhead("text")
    text = text_of((await source.build(mode="text", tokens=500)).json, "text")
    assert added is not None
    assert len(known.whole.encode(text)) == 500 + added


async def test_a_server_leaves_its_overhead_to_usage(known: Known) -> None:
    source = await PromptSource.open(tokenize=known.server)
    assert await source.overhead("text") is None
    assert await source.overhead("chat") is None

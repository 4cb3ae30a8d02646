"""Does each kind of content repeat as much, or as little, as it should, and the same on every machine?"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from itertools import islice, pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzzer.prompts import PromptError, PromptSource, Recipe
from fuzzer.prompts.content import COPIED, PERIOD, laid_over, stream
from fuzzer.prompts.ids import IdPrompts
from fuzzer.prompts.page import COPY_INSTRUCTION
from fuzzer.prompts.passages import pieces
from fuzzer.prompts.recipe import HEAD
from fuzzer.prompts.vocabulary import Vocabulary, guesses

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.prompts.conftest import Known

VOCABULARY = Vocabulary("server", tuple(range(1000, 2009)))
GOLDEN = "2805c2fae386"
SEQUENCES = st.sampled_from(["words", "repeat", "copy", "random"])


def ids(recipe: Recipe, prompts: IdPrompts | None = None) -> list[int]:
    return [int(token) for token in json.loads((prompts or IdPrompts(VOCABULARY)).build(recipe))]


@given(tokens=st.integers(1, 3000), content=SEQUENCES, seed=st.text(max_size=3), size=st.integers(2, 600))
def test_every_length_over_every_vocabulary(tokens: int, content: str, seed: str, size: int) -> None:
    small = IdPrompts(Vocabulary("server", tuple(range(size))))
    sent = ids(Recipe("ids", tokens, content, seed), small)
    assert len(sent) == tokens
    assert set(sent) <= set(range(size))


def test_words_say_no_pair_twice_in_a_million() -> None:
    sent = ids(Recipe("ids", 1_000_000))
    assert max(Counter(pairwise(sent[HEAD:])).values()) == 1


@given(size=st.integers(2, 40), seed=st.text(max_size=3))
def test_a_walk_says_each_pair_once_before_any_twice(size: int, seed: str) -> None:
    prime = max(n for n in range(2, size + 1) if all(n % d for d in range(2, n)))
    walk = list(islice(stream("words", range(size), seed), prime * (prime - 1)))
    assert len(set(pairwise(walk))) == len(walk) - 1


def test_repeat_comes_round_further_back_than_a_drafter_drafts_and_within_a_small_prompt() -> None:
    body = ids(Recipe("ids", 4 * PERIOD, "repeat"))[HEAD:]
    assert body[PERIOD:] == body[:-PERIOD]
    assert len(set(body)) == PERIOD


def test_random_is_neither() -> None:
    body = ids(Recipe("ids", 50_000, "random"))[HEAD:]
    assert max(Counter(pairwise(body)).values()) > 1
    assert len(set(body)) == len(VOCABULARY.ids)


@given(tokens=st.integers(0, 8000), instruction=st.integers(0, 9))
def test_a_copy_repeats_the_first_half_of_its_passage_after_the_instruction(tokens: int, instruction: int) -> None:
    told = laid_over(range(tokens), tokens, [-1] * instruction)
    assert len(told) == tokens
    if tokens > instruction + 3:
        again = min(COPIED, (tokens - instruction) // 3)
        passage = told[-again - instruction - 2 * again :][: 2 * again]
        assert told[-again:] == passage[:again]
        assert told[-again - instruction : -again] == [-1] * instruction


@pytest.mark.anyio
async def test_the_instruction_is_in_words(known: Known) -> None:
    source = await PromptSource.open(tokenizer=str(known.folder))
    text = json.loads((await source.build(mode="text", tokens=900, content="copy")).json)
    instruction = [word for word in COPY_INSTRUCTION.split() if word in text.split()]
    assert " ".join(instruction) in text
    assert len(instruction) > 4


def test_passages_go_on_without_repeating_themselves() -> None:
    for content in ("code", "cjk"):
        parts = list(islice(pieces(content, "", "1"), 500))
        assert all(part[0].isspace() for part in parts)
        assert len(set(parts)) == len(parts)


def test_a_corpus_comes_round() -> None:
    text = "One line of it. " * 60
    parts = list(islice(pieces("corpus:x", text, "1"), 30))
    assert parts[0].lstrip() == text[: len(parts[0]) - 1]
    assert "".join(parts).count("One line") > 600 / 2


# --- heads, seeds, replay ---


@given(content=SEQUENCES, heads=st.sets(st.text(max_size=4), min_size=2, max_size=5), warm=st.booleans())
def test_no_two_cold_prompts_begin_alike_and_all_warm_ones_do(content: str, heads: set[str], *, warm: bool) -> None:
    prompts = IdPrompts(VOCABULARY)
    sent = [
        ids(Recipe("ids", 400 + at, content, head=head, cache="warm" if warm else "cold"), prompts)
        for at, head in enumerate(heads)
    ]
    begins = {tuple(prompt[:HEAD]) for prompt in sent}
    assert len(begins) == (1 if warm else len(heads))
    assert len({prompt[0] for prompt in sent} | {prompt[1] for prompt in sent}) > 1


@given(recipe=st.builds(Recipe, st.just("ids"), st.integers(1, 900), SEQUENCES, st.text(), st.text()))
def test_a_recipe_gives_its_bytes_again_whatever_was_built_before(recipe: Recipe) -> None:
    used = IdPrompts(VOCABULARY)
    for tokens in (1200, 3):
        used.build(replace(recipe, tokens=tokens, head="another"))
    assert used.build(recipe) == IdPrompts(VOCABULARY).build(Recipe(**json.loads(json.dumps(recipe.as_dict()))))


def test_a_recipe_gives_the_same_bytes_in_another_process() -> None:
    """And in another version: this hash may only change together with the page, or with what a recipe means."""
    script = (
        "import sys; from fuzzer.prompts import Recipe; from fuzzer.prompts.ids import IdPrompts;"
        "from fuzzer.prompts.vocabulary import guesses; p = IdPrompts(next(guesses()));"
        "[sys.stdout.buffer.write(p.build(Recipe('ids', 5000, c, '7', '3'))) for c in ('words', 'repeat', 'random')]"
    )
    there = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stdout
    prompts = IdPrompts(next(guesses()))
    here = b"".join(prompts.build(Recipe("ids", 5000, content, "7", "3")) for content in ("words", "repeat", "random"))
    assert there == here
    assert hashlib.sha256(here).hexdigest().startswith(GOLDEN)


@pytest.mark.anyio
async def test_a_text_recipe_gives_its_bytes_again(known: Known) -> None:
    """Even where the first source had proved a longer text before."""
    used = await PromptSource.open(tokenizer=str(known.folder))
    fresh = await PromptSource.open(tokenizer=str(known.folder))
    for content in ("words", "code", "cjk"):
        await used.build(mode="text", tokens=3000, content=content)
        recipe = Recipe("text", 2500, content)
        assert (await used.rebuild(recipe)).json == (await fresh.rebuild(recipe)).json


# --- what there can be no prompt for ---


def test_a_prompt_of_nothing_is_refused() -> None:
    with pytest.raises(PromptError, match="ask for 1 or more"):
        Recipe("ids", 0)


def test_an_unknown_content_is_refused_with_the_known_ones() -> None:
    with pytest.raises(PromptError, match=r"no content is called prose: use one of words, repeat, .*corpus:FILE"):
        Recipe("ids", 9, "prose")


@pytest.mark.anyio
async def test_running_text_needs_a_tokenizer() -> None:
    source = await PromptSource.open()
    with pytest.raises(PromptError, match="code needs a tokenizer: pass --tokenizer"):
        await source.build(mode="ids", tokens=100, content="code")
    with pytest.raises(PromptError, match="cjk needs a tokenizer: pass --tokenizer"):
        await source.build(mode="text", tokens=100, content="cjk")


@pytest.mark.anyio
async def test_a_corpus_that_is_none_is_refused(source: PromptSource, tmp_path: Path) -> None:
    (tmp_path / "empty").write_text(" \n")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    for name, words in (("absent", "cannot be read"), ("binary", "UTF-8"), ("empty", "no text in it")):
        with pytest.raises(PromptError, match=words):
            await source.build(mode="text", tokens=100, content=f"corpus:{tmp_path / name}")

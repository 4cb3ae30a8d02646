"""Is a calibration accepted where the counts add up, and refused where they do not?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzzer.prompts import PromptSource
from fuzzer.prompts.calibration import ALPHABETS, fitted, least, lengths, offset, room
from fuzzer.prompts.page import MARKERS
from fuzzer.prompts.recipe import HEAD

if TYPE_CHECKING:
    from targets.base import Mode, Prompt
    from tests.unit.prompts.conftest import Known

COMMON = ALPHABETS[0]


@given(added=st.integers(0, 300))
def test_one_token_a_word_and_something_round_it(added: int) -> None:
    assert offset(lengths(COMMON), {sent: sent + added for sent in lengths(COMMON)}) == added


@given(added=st.integers(-3, 300), at=st.sampled_from(lengths(COMMON)), wrong=st.integers(-20, 20))
def test_counts_that_do_not_add_up_are_refused(added: int, at: int, wrong: int) -> None:
    usages = {sent: sent + added for sent in lengths(COMMON)}
    usages[at] += wrong
    assert (offset(lengths(COMMON), usages) is None) == (wrong != 0 or added < 0)


def test_an_answer_that_is_missing_is_no_agreement() -> None:
    assert offset(lengths(COMMON), {16: 17}) is None
    assert offset(lengths(COMMON), {}) is None


@given(ground=st.integers(least(), 2_000), alphabet=st.sampled_from(ALPHABETS))
def test_a_calibration_stays_on_its_ground_and_holds_every_word_at_three_lengths(
    ground: int, alphabet: tuple[str, ...]
) -> None:
    words = fitted(alphabet, ground)
    sent = lengths(words, ground)
    assert len(sent) >= 3
    assert max(sent) <= ground
    assert all(length >= HEAD + len(words) for length in sent[1:])
    assert set(words) <= set(alphabet)
    assert words == alphabet or HEAD + 2 * (len(words) + 1) > ground, "as many as there is room for"


@pytest.mark.anyio
@pytest.mark.parametrize("ground", [100, 300, 500, 900])
async def test_no_text_of_a_calibration_is_above_the_ground_where_a_byte_is_a_token(ground: int) -> None:
    def tokens(prompt: Prompt) -> int:
        return len(json.loads(prompt.json))

    source = await PromptSource.open()
    first = await source.build(mode="text", tokens=HEAD, seed="calibration", head="ground")
    sent = await source.calibration("text", room(ground, tokens(first)))
    assert max(map(tokens, sent[:2])) <= ground, "they do not add up: none is sent after the second one"


@given(ground=st.integers(least(), 2_000), added=st.integers(-8, 300))
def test_the_room_of_a_calibration_is_less_what_may_be_a_template(ground: int, added: int) -> None:
    assert least() <= room(ground, HEAD + added) <= max(ground - max(added, 0), least())
    assert room(ground, HEAD) == ground


@pytest.mark.anyio
async def test_little_ground_is_calibrated_with_fewer_words(known: Known) -> None:
    source = await PromptSource.open()
    prompts = await source.calibration("text", 100)
    assert [prompt.tokens for prompt in prompts] == [16, 58, 100]
    if source.calibrate({prompt.tokens: known.count(json.loads(prompt.json)) for prompt in prompts}) == 0:
        prompt = await source.build(mode="text", tokens=2900, head="long")
        assert known.count(json.loads(prompt.json)) == 2900
        assert set(json.loads(prompt.json).split()) <= set(COMMON[:42])


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["text", "chat"])
async def test_texts_are_exact_once_calibrated(known: Known, mode: Mode) -> None:
    """As a caller does it who has nothing but the server's `usage`."""
    source = await PromptSource.open()
    assert source.estimated
    assert (await source.build(mode="text", tokens=50)).estimated

    def usage(body: bytes) -> int:
        value = json.loads(body)
        return known.count(value if mode == "text" else value[0]["content"]) + 7

    while prompts := await source.calibration(mode):
        assert max(prompt.tokens for prompt in prompts) < 1100
        learnt = source.calibrate({prompt.tokens: usage(prompt.json) for prompt in prompts})
        assert learnt in {None, 7}
    if learnt is None:  # this family has no common words of one token
        assert source.estimated
        assert any(known.count(f"a {word}") > known.count("a") + 1 for word in MARKERS)
        return
    for tokens in (1, 16, 500, 2900):
        prompt = await source.build(mode=mode, tokens=tokens, head=tokens)
        assert usage(prompt.json) == tokens + 7
        assert not prompt.estimated


@pytest.mark.anyio
async def test_where_nothing_adds_up_it_stays_an_estimate() -> None:
    source = await PromptSource.open()
    rounds = 0
    while prompts := await source.calibration("text"):
        rounds += 1
        assert source.calibrate({prompt.tokens: len(prompt.json) for prompt in prompts}) is None
    assert rounds == len(ALPHABETS)
    assert (await source.build(mode="text", tokens=50)).estimated

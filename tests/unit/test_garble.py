"""Is garbage told from text, and a model that loops by nature from one that broke?"""

from __future__ import annotations

import pytest

from fuzzer.garble import garbled, repeats
from fuzzer.model import Baseline


@pytest.mark.parametrize(
    "text", ["see www.example.com ...", "== a ==", "no no no, he said", "tuk tuk tuk went the car", "IIII"]
)
def test_ordinary_text_may_repeat_itself_a_little(text: str) -> None:
    assert not repeats(text)


@pytest.mark.parametrize(
    "text", [" Quest Quest Quest Quest now", "oreauoreauoreauoreau", "!!!!!!!!!!!!", "word word\nword word"]
)
def test_a_model_that_loops_by_nature(text: str) -> None:
    assert repeats(text)


@pytest.mark.parametrize(
    "text", ["the the the the the the the the ", "!!!!!!!!!!!!!!!!", "0 0 0 0 0 0 0 0 0 0", "oreau" * 9 + "ore"]
)
def test_one_token_over_and_over(text: str) -> None:
    assert garbled(text, 32, Baseline())
    assert garbled(text, 32, Baseline(repeats=True)) is None


@pytest.mark.parametrize(
    "text", ["a quick brown fox", "the the the quick fox", "1 2 3 4 5 6 7 8 9", "ha ha ha, said the old man"]
)
def test_text_is_no_garbage(text: str) -> None:
    assert garbled(text, 32, Baseline()) is None


def test_the_search_for_repetitions_is_quick_on_hostile_text() -> None:
    for hostile in ("a" * 4096, "ab" * 2048 + "c", ("x" * 23 + " ") * 170, " " * 4096):
        garbled(hostile, 4096, Baseline())
        repeats(hostile)

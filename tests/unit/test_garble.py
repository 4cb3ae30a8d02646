"""Is garbage told from text, and a model that loops by nature from one that broke?"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzzer.model import Baseline
from fuzzer.outcome.garble import garbled, repeats, runs_out, spoken
from targets.base import Reply, Usage


@pytest.mark.parametrize(
    "text",
    ["see www.example.com ...", "== a ==", "no no no, he said", "tuk tuk tuk went the car", "IIII", "so.\n\n\n\n"],
)
def test_ordinary_text_may_repeat_itself_a_little(text: str) -> None:
    assert not repeats(text)


@pytest.mark.parametrize(
    "text",
    [
        " Quest Quest Quest Quest now",
        "oreauoreauoreauoreau",
        "!!!!!!!!!!!!",
        "word word\nword word",
    ],
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
    "text",
    [
        "<|reserved_special_token_17|>" * 32,
        "<|a|><|b_1|> <|im_start|><|im_end|> and",
        "<pad><pad><unk></s><unused12>",
        "<0xE2><0x80><0x99>",
    ],
)
def test_special_tokens_by_their_names(text: str) -> None:
    assert garbled(text, 4, Baseline())
    assert garbled(text, 4, Baseline(repeats=True))
    assert garbled(text, 4, Baseline(leaks=True, repeats=True)) is None


def test_a_special_token_among_words_is_text() -> None:
    assert garbled("the end of it all, my friends, and so good night to you.<|im_end|>", 16, Baseline()) is None


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("You" + "!" * 31, 32),
        (" the quick brown fox jumps over lazy dogs" + "!" * 24, 32),
        (" the quick brown fox jumps over lazy dogs" + "!" * 120, 128),
        ("Sure, here it is:" + " the" * 26, 32),
        ("好的" + "的" * 30, 32),
        ("You" + "!" * 4093, 16_000),  # no more than that is kept of a text
        (" the quick brown fox jumps over a lazy dog while seven tall" + "!" * 20, 32),
        (" it's what the old man's dogs don't eat: so he said" + " the" * 17, 32),
    ],
)
def test_a_few_good_words_and_then_one_token_to_the_end(text: str, tokens: int) -> None:
    assert garbled(text, tokens, Baseline())
    assert garbled(text, tokens, Baseline(repeats=True)) is None


@pytest.mark.parametrize(
    "text",
    [
        " 1." + "\n" * 30,
        " The" + " " * 31,
        "Well, then" + "\n\n" * 29,
        "So" + " \n" * 15,
        "So" + " \n\n\n\n \n" * 5,
    ],
)
def test_a_few_good_words_and_then_nothing(text: str) -> None:
    assert garbled(text, 32, Baseline())
    assert garbled(text, 32, Baseline(repeats=True)) is None
    assert garbled(text, 32, Baseline(runs_out=True)) is None


def test_that_good_answers_run_out_in_blanks_excuses_no_other_end() -> None:
    assert runs_out("and so it ends." + "\n" * 8)
    assert runs_out("class P:\n    def f(self):\n        ")
    assert not runs_out("so.\n\n\n\n")
    assert garbled("You" + "!" * 31, 32, Baseline(runs_out=True))


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("I say: the quick brown fox, the quick brown fox" + ", the quick brown fox" * 4, 32),  # a phrase
        ("Well" + " yes, no," * 7, 32),  # two words
        ("word " * 2 + "and so on and on it went for all of them until the end of the day!!!!!!!!!!!!", 32),
        ("A table of what was seen and what was asked:\n" + "-" * 80, 14),  # a ruler may be one token
        ("Wait" + "." * 11, 12),
        ("!" * 24 + " You said that, and I heard it", 32),  # it came back to its senses
        (" the quick brown fox jumps over a lazy dog while seven tall ships sail past" + "!" * 16, 32),  # half of it
        ("Ein Inhaltsverzeichnis der Verwaltungsvorschriften der Länder und des Bundes:\n" + "-" * 40, 32),
        ("That is all there is to say of it.\n\n\n\n\n\n\n", 16),  # text that ends in blanks, as models do
        ("throw new IllegalArgumentException(String.valueOf(name));\n" + " " * 20, 32),  # an indent is one token
        ("# これは長い説明である\n" + " " * 20, 25),
        ("commit 1f3a9c\n" + " " * 17, 32),
        ("\n".join(str(number) for number in range(1, 17)), 32),
    ],
)
def test_what_is_no_single_token_or_comes_late_is_text(text: str, tokens: int) -> None:
    assert garbled(text, tokens, Baseline()) is None


UNITS = st.text("ab!?.0 \n", min_size=1, max_size=6).filter(lambda unit: len(unit.split()) <= 1)


@given(st.lists(st.sampled_from([" the", " fox", " you", "1"]), max_size=18), UNITS, st.integers(1, 40))
def test_no_answer_is_garbled_by_its_own_yardstick(head: list[str], unit: str, times: int) -> None:
    text, tokens = "".join(head) + unit * times, len(head) + times
    if garbled(text, tokens, Baseline(has_text=bool(text.strip()))):
        assert repeats(text) or runs_out(text)


@pytest.mark.parametrize(
    "text", ["a quick brown fox", "the the the quick fox", "1 2 3 4 5 6 7 8 9", "ha ha ha, said the old man"]
)
def test_text_is_no_garbage(text: str) -> None:
    assert garbled(text, 32, Baseline()) is None


def test_the_search_for_repetitions_is_quick_on_hostile_text() -> None:
    for hostile in ("a" * 4096, "ab" * 2048 + "c", ("x" * 23 + " ") * 170, " " * 4096, "a" + "\n" * 4096):
        garbled(hostile, 4096, Baseline())
        repeats(hostile)


@pytest.mark.parametrize(
    ("text", "told", "events", "finish", "tokens"),
    [
        ("a b", 2, 1, "length", 2),
        ("a b", None, 2, "length", 2),
        ("!!!!", None, 1, "length", 8),  # a body of its own has one event
        ("", 0, 0, "stop", 8),
        ("", 1, 1, "stop", 8),
        ("", 1, 1, "eos_token", 8),
        ("", 1, 1, "length", 1),  # no more fitted
    ],
)
def test_by_how_many_tokens_a_text_is_judged(
    text: str, told: int | None, events: int, finish: str, tokens: int
) -> None:
    reply = Reply(True, 200, text=text, events=events, finish_reason=finish, usage=Usage(completion_tokens=told))
    assert spoken(reply, 8) == tokens

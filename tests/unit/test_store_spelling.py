"""Is a known secret found in every spelling, and what a cut has left of it, and nothing of anybody else's?"""

from __future__ import annotations

import html
import json
import time
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzzer import lastwords
from fuzzer.outcome import wording
from fuzzer.report.plain import plain
from fuzzer.store.masking import MASK, Secrets
from targets.base import Reply, ServerError

KEY = "sk-Zq81-Wn52-Lp07-Rt93-Xv64-Kd28"
HEX = "9f3c7a1e5b2d8046c1e94b7d20a58f63"
DRAWN = "kA9+/zT4==+/Vb7&<Qm'31"
KNOWN = Secrets([KEY, HEX, DRAWN])
FAMILY = Secrets(["sk-ant-api03-Xk3j5H6k7L8m9N0p", "qwen2.5-72b-instruct-7391-xy", "1234567890123456789012"])
calm = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@calm
@given(st.sampled_from([KEY, HEX, DRAWN]), st.data())
def test_of_a_secret_that_was_cut_too_little_is_left_to_be_one(secret: str, data: st.DataObject) -> None:
    """At the end of a text, before what a sentence puts after a quotation, and at the beginning of a text."""
    kept = data.draw(st.integers(17, len(secret) - 1))
    after = data.draw(st.sampled_from(["", '"', "'", ")", "…", ": look there", '\\n"}', "\n", ", and"]))
    for text in (f"it says: {secret[:kept]}{after}", f"{secret[len(secret) - kept :]}{after}"):
        hidden = KNOWN.out_of(text)
        assert not any(secret[at : at + 8] in hidden for at in range(len(secret) - 7))
        assert MASK in hidden
        assert hidden.endswith(after[1:])  # the first may be the next of the secret itself


@pytest.mark.parametrize("bound", [40, 160, 300, 400])
def test_no_bound_of_ours_parts_a_secret_before_it_is_found(bound: int) -> None:
    said = f"RuntimeError: {'x' * (bound - 14 - 28)}{KEY} was sent"
    words = wording.words(Reply(sent=True, status=500, error=ServerError(said)))
    for shown in (words, plain(said, bound), lastwords.read(said).signature, said[:bound]):
        assert "Zq81" not in KNOWN.out_of(f'the server said "{shown}"; look there')


def test_the_end_of_a_secret_that_begins_what_is_kept_of_a_log_is_masked() -> None:
    lines = "".join(f"RuntimeError: {'y' * 340}\n" for _ in range(23))
    kept = lastwords.read(f"ValueError: {KEY}\n{lines}").lines
    assert kept.startswith(KEY[5:13]), "the cut is in the middle of it"
    assert KNOWN.out_of_json({"last_words": kept}) == {"last_words": f"{MASK}\n{lines.strip()}"}


@pytest.mark.parametrize(
    "text",
    [
        "keys begin with sk-ant-api03- or sk-ant-",
        "your key is sk-ant-api03-Zz81Wn52Lp07Rt93",  # somebody else's of the same family
        "the model qwen2.5-72b is gone, qwen2.5-72b-instruct2 is there",
        "1234567890 tokens, 123456789012 bytes",
        "sk-",
        "----------------",
    ],
)
def test_what_begins_like_a_secret_and_is_another_word_stays(text: str) -> None:
    assert FAMILY.out_of(text) == text


def test_names_numbers_and_members_are_cut_by_nobody_and_stay() -> None:
    said = {"model": "qwen2.5-72b-instruct", "engine": HEX[:20], "n": 1234567890123456789, HEX[:20]: 1, "role": HEX[:9]}
    assert Secrets([HEX, "qwen2.5-72b-instruct-7391-xy"]).out_of_json(said) == said


@pytest.mark.parametrize("cut", [None, 20])
@pytest.mark.parametrize(
    "written",
    [quote(DRAWN, safe=""), html.escape(DRAWN), json.dumps(DRAWN)[1:-1], DRAWN.replace("/", r"\/")],
)
def test_a_secret_is_found_as_urls_html_and_json_write_it_also_cut(written: str, cut: int | None) -> None:
    assert KNOWN.out_of(f"denied: {written[:cut]}") == f"denied: {MASK}"


def test_of_several_spellings_the_one_that_goes_furthest_is_masked() -> None:
    assert Secrets(["abc4efgh&-Lp07-Rt93-Xv64"]).out_of("bad abc4efgh&-Lp07-Rt93.") == f"bad {MASK}."


@pytest.mark.parametrize(
    "written",
    [
        "kA9%2b%2fzT4%3d%3d%2b%2fVb7%26%3cQm%2731",  # small letters
        quote(quote(DRAWN, safe=""), safe=""),  # a URL within another
        "kA9+/zT4==+/Vb7&amp;&lt;Qm&#39;31",
        "kA9+/zT4==+/Vb7&#38;&#x3C;Qm&apos;31",
        r"kA9+\/zT4\u003d\u003D+\/Vb7\u0026\u003cQm'31",
    ],
)
def test_a_secret_is_found_however_it_is_escaped(written: str) -> None:
    assert KNOWN.out_of(f"<p>bad key {written}</p>") == f"<p>bad key {MASK}</p>"


def test_a_secret_that_is_no_unicode_is_looked_for_too() -> None:
    assert Secrets(["pa\udc80ss%word-7391"]).out_of("pa\udc80ss%word-7391 %") == f"{MASK} %"


def test_many_beginnings_take_no_more_time_than_their_number() -> None:
    began = time.process_time()
    KNOWN.out_of(f"{HEX[:9]}x {HEX[:9]} " * 2_000)
    assert time.process_time() - began < 5


def test_what_is_masked_is_not_looked_through_again() -> None:
    """A key that repeats itself begins at each of its characters: each was compared with all spellings."""
    key = "a" * 999 + "b"
    began = time.process_time()
    assert Secrets([key]).out_of(f"{key[:-1]} " * 300) == f"{MASK} " * 300
    assert time.process_time() - began < 1

"""Is text of strangers harmless on a screen?"""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzzer.report.plain import plain


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("CUDA error", "CUDA error"),
        ("two\nlines\r\nand\ttabs", "two lines and tabs"),
        ("\x1b[31mred\x1b[0m", "[31mred[0m"),
        ("\x1b]0;title\x07x", "]0;titlex"),
        ("a\u202eb\u200bc\x00d\x9be", "abcde"),
        ("a\u2028b\x85c", "a b c"),
        ("\ud800", ""),
        ("größer 大きい 🚀", "größer 大きい 🚀"),
        ("[bold]not markup[/bold]", "[bold]not markup[/bold]"),
    ],
)
def test_control_characters_go_and_words_stay(text: str, shown: str) -> None:
    assert plain(text) == shown


@given(st.text(), st.integers(1, 50))
def test_one_bounded_line_without_anything_that_moves_the_cursor(text: str, limit: int) -> None:
    shown = plain(text, limit)
    assert len(shown) <= limit
    assert all(unicodedata.category(char)[0] != "C" for char in shown)
    assert "\n" not in shown
    assert plain(shown, limit) == shown


def test_a_cut_shows() -> None:
    assert plain("x" * 10, 4) == "xxx…"

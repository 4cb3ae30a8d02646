"""Is text of strangers harmless on a screen?"""

from __future__ import annotations

import shlex
import unicodedata
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzzer.report import xml
from fuzzer.report.plain import plain, visible
from fuzzer.report.words import argument


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


def test_what_stands_in_lines_and_columns_stays_there() -> None:
    assert visible("a  b\n\x1b[2Jc\r\td\u2028e\u202e") == "a  b\n[2Jc  d e"


@given(st.text())
def test_a_word_of_a_command_line_is_one_word_in_one_line_for_a_shell(text: str) -> None:
    shown = argument(text)
    assert len(shown.splitlines()) == 1
    assert all(unicodedata.category(char)[0] != "C" for char in shown)
    assert shlex.split(f"ctxfuzz {shown} --json") == ["ctxfuzz", visible(text).replace("\n", " "), "--json"]


@pytest.mark.parametrize("word", ["last", "1m8mcp0qyxwb:3", "a  b", "größer"])
def test_a_word_that_anybody_sees_is_the_word(word: str) -> None:
    assert shlex.split(argument(word)) == [word]


@given(st.text(), st.text())
def test_any_text_is_taken_by_a_reader_of_xml(name: str, words: str) -> None:
    root = ET.Element("testsuite", name=name)
    ET.SubElement(root, "testcase").text = words
    read = ET.fromstring(xml.written(root))
    assert (read.get("name"), read[0].text or "") == (visible(name), visible(words))

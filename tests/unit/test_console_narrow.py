"""What does a terminal of 80 columns keep?"""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from fuzzer.console.panel import runs_table, show_lines

DUTY = ("1m8m9rvy3ryj", "2026-11-29 17:00", "bisect", "m" * 40, "http://gpu-7.example:8000", "done", "death", "262,096")
GATE = (*DUTY[:2], "verify", *DUTY[3:6], "the cap does not hold", "262,096")


def drawn(row: tuple[str, ...], width: int) -> tuple[str, str]:
    stream = io.StringIO()
    Console(file=stream, width=width).print(runs_table([row], width))
    head, line = stream.getvalue().splitlines()
    return head, line


@pytest.mark.parametrize("row", [DUTY, GATE])
def test_the_list_keeps_when_what_and_where_at_80_columns(row: tuple[str, ...]) -> None:
    head, line = drawn(row, 80)
    for name in ("run", "started", "command", "url", "finding", "cap"):
        assert name in head
    for cell in ("1m8m9rvy3ryj", "11-29 17:00", "gpu-7.ex", row[6], "262,096"):
        assert cell in line


def test_a_wide_list_is_not_shortened() -> None:
    _, line = drawn(DUTY, 200)
    assert "2026-11-29 17:00" in line
    assert "http://gpu-7.example:8000" in line


def test_lines_break_between_words_and_only_a_longer_word_is_folded() -> None:
    stream = io.StringIO()
    show_lines(Console(file=stream, width=20), ["engine: presumably dead " + "x" * 30])
    lines = [line.rstrip() for line in stream.getvalue().splitlines()]
    assert lines[:2] == ["engine: presumably", "dead"]
    assert "".join(lines[2:]) == "x" * 30

"""Do numbers read as people write them?"""

from __future__ import annotations

import pytest

from fuzzer.report.words import plural, span, tokens


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.412, "0.41 s"),
        (9.996, "10.0 s"),
        (12.34, "12.3 s"),
        (59.94, "59.9 s"),
        (59.96, "1m 00s"),
        (192, "3m 12s"),
        (3599.6, "1h 00m"),
        (3840, "1h 04m"),
    ],
)
def test_spans(seconds: float, text: str) -> None:
    assert span(seconds) == text


def test_tokens() -> None:
    assert tokens(1048576) == "1,048,576"
    assert tokens(None) == "-"


def test_plurals() -> None:
    assert [plural(1, "death"), plural(2, "death"), plural(1200, "canary")] == ["1 death", "2 deaths", "1,200 canaries"]

"""Is the answer's text garbage although short answers had text? PURE.

The yardstick is the run's own baseline: a tiny or odd model that repeats itself in short answers proves nothing by
repeating itself in long ones.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fuzzer.model import Baseline

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_ONE_UNIT = re.compile(r"\s*(\S.{0,23}?|\S)\s*(?:\1\s*){7,}\S{0,24}\s*", re.DOTALL)
_RUN = re.compile(r"(\S{3,24}?)(?:\s*\1){3,}|(\S)\2{11,}", re.DOTALL)  # "www", "..." and "==" are ordinary text
_NAN = re.compile(r"^\W*(?:nan\W*){2,}$", re.IGNORECASE)


def garbled(text: str, tokens: int, baseline: Baseline) -> str | None:
    """Why a text of `tokens` output tokens is garbage, as half a sentence, or None."""
    if not text.strip():
        return "the answer is empty" if baseline.has_text and tokens >= 4 else None
    if not baseline.has_replacement and text.count(REPLACEMENT) * 4 > len(text):
        return "the answer is mostly replacement characters"
    if _NAN.match(text):
        return "the answer is NaN"
    if tokens >= 8 and not baseline.repeats and _ONE_UNIT.fullmatch(text[:2048]):
        return f"the answer is one token over and over ({text.strip()[:12]!r})"
    return None


def repeats(text: str) -> bool:
    """True where a good text says the same word four times in a row: such a model loops by nature."""
    return bool(_RUN.search(text[:2048]))

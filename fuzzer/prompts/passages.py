"""Which running text does a passage consist of? PURE: code and CJK of our own making, or a corpus, in pieces."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from itertools import cycle, islice

from fuzzer.prompts.content import drawn
from fuzzer.prompts.errors import PromptError
from fuzzer.prompts.page import CJK, CODE, WORDS

PLACES_TO_CUT = re.compile(r"(?s).{500,2000}?(?= \w)|.{1,2000}")  # before a space and a word, if one comes soon


def pieces(content: str, corpus: str, seed: str) -> Iterator[str]:
    """Endless running text in pieces of some hundred tokens, each of which begins with white space.

    `corpus` is the text of the file that `corpus:FILE` names; it comes round and round, wherever it ends.
    """
    match content:
        case "code":
            return _program(seed)
        case "cjk":
            return _clauses(drawn(CJK, seed))
        case _:
            return _round(PLACES_TO_CUT.findall(corpus))


def _round(parts: Sequence[str]) -> Iterator[str]:
    if not any(part.strip() for part in parts):
        raise PromptError("the corpus has no text in it: name a file with words in it")
    return cycle([part if part[0].isspace() else f" {part}" for part in parts])


def _program(seed: str) -> Iterator[str]:
    draw = random.Random(seed).random  # noqa: S311  (reproducible on purpose)
    while True:
        shapes = [CODE[0], *(CODE[int(draw() * len(CODE))] for _ in range(8))]
        yield "".join(
            shape.format(
                **{name: WORDS[int(draw() * len(WORDS))] for name in "abcde"},
                n=int(draw() * 1000),
                m=int(draw() * 100) + 2,
            )
            for shape in shapes
        )


def _clauses(clauses: Iterator[str]) -> Iterator[str]:
    while True:
        yield " " + " ".join(islice(clauses, 12))

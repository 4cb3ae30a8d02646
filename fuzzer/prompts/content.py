"""In which order do a prompt's tokens come? PURE: seeded streams, the same in every process and Python version.

An alphabet is a sequence of units that are one token each: ids, or words. Randomness comes from
`random.Random(str).random()` alone, whose stream Python promises to keep. So a recipe rebuilds its bytes.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Generic, TypeVar

from fuzzer.prompts.errors import PromptError
from fuzzer.prompts.page import COPY_INSTRUCTION, NEEDLE_FACTS, NEEDLE_QUESTION, NEEDLES
from fuzzer.prompts.recipe import HEAD, Recipe

Unit = TypeVar("Unit")

PERIOD = 500  # tokens: further apart than lookup drafters draft ahead, and soon enough to come round in a small prompt
COPIED = 1024  # tokens: `copy` says at most so many again


@dataclass(frozen=True, slots=True)
class Planted(Generic[Unit]):
    """What a `needle` prompt says beside its words: a fact at its head and at its tail, the question, the needles."""

    head: Sequence[Unit]
    tail: Sequence[Unit]
    question: Sequence[Unit]
    needles: Sequence[Unit]

    @classmethod
    def of(cls, units: Mapping[str, Unit]) -> Planted[Unit] | None:
        """In the units of these words, without those that have none; None where a word of a needle has none."""
        said = " ".join(NEEDLES)
        if not all(word in units for word in said.split()):
            return None
        return cls(*(spelled(text, units) for text in (*NEEDLE_FACTS, NEEDLE_QUESTION, said)))


class Sequences(Generic[Unit]):
    """Prompts over an alphabet of two units or more. A body is drawn once; a longer prompt only draws what is new.

    `units` are those of words that are one token: what `copy` and `needle` say is made of them.
    """

    def __init__(self, alphabet: Sequence[Unit], units: Mapping[str, Unit]) -> None:
        self._alphabet = alphabet
        self._instruction = spelled(COPY_INSTRUCTION, units)
        self._planted = Planted.of(units)
        self._drawn: dict[tuple[str, str], tuple[list[Unit], Iterator[Unit]]] = {}

    def head(self, recipe: Recipe) -> list[Unit]:
        """The recipe's own first tokens: at most 16."""
        draws = drawn(self._hay(recipe), f"{recipe.seed}/head/{recipe.front}")
        return list(islice(draws, min(HEAD, recipe.tokens)))

    def body(self, recipe: Recipe) -> list[Unit]:
        """All that follows the head. A prompt that shares only a part ends with units of its own."""
        count = max(0, recipe.tokens - HEAD)
        key = (recipe.content, recipe.seed)
        if key not in self._drawn:
            self._drawn[key] = ([], stream(recipe.content, self._hay(recipe), f"{recipe.seed}/{recipe.content}"))
        units, more = self._drawn[key]
        units.extend(islice(more, max(0, count - len(units))))
        match recipe.content:
            case "copy":
                body = laid_over(units, count, self._instruction)
            case "needle" if self._planted is not None:
                body = planted(units, count, self._planted)
            case _:
                body = units[:count]
        return body if recipe.shared is None else self._parted(body, recipe.shared - HEAD, recipe)

    def _hay(self, recipe: Recipe) -> Sequence[Unit]:
        """The alphabet of all that is no fact. Raises PromptError where a needle cannot be said."""
        if recipe.content != "needle":
            return self._alphabet
        if self._planted is None:
            raise PromptError(f"needle needs a tokenizer with {' and '.join(NEEDLES)} as words: use another content")
        return [unit for unit in self._alphabet if unit not in self._planted.needles]

    def _parted(self, body: Sequence[Unit], at: int, recipe: Recipe) -> list[Unit]:
        """The body as far as it is common; the unit after that is certainly another one."""
        own = drawn(self._alphabet, f"{recipe.seed}/own/{recipe.head}")
        first = (unit for unit in own if unit != body[at])
        return [*body[:at], *islice(first, 1), *islice(own, len(body) - at - 1)] if at < len(body) else list(body)


def stream(content: str, alphabet: Sequence[Unit], seed: str) -> Iterator[Unit]:
    """An endless order of an alphabet. `copy` and `needle` are `words` until something is laid over them."""
    match content:
        case "words" | "copy" | "needle":
            return _walk(alphabet, seed)
        case "repeat":
            return cycle(shuffled(alphabet, seed)[:PERIOD])
        case "random":
            return drawn(alphabet, seed)
        case _:
            raise PromptError(f"no content is called {content}: use words, repeat, copy, random, code, cjk or a corpus")


def shuffled(alphabet: Sequence[Unit], seed: str) -> list[Unit]:
    """All units once, in the seed's order."""
    draw = random.Random(seed).random  # noqa: S311  (reproducible on purpose)
    order = sorted(range(len(alphabet)), key=[draw() for _ in alphabet].__getitem__)
    return [alphabet[at] for at in order]


def drawn(alphabet: Sequence[Unit], seed: str) -> Iterator[Unit]:
    """Units drawn at random, each as likely as the next."""
    draw, size = random.Random(seed).random, len(alphabet)  # noqa: S311  (reproducible on purpose)
    while True:
        yield alphabet[int(draw() * size)]


def _walk(alphabet: Sequence[Unit], seed: str) -> Iterator[Unit]:
    """Laps round a ring of a prime number of units, every lap with another stride.

    Two neighbours a stride apart meet once a lap, and each stride has one lap: no pair comes twice in p * (p - 1)
    units, and no unit comes twice in a lap. An endless text cannot repeat itself less.
    """
    ring = shuffled(alphabet, seed)[: _largest_prime(len(alphabet))]
    size = len(ring)
    for stride in cycle(shuffled(range(1, size), f"{seed}/strides")):
        for at in range(0, size * stride, stride):
            yield ring[at % size]


def _largest_prime(limit: int) -> int:
    return next(n for n in range(limit, 1, -1) if all(n % d for d in range(2, int(n**0.5) + 1)))


def spelled(text: str, units: Mapping[str, Unit]) -> list[Unit]:
    """The units of a text's words, as far as they have one."""
    return [units[word] for word in text.split() if word in units]


def planted(body: Sequence[Unit], tokens: int, told: Planted[Unit]) -> list[Unit]:
    """`needle`: one fact before the body, one behind it, then the question. Too short a prompt has none in it."""
    hay = tokens - len(told.head) - len(told.tail) - len(told.question)
    return [*told.head, *body[:hay], *told.tail, *told.question] if hay >= 0 else list(body[:tokens])


def laid_over(body: Sequence[Unit], tokens: int, instruction: Sequence[Unit]) -> list[Unit]:
    """`copy`: the body's end is the passage, then the instruction, then the passage's first half again.

    So the answer that was asked for is the passage's second half. Too short a prompt has no copy in it.
    """
    repeated = min(COPIED, max(0, tokens - len(instruction)) // 3)
    told = tokens - len(instruction) - repeated
    if not repeated:
        return list(body[:tokens])
    start = told - 2 * repeated
    return [*body[:told], *instruction, *body[start : start + repeated]]

"""Which token ids are ordinary text? Learnt once, from a page of our own words.

Never sent: special tokens, ids beyond the vocabulary, byte fragments. An id is ordinary because it came out of
ordinary ASCII words (where a byte is a character, so that nothing is a fragment) and out of nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from fuzzer.prompts.page import MARKERS, RARE, WORDS

Encode = Callable[[Sequence[str]], Awaitable[Sequence[Sequence[int]]]]  # texts -> their ids, nothing added
Origin = Literal["local tokenizer", "server", "guess"]

ENOUGH = 256  # words of one token: with fewer, their pieces are taken too, so that prompts repeat less

# Without any tokenizer: above the special tokens and raw bytes of every family that we know, below the end of small
# vocabularies; the second window is for tiny ones.
WINDOWS = (range(1300, 2000), range(300, 500))


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Ids of ordinary text. `words` are those that are one token after a space, with that id."""

    origin: Origin
    ids: tuple[int, ...]
    words: Mapping[str, int] = field(default_factory=dict)
    marker: str = ""  # a word that is one token, and none of `words`
    marker_id: int = -1
    avoid: frozenset[int] = frozenset()


def guesses() -> Iterator[Vocabulary]:
    """Ids that are most likely ordinary, the likeliest first. One tiny request should try them."""
    return (Vocabulary("guess", tuple(window)) for window in WINDOWS)


async def learn(encode: Encode, origin: Origin, special: Collection[int] = ()) -> Vocabulary | None:
    """The vocabulary behind `encode`, or None where it has no two ordinary ids to tell.

    Costs two or three calls. `special` are ids that are known to be special; what `encode` puts around every text,
    unknowns and byte fallbacks show by themselves: they come out of text that no vocabulary has words for.
    """
    (rare,) = await encode([RARE])
    avoid = frozenset(special) | frozenset(rare)
    seen: set[int] = set()
    for marker in MARKERS:
        words = [word for word in WORDS if not word.startswith(marker)]
        (ids,) = await encode([f"so {marker} " + f" {marker} ".join(words) + f" {marker}"])
        seen.update(ids)
        mark = Counter(ids).most_common(1)[0][0]
        parts = _split(ids, mark)
        if len(parts) == len(words) + 2:
            single = _single(dict(zip(words, parts[1:-1], strict=True)), avoid)
            ordinary = set(single.values()) if len(single) >= ENOUGH else seen - avoid
            return Vocabulary(origin, tuple(sorted(ordinary)), single, marker, mark, avoid)
    ordinary = seen - avoid
    return Vocabulary(origin, tuple(sorted(ordinary)), avoid=avoid) if len(ordinary) > 1 else None


def _split(ids: Sequence[int], mark: int) -> list[list[int]]:
    """What stands between the marks."""
    parts: list[list[int]] = [[]]
    for token in ids:
        if token == mark:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _single(parts: dict[str, list[int]], avoid: Collection[int]) -> dict[str, int]:
    """Words of one token that means this word alone (an unknown means many)."""
    ones = {word: ids[0] for word, ids in parts.items() if len(ids) == 1 and ids[0] not in avoid}
    times = Counter(ones.values())
    return {word: token for word, token in ones.items() if times[token] == 1}

"""At which lengths under a cap do engines like to fail? PURE.

Engines cut, pad and index by round numbers, so what they get wrong lies at, before or behind one: a power of two, a
prefill chunk, a captured graph, a block of the KV cache, the pool's end, and the last tokens under the limit, where
drafts reach past it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SMALLEST_POWER = 16
CHUNKS = (512, 2_048, 8_192, 16_384)  # prefill chunks that engines come with
CHUNK_MULTIPLES = 32  # of each chunk, from the first on
CAPTURES = range(8, 513, 8)  # batch sizes of captured graphs, in tokens
BLOCK = 16  # of a KV cache, where the engine does not tell
RESIDUES = 128  # the largest block of a KV cache; a residue of it tells those of all smaller ones


class Place(NamedTuple):
    """A prompt length, and what is there."""

    length: int
    what: str


def places(
    top: int,
    *,
    output_tokens: int,
    block: int = BLOCK,
    kv_tokens: int | None = None,
    draft_tokens: int | None = None,
    suspects: Iterable[int] = (),
) -> tuple[list[Place], list[Place]]:
    """All places up to `top`, the longest prompt: those that are tried first, and the many that come after them.

    Each length once, under the first name that it has.
    """
    first = [*_powers(top), *_end(top, block, draft_tokens or 0)]
    for value, name in (*_pool(kv_tokens), *((suspect, f"the suspect {suspect}") for suspect in suspects)):
        first += _around(value, name)
        first += _around(value - output_tokens, f"{name}, less the output")
        first += _around(value - output_tokens - (draft_tokens or 0), f"{name}, less the output and the drafts")
    later = [*_chunks(top), *_captures()]
    taken: set[int] = set()
    return _fitting(first, top, taken), _fitting(later, top, taken)


def residues(block: int) -> list[int]:
    """Every residue of the largest block, those that end and begin one first: a prompt of each fills blocks so far."""
    edges = [step + side for side in (0, 1, -1) for step in range(0, RESIDUES, max(block, 1))]
    return list(dict.fromkeys(value % RESIDUES for value in (0, 1, -1, *edges, *range(RESIDUES))))


def _fitting(found: Iterable[Place], top: int, taken: set[int]) -> list[Place]:
    kept = []
    for place in found:
        if 1 <= place.length <= top and place.length not in taken:
            taken.add(place.length)
            kept.append(place)
    return kept


def _around(value: int, what: str) -> list[Place]:
    return [Place(value, what), Place(value + 1, f"{what}, and one"), Place(value - 1, f"{what}, less one")]


def _powers(top: int) -> Iterator[Place]:
    power = SMALLEST_POWER
    while power <= top + 1:
        yield from _around(power, f"2^{power.bit_length() - 1}")
        if power >= CHUNKS[0]:
            yield from _around(3 * power, f"3 x 2^{power.bit_length() - 1}")
        power *= 2


def _end(top: int, block: int, draft_tokens: int) -> Iterator[Place]:
    for below in range(2 * (draft_tokens + 1) + block):
        yield Place(top - below, f"{below} tokens under the longest prompt")


def _pool(kv_tokens: int | None) -> tuple[tuple[int, str], ...]:
    return () if kv_tokens is None else ((kv_tokens, "the KV capacity"),)


def _chunks(top: int) -> Iterator[Place]:
    for chunk in CHUNKS:
        for count in range(1, min(top // chunk + 1, CHUNK_MULTIPLES) + 1):
            yield from _around(count * chunk, f"{count} x {chunk}")


def _captures() -> Iterator[Place]:
    for size in CAPTURES:
        yield from _around(size, f"a capture size of {size}")

"""How soon do samples meet what was planted, beside lengths drawn uniformly?

`python -m benchmarks.fuzz [PLANTS]` prints the table of docs/fuzz.md. A plant fails on some prompt lengths under a cap
of 262,144 tokens, whatever else is asked. Counted are the passes before it is met, 1,000 at most.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from statistics import fmean

from fuzzer.plans.samples import Grounds, samples

CAP = 262_144
MOST = 1_000
PLANTS = 200
KV = 180_224

Plant = Callable[[int], bool]


def drawn(draw: random.Random) -> dict[str, list[Callable[[], int]]]:
    """Where islands are planted, by kind."""
    return {
        "a power of two, or beside it": [lambda: 2 ** draw.randint(6, 17) + draw.choice((-1, 0, 1))],
        "a multiple of a chunk, or beside it": [
            lambda: draw.choice((2048, 8192)) * draw.randint(1, 30) + draw.choice((-1, 0, 1))
        ],
        "the last 2 (k + 1) + block tokens": [lambda: CAP - 1 - draw.randrange(2 * 8 + 16)],
        "the KV capacity, or beside it": [lambda: KV + draw.choice((-1, 0, 1))],
    }


def island(place: int, width: int, draw: random.Random) -> Plant:
    """So many lengths in a row, the place among them."""
    first = place - draw.randrange(width)
    return lambda length: first <= length < first + width


def residue(value: int) -> Plant:
    """Every length so many tokens past a multiple of 128, but for the shortest."""
    return lambda length: length % 128 == value and length >= 256


def met(plant: Plant, lengths: Iterator[int]) -> int | None:
    """Passes before the plant is met."""
    return next((at for at, length in enumerate(islice(lengths, MOST)) if plant(length)), None)


def ours(seed: int) -> Iterator[int]:
    return (spec.length for spec in samples(Grounds(cap=CAP, seed=seed, kv_tokens=KV, draft_tokens=7)))


def uniform(seed: int) -> Iterator[int]:
    draw = random.Random(f"{seed}/uniform")
    while True:
        yield draw.randint(1, CAP - 1)


def row(name: str, plants: list[Plant]) -> str:
    """One line of the table: the share that was met, and the passes before that (MOST where it was not)."""
    told = []
    for lengths in (ours, uniform):
        passes = [met(plant, lengths(seed)) for seed, plant in enumerate(plants)]
        share = fmean(one is not None for one in passes)
        told.append((share, fmean(MOST if one is None else one for one in passes)))
    (our_share, our_passes), (their_share, their_passes) = told
    times = f"{our_share / their_share:.1f}" if their_share else "-"
    return (
        f"| {name} | {our_share:.1%} | {our_passes:.0f} | {their_share:.1%} | {their_passes:.0f} | {times} "
        f"| {their_passes / max(our_passes, 1):.1f} |"
    )


def main(count: int) -> None:
    draw = random.Random("plants")
    print(
        "| planted | met within 1,000 | passes before | uniform: met | passes before | share: times | passes: times |"
    )
    print("|---|---|---|---|---|---|---|")
    for kind, (place,) in drawn(draw).items():
        for width in (1, 16, 128):
            plants = [island(place(), width, draw) for _ in range(count)]
            print(row(f"{kind}: {width} wide", plants))
    edges = [residue(draw.choice((0, 1, 127))) for _ in range(count)]
    print(row("a residue of 128: 0, 1 or 127", edges))
    blocks = [residue((16 * draw.randrange(8) + draw.choice((-1, 0, 1))) % 128) for _ in range(count)]
    print(row("a residue of 128 at the border of a block of 16", blocks))
    print(row("any residue of 128", [residue(draw.randrange(128)) for _ in range(count)]))
    anywhere = [island(draw.randint(1_000, CAP - 1_000), 1, draw) for _ in range(count)]
    print(row("anywhere: 1 wide", anywhere))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else PLANTS)

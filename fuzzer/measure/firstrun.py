"""Is the first-run effect gone? PURE.

The first generations of an engine's life load, compile and capture: 15.3 s, then 1.3 s. They only ever get faster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fuzzer.measure.reading import GRAIN_S, read_otherwise, tells_a_speed, times
from fuzzer.model import Role

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fuzzer.observation import Observation

MOST_WARM_UPS: Final = 6
FASTER: Final = 0.9  # of the best time so far: what gets faster by more is not warm yet
LEAP: Final = 0.25  # of all times so far: what gets there later was not warm before, whatever it seemed


def warm_since(life: Sequence[Observation]) -> int | None:
    """The number of the probe from which on this life of the engine was warm; None: not yet.

    It was not, whatever its warm-ups seemed, before a probe that was all at once much faster than all before it.
    """
    read = [one for one in life if tells_a_speed(one) and not read_otherwise(one)]
    took = [times(one) for one in read]
    if not is_warm([spent for one, spent in zip(read, took, strict=True) if one.spec.role is Role.WARM_UP]):
        return None
    leaps = (at for at in range(1, len(took)) if not all(_held(took[at], took[:at], LEAP)))
    return read[max(leaps, default=0)].seq


def is_warm(took: Sequence[tuple[float, float]]) -> bool:
    """True where the last warm-up was no faster than the best before it, neither in its prefill nor in its decode."""
    return len(took) > 1 and all(_held(took[-1], took[:-1], FASTER))


def _held(now: tuple[float, float], before: Sequence[tuple[float, float]], share: float) -> Iterator[bool]:
    """Of prefill and decode: is this one no shorter than that share of the shortest before?"""
    for took, best in zip(now, map(min, zip(*before, strict=True)), strict=True):
        yield took >= share * best or best - took <= GRAIN_S

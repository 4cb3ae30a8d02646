"""What does one measuring probe tell of the speed, and what forbids to believe it? PURE."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from fuzzer.observation import Observation
    from targets.scrape import DraftCounts

GRAIN_S: Final = 0.02  # what is below this is the clock's and the network's
SOME_CACHED: Final = (16, 0.01)  # tokens, or of the length: a template's first block is always the same


class Mark(StrEnum):
    """Why a probe gives no figure, or none to rely on."""

    PROVISIONAL = "provisional"  # the first-run effect may still be in it
    CONTENDED = "contended"  # others were served meanwhile
    CACHE = "cache"  # a cold prompt that came from the cache, or a warm one that did not
    UNTOLD = "untold"  # not counted, or all at once: too short a time to tell, or a stream that somebody held back


@dataclass(frozen=True, slots=True)
class Reading:
    """One measuring probe: decode speed in tokens a second and the first token's seconds, or why not."""

    turn: int  # which measuring probe of its cell it was, from 0
    speed: float
    first_token_s: float
    mark: Mark | None
    draft: DraftCounts | None


def decode_speed(seen: Observation) -> float | None:
    """Output tokens a second after the first; None where the answer was not streamed, or is too short to tell."""
    if seen.ttft_s is None or seen.completion_tokens is None or seen.completion_tokens < 2:
        return None
    decoding_s = seen.duration_s - seen.ttft_s
    return (seen.completion_tokens - 1) / decoding_s if decoding_s > 0 else None


def times(seen: Observation) -> tuple[float, float]:
    """Seconds to the first token, and from there to the end of the stream."""
    first = seen.duration_s if seen.ttft_s is None else seen.ttft_s
    return first, seen.duration_s - first


def reading_of(seen: Observation, turn: int, *, warm_since: int | None) -> Reading:
    """What a measuring probe tells, where its life of the engine was warm from that probe on; None: it never was."""
    mark = _mark(seen, warm=warm_since is not None and seen.seq >= warm_since)
    return Reading(turn, decode_speed(seen) or 0.0, seen.ttft_s or 0.0, mark, seen.draft)


def _mark(seen: Observation, *, warm: bool) -> Mark | None:
    if not tells_a_speed(seen):
        return Mark.UNTOLD
    if seen.contended:
        return Mark.CONTENDED
    if read_otherwise(seen):
        return Mark.CACHE
    return None if warm else Mark.PROVISIONAL


def tells_a_speed(seen: Observation) -> bool:
    """True where the decode took longer than clock and network can be off."""
    return decode_speed(seen) is not None and times(seen)[1] >= GRAIN_S


def read_otherwise(seen: Observation) -> bool:
    """True where the cache did what the cell says it does not: cold and warm are never one figure."""
    cached = seen.cached_tokens
    if cached is None:
        return False
    tokens, share = SOME_CACHED
    if seen.spec.cache == "cold":
        return cached > max(tokens, share * seen.length)
    return 2 * cached < (seen.length if seen.spec.shared is None else seen.spec.shared)

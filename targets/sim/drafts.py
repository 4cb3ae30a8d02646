"""How many draft tokens does the target accept? A fixed sequence with a given mean, geometric like a real one."""

from __future__ import annotations

from collections.abc import Iterator

from targets.sim.parts import Draft

MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15  # 2**64 / golden ratio: its multiples spread evenly, so short runs keep the mean


def draw(*parts: int) -> int:
    """64 well-mixed bits that depend on the parts alone (splitmix64)."""
    state = 0
    for part in parts:
        state = (state ^ (part & MASK)) + GOLDEN & MASK
        state = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & MASK
        state = (state ^ state >> 27) * 0x94D049BB133111EB & MASK
        state ^= state >> 31
    return state


def chance(draft: Draft) -> float:
    """The acceptance of each next draft token that gives the world's mean acceptance length."""
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        length = sum(middle**position for position in range(draft.k + 1))
        low, high = (middle, high) if length < draft.acceptance_length else (low, middle)
    return high if draft.acceptance_length > draft.k else low


def accepted_drafts(draft: Draft, mark: int) -> Iterator[int]:
    """Accepted tokens of one draft after the other, without end."""
    each = chance(draft)
    point = draw(mark)
    while True:
        point = point + GOLDEN & MASK
        left, accepted = point / 2**64, 0
        while accepted < draft.k and left < each ** (accepted + 1):
            accepted += 1
        yield accepted


def processed(draft: Draft, mark: int, output: int) -> int:
    """Output tokens that the target works on: the last step may accept more than was asked for."""
    done = min(output, 1)
    for accepted in accepted_drafts(draft, mark):
        if done >= output:
            return done
        done += accepted + 1
    raise AssertionError("accepted_drafts never ends")

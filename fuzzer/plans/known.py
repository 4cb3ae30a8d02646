"""What killed this very build in earlier runs, and how was it sent? PURE: as a gate asks it again, and keeps it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fuzzer.observation import Observation
    from targets.base import Mode


class Deadly(NamedTuple):
    """A length, in tokens, that killed this very build in an earlier `run`, and how it was sent."""

    length: int
    mode: Mode
    stream: bool
    run: str = ""

    @classmethod
    def of(cls, seen: Observation, run: str = "") -> Deadly:
        return cls(seen.length, seen.spec.mode, seen.spec.stream, run)


def deadly_of(known: object) -> Iterator[Deadly]:
    """Each as one: JSON has lists, and a record of others may have anything."""
    for one in known if isinstance(known, list | tuple) else ():
        if isinstance(one, list | tuple) and len(one) == len(Deadly._fields) and isinstance(one[0], int):
            yield Deadly(*one)

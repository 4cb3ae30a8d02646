"""What does all evidence at one point amount to? PURE."""

from __future__ import annotations

from dataclasses import dataclass, field

from fuzzer.model import Outcome, Side
from fuzzer.observation import Observation


@dataclass(slots=True)
class Tally:
    """All evidence at one point. `repeated`: a death among requests of others came at another point too."""

    passes: list[Observation] = field(default_factory=list)
    refusals: list[Observation] = field(default_factory=list)
    all_failures: list[Observation] = field(default_factory=list)
    repeated: bool = False

    def add(self, seen: Observation, side: Side) -> None:
        """Count one more observation on its side."""
        match side:
            case Side.GOOD:
                self.passes.append(seen)
            case Side.BAD:
                self.all_failures.append(seen)
            case Side.LIMIT:
                self.refusals.append(seen)
            case Side.NOTHING:
                raise AssertionError("what is no evidence has no side")

    def with_all(self, other: Tally) -> Tally:
        """Both together."""
        return Tally(
            [*self.passes, *other.passes],
            [*self.refusals, *other.refusals],
            [*self.all_failures, *other.all_failures],
            self.repeated or other.repeated,
        )

    @property
    def failures(self) -> list[Observation]:
        """The failures that count: a contended one, and an answer that a model may have had no words for, only if
        another failure repeats it; a contended death, wherever that one was.
        """
        lone = len(self.all_failures) == 1 and may_be_chance(self.all_failures[0])
        return [] if lone and not self.repeated else self.all_failures

    @property
    def is_doubtful(self) -> bool:
        """One failure that waits to be repeated, and nothing since that answers it."""
        return len(self.all_failures) == 1 and not self.failures and not self.passes

    @property
    def is_bad(self) -> bool:
        return bool(self.failures or self.refusals)


def died_among_others(seen: Observation) -> bool:
    """Did it die, or was it wedged, while others were served? Of two such, at any lengths, neither is chance."""
    return seen.contended and seen.ended_a_life


def may_be_chance(seen: Observation) -> bool:
    """Is this failure one that counts only if another repeats it: contended, or a model that had no words?"""
    given = seen.completion_tokens
    ended_itself = given is not None and given < seen.spec.output_tokens and seen.spec.stop_after is None
    return seen.contended or (seen.outcome is Outcome.GARBLED and ended_itself)

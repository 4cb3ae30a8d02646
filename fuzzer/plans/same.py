"""What is generated for the very same prompts, each sent twice? PURE: one arm of a comparison, shortest prompts first.

The plan is a sweep that asks every row again at once: an engine that dies leaves whole cells behind, and one that does
not repeat itself shows that before it is compared with another. What the answers come to is `fuzzer.measure.sameness`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fuzzer.model import ProbeSpec, Role
from fuzzer.plans.sweep import SweepQuestion, spaced, sweep
from fuzzer.plans.terms import SHORT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fuzzer.observation import Observation
    from fuzzer.plans import Plan

POINTS = 8
TIMES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class SameQuestion(SweepQuestion):
    """Lengths are prompt tokens; each is asked with every content, and each of these twice.

    Raises ValueError where there is no length to ask, or one that has no room for what `needle` plants.
    """

    def __post_init__(self) -> None:
        SweepQuestion.__post_init__(self)
        if "needle" in self.contents and min(self.lengths) < SHORT:
            raise ValueError(f"a needle needs prompts of {SHORT} tokens and more")

    def specs(self) -> Iterator[ProbeSpec]:
        """The probes, in the order in which they are asked."""
        for spec in SweepQuestion.specs(self):
            for time in range(1, TIMES + 1):
                reason = "an answer to compare" if time == 1 else "the same again: does it repeat itself?"
                yield self.spec(spec.length, Role.MEASURE, reason, content=spec.content, compared=time)


def up_to(cap: int, output_tokens: int) -> tuple[int, ...]:
    """The lengths to ask where nobody names any: from a short prompt to the longest that a cap admits, in tokens."""
    longest = max(1, cap - output_tokens)
    return spaced(SHORT, longest, POINTS, "log") if longest > SHORT else (longest,)


def same(question: SameQuestion, facts: Iterable[Observation] = ()) -> Plan:
    """A plan that has every prompt answered twice. The first failure ends it, and is what it finds."""
    return sweep(question, facts)

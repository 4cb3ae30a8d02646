"""Whose is a death that came to light after an answer? PURE.

Nobody's, the probe before it and the one that met it are simply asked again; but an engine may die a while after its
answer, or after a clean refusal, so from the second time after one point on it is a death there.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from fuzzer.model import Corroboration, Outcome, Side, side_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fuzzer.observation import Observation
    from fuzzer.plans.question import BisectQuestion

TWICE = 2  # so often it is no chance that nobody's death follows one probe
SEVERAL = 3  # nor, this often, that it follows one answer or another: a restart may be somebody's, and so may two
# Of a list that ends at its first failure: what dies a while after an answer, and is back before the next probe, shows
# with the third death where it does.
MOST_OF_A_LIST = 3


class Doubts:
    """The fold of such deaths, by the point that was answered before. Grows by `doubted` alone."""

    def __init__(self, question: BisectQuestion) -> None:
        self._question = question
        self._times: Counter[tuple[int, int]] = Counter()

    @property
    def lone(self) -> list[tuple[int, int]]:
        """The points, in tokens, of the answers that nobody's death came after once: it may be theirs."""
        return sorted(point for point, times in self._times.items() if times == 1)

    def doubted(self, answered: Observation, *, blamed: bool) -> Observation | None:
        """What is left of an answer that a death came after; None: nothing.

        Blamed, it is a death at its length that counts if it repeats.
        """
        point = (answered.length, answered.spec.output_tokens)
        is_again = self._times[point] > 0
        if not blamed:
            self._times[point] += 1
        if not (blamed or is_again):
            return None
        return replace(answered, outcome=Outcome.DEATH, corroboration=Corroboration.PRESUMED, contended=blamed)

    def answered_before(self, seen: Sequence[Observation]) -> Observation | None:
        """The answer of ours that the last death came after; None where the probe before it was no such."""
        before = answered_before(seen, self._question.fail_on)
        return before if before is not None and self._question.owns(before.spec) else None


def answered_before(seen: Sequence[Observation], fail_on: frozenset[Outcome]) -> Observation | None:
    """The answer, or the clean refusal, that the last observation came after; None where what came before it failed.

    Whoever was turned away in between did nothing to the engine.
    """
    before = next((one for one in reversed(seen[:-1]) if one.outcome.is_evidence or one.deaths), None)
    is_well = before is not None and side_of(before.outcome, fail_on) in {Side.GOOD, Side.LIMIT}
    return before if is_well else None


def died_between(seen: Iterable[Observation]) -> str | None:
    """A clause on the deaths of which nobody knows what they were of; None where it is one: somebody's restart, say."""
    deaths = sum(one.deaths for one in seen if one.blames == "nobody")
    if deaths < TWICE:
        return None
    return f"the engine died {deaths} times between two probes, with no more than a canary in flight"

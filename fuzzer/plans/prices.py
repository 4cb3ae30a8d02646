"""What does it cost this run to ask a length, be it warm or cold? PURE: learnt from its evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzzer.model import Side, side_of
from fuzzer.search import Costs
from fuzzer.search.costs import DEATH_IN_PASSES

if TYPE_CHECKING:
    from fuzzer.observation import Observation
    from fuzzer.plans.question import BisectQuestion

MOST_PASSES_A_DEATH = 100  # passes out of the cache cost next to nothing, but hundreds of them are wear


class Prices:
    """Costs in seconds, as `Costs` has them. Grows by `learn` alone."""

    def __init__(self, question: BisectQuestion) -> None:
        self._question = question
        self.costs = Costs()
        self.refill_s = 0.0  # what it takes to read into an empty cache what a death has thrown out of it

    def learn(self, seen: Observation) -> None:
        """Take one more observation that is evidence."""
        if self._filled_the_cache(seen):
            self.refill_s = max(self.refill_s, seen.cost_s)
        else:
            self.costs.learn(seen)

    def of(self, tokens: int) -> tuple[float, float]:
        """What so many tokens to read cost, if they pass and if not: a death empties the cache, too."""
        good, bad = self.costs.price(tokens)
        if not self.refill_s:
            return good, bad
        dear = bad + self.refill_s if self.costs.is_measured else max(bad, DEATH_IN_PASSES * self.refill_s)
        return good, min(dear, max(bad, MOST_PASSES_A_DEATH * good))

    def _filled_the_cache(self, seen: Observation) -> bool:
        """Was a warm prompt read anew for the most part? Then it tells nothing of what a search on the cache costs."""
        if seen.spec.cache == "cold" or seen.cached_tokens is None or seen.length <= self._question.baseline:
            return False
        return 2 * seen.cached_tokens < seen.length and side_of(seen.outcome, self._question.fail_on) is Side.GOOD

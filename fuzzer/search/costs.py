"""What does it cost to ask a length, by what comes of it? PURE: learnt from the observations of the run.

A cost is seconds of the run: the probe, its grace and canary, and the revival after it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fuzzer.model import WELL, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable

    from fuzzer.observation import Observation

    Price = Callable[[int], "tuple[float, float]"]
    """Cost of a length if it passes, and if it does not."""

DEATH_IN_PASSES = 20.0
"""What a failure costs until one was seen, in passes of its length."""


def flat(ratio: float) -> Price:
    """Every pass costs 1, every failure `ratio`."""
    return lambda _length: (1.0, ratio)


@dataclass(slots=True)
class Costs:
    """Running means of what passes and failures took.

    A failure is expected to be of the kind that was seen last, and to cost what that kind cost last: a supervisor that
    backs off makes each revival dearer than the mean of those before it. A revival that no one session waited out shows
    only what it took at least.
    """

    passes: int = 0
    pass_s: float = 0.0
    pass_tokens: int = 0  # that were read, and did not come out of a cache
    idle_s: float | None = None  # the cheapest pass: what a probe takes whatever its length
    failure_s: dict[Outcome, float] = field(default_factory=dict)
    at_least_s: float = 0.0  # of the latest failure, since its kind was last measured
    latest: Outcome | None = None

    def learn(self, observation: Observation) -> None:
        """Take one observation that is evidence."""
        cost = observation.cost_s
        if observation.outcome in WELL:
            self.passes += 1
            self.pass_s += cost
            self.pass_tokens += max(0, observation.length - (observation.cached_tokens or 0))
            self.idle_s = cost if self.idle_s is None else min(self.idle_s, cost)
            return
        self.latest, self.at_least_s = observation.outcome, cost
        if _is_waited_out(observation):
            self.failure_s[observation.outcome] = cost

    def price(self, length: int) -> tuple[float, float]:
        """Expected cost of so many tokens to read, if they pass and if not; (1, 20) before anything was seen."""
        good = self.pass_at(length)
        if not self.is_measured:
            return good, max(self.at_least_s, DEATH_IN_PASSES * good)
        assert self.latest is not None
        return good, max(self.failure_s[self.latest], self.at_least_s, good / DEATH_IN_PASSES)

    @property
    def is_measured(self) -> bool:
        """Is it known what a failure costs, of the kind that was seen last?"""
        return self.latest in self.failure_s

    def pass_at(self, length: int) -> float:
        """Expected cost of a pass: what every probe takes, and a share that grows with the tokens that are read."""
        if self.idle_s is None or self.pass_s <= 0:
            return 1.0
        per_token = (self.pass_s - self.passes * self.idle_s) / max(self.pass_tokens, 1)
        return max(self.idle_s + per_token * length, 1e-6)


def _is_waited_out(failure: Observation) -> bool:
    """Did a session that saw the engine down also see it serve again?"""
    is_down = failure.deaths > 0 or failure.wedged
    return not is_down or (failure.revival_s is not None and failure.revived and not failure.resumed_after)

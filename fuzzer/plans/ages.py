"""How old was each life of the engine when it ended, on each of three clocks? PURE.

Of a life we know what it was asked, canaries included: so that it was alive at one age and dead at the next. Lives end
alike where one age lies between the two for all of them, and no other life grew older.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fuzzer.model import Outcome
from fuzzer.observation import Observation

if TYPE_CHECKING:
    from collections.abc import Callable

    Clock = Callable[["Life"], tuple[float, float]]
    """The ages, alive and dead, between which a life ended."""

CANARY_TOKENS = 24  # prompt and output
SAME_AGE = 0.1


@dataclass(slots=True)
class Life:
    """One life of the engine, from `born_s` on (active seconds; of a life that we met, our first).

    `whole`: we saw it begin, after a death at `since_s`, and it sang so many canaries (`sung`) before its first probe.
    `idle`: it ended between two probes, by `gone_s`.
    """

    born_s: float = 0.0
    since_s: float = 0.0
    whole: bool = False
    sung: int = 0
    probes: list[Observation] = field(default_factory=list)
    ended: bool = False
    idle: bool = False
    gone_s: float = 0.0
    _ages: dict[Clock, tuple[float, float]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def age(self, clock: Clock) -> tuple[float, float]:
        """Its ages, alive and dead, on this clock. Those of a life that has ended are worked out once."""
        if not self.ended:
            return clock(self)
        if clock not in self._ages:
            self._ages[clock] = clock(self)
        return self._ages[clock]

    @property
    def is_answered(self) -> bool:
        """Did it end with nothing of ours in flight but a canary? What was answered with garbage was in flight."""
        if not self.ended or self.idle:
            return self.ended
        return self.probes[-1].completion_tokens is not None and self.probes[-1].outcome is not Outcome.GARBLED

    @property
    def has_hung(self) -> bool:
        return self.ended and not self.idle and self.probes[-1].outcome is Outcome.HANG

    @property
    def before(self) -> list[Observation]:
        """The probes that it outlived, with the canaries after them."""
        return self.probes[:-1] if self.ended and not self.idle else self.probes


def live_on(lives: list[Life], seen: Observation) -> None:
    """Take one more observation into the lives that a run has met, first to last. The last one goes on.

    One that is wedged serves nobody any more, so that it has ended, whether or not its death is seen; but for one that
    is seen to serve again. A life that has ended is as it is.
    """
    if seen.died_before:
        lives[-1].ended, lives[-1].idle, lives[-1].gone_s = True, True, seen.started_s
        lives.append(Life(seen.started_s, seen.started_s, whole=True))
    life, is_nobodys = lives[-1], seen.blames == "nobody"
    if is_nobodys and seen.outcome is Outcome.ABANDONED:
        life.born_s, life.sung = seen.over_s, seen.canaries
        return
    life.probes.append(seen)
    if (seen.wedged and not seen.outlived) or (seen.deaths and not is_nobodys):
        life.ended, life.gone_s = True, seen.ended_s
        others = (life.is_answered or seen.wedged) + seen.relapses  # canaries that were no songs of the next life
        lives.append(Life(seen.over_s, seen.ended_s, whole=True, sung=max(seen.canaries - others, 0)))


def ended_of(lives: list[Life]) -> list[Life]:
    return [life for life in lives if life.whole and life.ended]


def age_of_all(lives: list[Life], clock: Clock) -> float | None:
    """The age at which every whole life ended; None where one ended earlier than another lived."""
    oldest = max(life.age(clock)[0] for life in lives)
    dead = min(life.age(clock)[1] for life in ended_of(lives))
    slack = 0.0 if clock in COUNTED else SAME_AGE
    return dead if oldest <= (1 + slack) * dead else None


def requests_of(life: Life) -> tuple[float, float]:
    alive = life.sung + sum(1 + len(seen.spec.companions) + seen.canaries for seen in life.before)
    alive += life.is_answered and not life.idle
    return alive, alive + 1


def tokens_of(life: Life) -> tuple[float, float]:
    canaries = life.sung + sum(seen.canaries for seen in life.before)
    alive = CANARY_TOKENS * canaries + sum(seen.total + sum(seen.spec.companions) for seen in life.before)
    return alive, alive + (life.probes[-1].total if life.probes else 0)


def seconds_of(life: Life) -> tuple[float, float]:
    """Since it served."""
    if not life.probes:
        return 0.0, life.gone_s - life.born_s
    last = life.probes[-1]
    answered_s = last.started_s + last.duration_s
    alive_s = last.started_s if life.ended and not life.is_answered else answered_s
    return alive_s - life.born_s, (life.gone_s if life.is_answered else answered_s) - life.born_s


def since_death(life: Life) -> tuple[float, float]:
    """It may have lived for a while before it served: at most since the death before it."""
    return seconds_of(life)[0], life.gone_s - life.since_s


COUNTED = (requests_of, tokens_of)  # to the last one, but for a canary
CLOCKS: tuple[tuple[Clock, str], ...] = ((requests_of, "requests"), (tokens_of, "tokens"), (seconds_of, "s"))
QUIET: tuple[tuple[Clock, str], ...] = ((requests_of, "requests"), (since_death, "s since the death before it"))

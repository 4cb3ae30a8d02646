"""Does a failure come again with less? PURE: one trial after the other, each judged against the failure as met.

What failed as it was met is the best from then on. A trial whose failure shows only one probe later is given another
probe to be judged by. Trials have a budget of deaths of their own.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from fuzzer.finding import Reproducer
from fuzzer.model import Outcome, ProbeSpec, Role
from fuzzer.observation import Observation
from fuzzer.plans.terms import SHORT

if TYPE_CHECKING:
    from fuzzer.plans.samples import Grounds

Asking = Generator[ProbeSpec, Observation, Observation]
Trial = Generator[ProbeSpec, Observation, bool]

TRIES = 3  # until something is taken to pass


class Asker(Protocol):
    """Who asks: gives the answer that is evidence, and counts the deaths of the run."""

    @property
    def grounds(self) -> Grounds: ...

    @property
    def deaths(self) -> int: ...

    @property
    def doubted(self) -> Observation | None:
        """What the last probe made doubtful: the one before it failed, or somebody else ended its life."""
        ...

    def ask(self, spec: ProbeSpec) -> Asking: ...

    def take_late(self, *, surely: bool = True) -> Observation | None:
        """The failure that the last probe brought to light, if it did: that of the probe before it.

        `surely`: not one that may be nobody's death.
        """
        ...


class Spent(Exception):
    """No more deaths for this failure."""


@dataclass(slots=True)
class Trials:
    """The trials of one failure. Invariant: `best` is a probe that failed as `seen`, after `before`.

    `late`: it came to light one probe after it, so that every trial needs another probe to be judged by.
    """

    asker: Asker
    met: Observation
    life: Sequence[ProbeSpec]  # what the engine had answered in the same life, in order
    most_deaths: int
    late: bool = False
    best: ProbeSpec = field(init=False)
    seen: Observation = field(init=False)
    failed: int = field(init=False, default=1)
    asked: int = field(init=False, default=1)
    before: tuple[ProbeSpec, ...] = field(init=False, default=())
    before_seqs: tuple[int, ...] = field(init=False, default=())
    shorter: bool | None = field(init=False, default=None)
    longer: bool | None = field(init=False, default=None)
    every: int | None = field(init=False, default=None)
    _passed: set[ProbeSpec] = field(init=False, default_factory=set)
    _deaths_before: int = field(init=False)
    _answered: int = field(init=False, default=0)  # in this life, since the last death

    def __post_init__(self) -> None:
        self.best, self.seen, self._deaths_before = self.met.spec, self.met, self.asker.deaths

    def made(self, unfinished: str) -> Reproducer:
        """The failure as small as it is by now."""
        return Reproducer(
            seq=self.seen.seq,
            met=self.met.seq,
            spec=self.best,
            outcome=self.seen.outcome,
            reason=self.seen.reason,
            signature=self.seen.signature,
            failed=self.failed,
            asked=self.asked,
            before=self.before_seqs,
            shorter_passes=self.shorter,
            longer_passes=self.longer,
            every=self.every,
            unfinished=unfinished,
        )

    def _takes(self, trial: ProbeSpec) -> Trial:
        """Does less do? Then it is the best from now on. What passed already is not asked again."""
        if trial == self.best or (not self.before and replace(trial, reason="") in self._passed):
            return False
        return (yield from self._fails(trial, self.before))

    def _fails(self, trial: ProbeSpec, before: tuple[ProbeSpec, ...] = ()) -> Trial:
        """Does the trial fail as it was met, after these? Then it is the best from now on."""
        seen, seqs = yield from self._follow((*before, trial))
        if self._is_it(seen) and len(seqs) < len(before):  # by what earlier trials had left behind
            seen, seqs = yield from self._follow((*before, trial))
        return self._is_it(seen) and self._keep(seen, before[: len(seqs)], seqs)

    def _fails_in_the_end(self, trial: ProbeSpec) -> Trial:
        for _ in range(1 if self.before else TRIES):
            if (yield from self._fails(trial, self.before)):
                return True
        return False

    def _follow(self, specs: Sequence[ProbeSpec]) -> Generator[ProbeSpec, Observation, tuple[Observation, list[int]]]:
        """One after the other until one fails as it was met: the last answer, and the numbers of those before it."""
        seqs: list[int] = []
        for spec in specs[:-1]:
            seen = yield from self._ask(spec)
            if self._is_it(seen):
                return seen, seqs
            seqs.append(seen.seq)
        return (yield from self._ask(specs[-1])), seqs

    def _ask(self, spec: ProbeSpec) -> Asking:
        if self.asker.deaths - self._deaths_before >= self.most_deaths:
            raise Spent
        deaths = self.asker.deaths
        seen = yield from self.asker.ask(replace(spec, role=Role.SHRINK, wait_s=0.0))
        self._learn_late()
        if self.late and not self._is_it(seen):
            short = yield from self.asker.ask(self._short("did the engine live through the one before?"))
            seen = self.asker.take_late(surely=False) or (by(seen, short) if self._is_it(short) else seen)
        if not self._is_it(seen):
            self._passed.add(replace(seen.spec, reason=""))
        self._answered = 0 if self.asker.deaths > deaths else self._answered + 1 + self.late
        return seen

    def _learn_late(self) -> None:
        """A trial that was taken to pass may turn out to have failed: from then on each is given another probe.

        One death alone may be nobody's: it is no reason to take the trial for less that fails.
        """
        maybe, late = self.asker.doubted, self.asker.take_late()
        self.late = self.late or any(one is not None and self._is_it(one) for one in (maybe, late))
        if late is not None and self._is_it(late):
            self._keep(late, self.before, self.before_seqs)

    def _is_it(self, seen: Observation) -> bool:
        """Another outcome would be another failure."""
        return seen.outcome is self.met.outcome

    def _died_since(self, deaths: int) -> bool:
        """Was there a death like the one that was met, be it nobody's? Wear strikes between two requests as well."""
        return self.met.outcome is Outcome.DEATH and self.asker.deaths > deaths

    def _keep(self, seen: Observation, before: tuple[ProbeSpec, ...], seqs: Sequence[int]) -> bool:
        """Always true. A longer prompt fails too, but is not less."""
        if seen.spec.length <= self.best.length:
            self.best, self.seen, self.before, self.before_seqs = seen.spec, seen, before, tuple(seqs)
        return True

    def _short(self, reason: str) -> ProbeSpec:
        return self.asker.grounds.spec(SHORT, Role.SHRINK, reason)


def by(answered: Observation, short: Observation) -> Observation:
    """An answer that the short prompt after it, in flight, shows to have failed."""
    return replace(answered, outcome=short.outcome, reason=short.reason, signature=short.signature)

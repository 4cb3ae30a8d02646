"""With how little does a failure come again? PURE: a part of a plan, which probes less and less until that passes.

First it must come again at all: by itself, else after what came before it in that life of the engine. Then every
condition is made plain, the prompt shorter, the output shorter. A trial that passes is cheap; one that fails may be a
death, so it is asked in the order that most likely spends few of them, and within a budget of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from fuzzer.finding import Reproducer
from fuzzer.model import Observation, Outcome, ProbeSpec, Role
from fuzzer.plans.conditions import needed, plain
from fuzzer.plans.terms import SHORT
from fuzzer.search import Belief, suspects_within
from fuzzer.search.costs import DEATH_IN_PASSES, flat

if TYPE_CHECKING:
    from fuzzer.plans.samples import Grounds

Asking = Generator[ProbeSpec, Observation, Observation]
Trial = Generator[ProbeSpec, Observation, bool]

TRIES = 3  # of the failure by itself, before its past is suspected
MOST_BEFORE = 128  # probes of its past that are sent again at most
SPARE = 4  # requests more than the last time, until wear is ruled out: canaries count too


class Asker(Protocol):
    """Who asks: gives the answer that is evidence, and counts the deaths of the run."""

    @property
    def grounds(self) -> Grounds: ...

    @property
    def deaths(self) -> int: ...

    def ask(self, spec: ProbeSpec) -> Asking: ...

    def take_late(self) -> Observation | None:
        """The failure that the last probe brought to light, if it did: that of the probe before it."""
        ...


class Spent(Exception):
    """No more deaths for this failure."""


@dataclass(slots=True)
class Shrink:
    """One failure, made smaller. Invariant: `best` is a probe that failed as `seen`, after `before`.

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

    def run(self) -> Generator[ProbeSpec, Observation, Reproducer]:
        """Shrink as far as the budget goes."""
        try:
            if (yield from self._comes_again()) or (yield from self._comes_after_its_past()):
                yield from self._plainer()
                yield from self._shorter_prompt()
                yield from self._shorter_output()
                return self.made((yield from self._beside()))
        except Spent:
            return self.made("no death is left to spend on it")
        return self.made("it did not come again")

    def _comes_again(self) -> Trial:
        """By itself: right after it took the engine down, that is on a fresh one.

        A warm prompt finds there what its own first try left, so that the tries before it belong to it.
        """
        tries: tuple[int, ...] = ()
        for _ in range(TRIES):
            seen = yield from self._ask(self.best)
            self.asked += 1
            if self._is_it(seen):
                self.failed += 1
                warm = tries if self.best.cache == "warm" else ()
                return self._keep(seen, (self.best,) * len(warm), warm)
            tries = (*tries, seen.seq)
        return False

    def _comes_after_its_past(self) -> Trial:
        """After the last probe before it, the last two, four, ... of the life in which it was met."""
        past = list(self.life)[-MOST_BEFORE:]
        count = 1
        while past and count < 2 * len(past):
            before = tuple(past[-count:])
            served, deaths = self._answered + len(before), self.asker.deaths
            comes_again = yield from self._fails(self.best, before)
            self.asked += 1
            if comes_again or self._died_since(deaths):
                self.failed += comes_again
                worn = yield from self._is_mere_wear(max(served, len(self.life)) + SPARE)
                if comes_again or worn:
                    return True
            count *= 2
        return False

    def _is_mere_wear(self, served: int) -> Trial:
        """As many short prompts as that life had served: where they fail too, requests are what it takes."""
        short = self._short("as many requests, all short and plain")
        for _ in range(served):
            count, deaths = self._answered + 1, self.asker.deaths
            seen = yield from self._ask(short)
            if not self._is_it(seen) and self._died_since(deaths):  # between two requests
                seen = replace(seen, outcome=self.met.outcome, reason=self.met.reason, signature=self.met.signature)
            if self._is_it(seen):
                self.best, self.seen, self.before, self.before_seqs, self.every = short, seen, (), (), count
                return True
        return False

    def _died_since(self, deaths: int) -> bool:
        """Was there a death like the one that was met, be it nobody's? Wear strikes between two requests as well."""
        return self.met.outcome is Outcome.DEATH and self.asker.deaths > deaths

    def _short(self, reason: str) -> ProbeSpec:
        return self.asker.grounds.spec(SHORT, Role.SHRINK, reason)

    def _plainer(self) -> Generator[ProbeSpec, Observation, None]:
        """All conditions plain at once, for mostly the length is what it takes; else one after the other."""
        terms = self.asker.grounds
        if self.every is not None or (yield from self._takes(plain(self.best, terms))):
            return
        for condition in needed(self.best, terms):
            yield from self._takes(condition.plain(self.best, terms))
        if len(self.best.companions) > 1:
            few = self.best.companions
            yield from self._least(len(few), 0, lambda count: replace(self.best, companions=few[:count]))
        if max(self.best.companions, default=0) > SHORT:
            yield from self._takes(replace(self.best, companions=(SHORT,) * len(self.best.companions)))

    def _shorter_prompt(self) -> Generator[ProbeSpec, Observation, None]:
        """The shortest prompt that fails, as if all longer ones did.

        At a place where islands are, one token less comes first: mostly it passes, and that is all.
        """
        low = min(SHORT, self.best.length - 1)
        if self.every is not None or low < 1:
            return
        if self._is_at_a_place() and not (yield from self._takes(self._of_length(self.best.length - 1))):
            self.shorter = True
            return
        if (yield from self._takes(self._of_length(low))):
            self.shorter = False
            return
        yield from self._least(self.best.length, low, self._of_length)
        self.shorter = True

    def _is_at_a_place(self) -> bool:
        return any(place.length == self.best.length for part in self.asker.grounds.places() for place in part)

    def _shorter_output(self) -> Generator[ProbeSpec, Observation, None]:
        """The least output that fails; where the shortest prompt was found for this output, one less passes."""
        most = self.best.output_tokens
        if self.every is not None or most <= 1 or self.best.omit_max_tokens:
            return
        if (yield from self._takes(self._of_output(1))) or not (yield from self._takes(self._of_output(most - 1))):
            return
        yield from self._least(self.best.output_tokens, 1, self._of_output)

    def _beside(self) -> Generator[ProbeSpec, Observation, str]:
        """One token less and one more, until they can be taken to pass: where both do, it is an island.

        A failure that comes now and then lets one of anything pass. Returns what that leaves open, in words.
        """
        if self.every is not None:
            return ""
        if self.shorter and (yield from self._fails_in_the_end(self._of_length(self.best.length - 1))):
            self.shorter = None
            return "it does not come every time, for one token less has passed and has failed"
        longer = self._of_length(self.best.length + 1)
        if longer.length + longer.output_tokens <= self.asker.grounds.cap:
            self.longer = not (yield from self._fails_in_the_end(longer))
        return ""

    def _fails_in_the_end(self, trial: ProbeSpec) -> Trial:
        for _ in range(1 if self.before else TRIES):
            if (yield from self._fails(trial, self.before)):
                return True
        return False

    def _least(self, bad: int, good: int, make: Callable[[int], ProbeSpec]) -> Generator[ProbeSpec, Observation, None]:
        """The least value that fails. Invariant: `bad` fails, `good` is taken to pass.

        What a failure costs here is one of few deaths, however quick the revival: so it leans to what passes.
        """
        suspects = suspects_within(good, bad)
        belief = Belief.over(good, bad, suspects=suspects, output_tokens=self.best.output_tokens, trusted=True)
        while bad - good > 1:
            value = belief.next(good, bad, flat(DEATH_IN_PASSES))
            if (yield from self._takes(make(value))):
                bad = value
            else:
                good = value

    def _of_length(self, length: int) -> ProbeSpec:
        shared = self.best.shared if self.best.shared is not None and self.best.shared < length else None
        return replace(self.best, length=length, shared=shared)

    def _of_output(self, output_tokens: int) -> ProbeSpec:
        keeps = self.best.stop_after is not None and output_tokens > self.best.stop_after
        return replace(self.best, output_tokens=output_tokens, stop_after=self.best.stop_after if keeps else None)

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

    def _follow(self, specs: Sequence[ProbeSpec]) -> Generator[ProbeSpec, Observation, tuple[Observation, list[int]]]:
        """One after the other until one fails as it was met: the last answer, and the numbers of those before it."""
        seqs: list[int] = []
        for spec in specs[:-1]:
            seen = yield from self._ask(spec)
            if self._is_it(seen):
                return seen, seqs
            seqs.append(seen.seq)
        return (yield from self._ask(specs[-1])), seqs

    def _keep(self, seen: Observation, before: tuple[ProbeSpec, ...], seqs: Sequence[int]) -> bool:
        """Always true. A longer prompt fails too, but is not less."""
        if seen.spec.length <= self.best.length:
            self.best, self.seen, self.before, self.before_seqs = seen.spec, seen, before, tuple(seqs)
        return True

    def _ask(self, spec: ProbeSpec) -> Asking:
        if self.asker.deaths - self._deaths_before >= self.most_deaths:
            raise Spent
        deaths = self.asker.deaths
        seen = yield from self.asker.ask(replace(spec, role=Role.SHRINK, wait_s=0.0))
        self._learn_late()
        if self.late and not self._is_it(seen):
            yield from self.asker.ask(self._short("did the engine live through the one before?"))
            seen = self.asker.take_late() or seen
        if not self._is_it(seen):
            self._passed.add(replace(seen.spec, reason=""))
        self._answered = 0 if self.asker.deaths > deaths else self._answered + 1 + self.late
        return seen

    def _learn_late(self) -> None:
        """A trial that was taken to pass may turn out to have failed: from then on each is given another probe."""
        late = self.asker.take_late()
        if late is not None and self._is_it(late):
            self.late = True
            self._keep(late, self.before, self.before_seqs)

    def _is_it(self, seen: Observation) -> bool:
        """Another outcome would be another failure."""
        return seen.outcome is self.met.outcome

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

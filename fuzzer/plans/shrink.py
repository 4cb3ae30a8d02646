"""With how little does a failure come again? PURE: a part of a plan, which probes less and less until that passes.

First it must come again at all: by itself, else after what came before it in that life of the engine. Then every
condition is made plain, the prompt shorter, the output shorter. A trial that passes is cheap; one that fails may be a
death, so it is asked in the order that most likely spends few of them, and within a budget of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import replace

from fuzzer.finding import Reproducer
from fuzzer.model import ProbeSpec
from fuzzer.observation import Observation
from fuzzer.plans.conditions import needed, plain
from fuzzer.plans.terms import SHORT
from fuzzer.plans.trials import TRIES, Spent, Trial, Trials
from fuzzer.search import Belief, suspects_within
from fuzzer.search.costs import DEATH_IN_PASSES, flat

MOST_BEFORE = 128  # probes of its past that are sent again at most
SPARE = 4  # requests more than the last time, until wear is ruled out: canaries count too


class Shrink(Trials):
    """One failure, made smaller."""

    __slots__ = ()

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

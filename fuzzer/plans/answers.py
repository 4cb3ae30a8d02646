"""Which probes of a list are answered, and how? PURE: the fold of a plan that works through a list."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from fuzzer.finding import Halt
from fuzzer.model import FAIL_ON_DEFAULT, Outcome, ProbeSpec, Side, side_of
from fuzzer.observation import Observation
from fuzzer.plans.doubt import TWICE, answered_before, died_between
from fuzzer.plans.interruption import MOST_PROBES, out_of_time, spent, stopped, wait
from fuzzer.plans.tally import may_be_chance

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fuzzer.plans.terms import Terms


class Answers:
    """What was seen so far. An answer belongs to the question, word for word but for its reason.

    A failure that may be chance, as it was contended, is no answer before it has come twice. `tallied`: whoever asks
    weighs all failures at a point himself, so that none is left out.
    """

    def __init__(
        self,
        facts: Iterable[Observation] = (),
        fail_on: frozenset[Outcome] = FAIL_ON_DEFAULT,
        *,
        tallied: bool = False,
    ) -> None:
        self.seen: list[Observation] = []
        self.evidence: list[Observation] = []
        self.deaths = 0
        self.late: Observation | None = None  # what the last one brought to light: the probe before it killed
        self.doubted: Observation | None = None  # what it made doubtful: the answer before it, or nobody's death
        self._fail_on, self._tallied = fail_on, tallied
        self._times: Counter[ProbeSpec] = Counter()
        self._lone: dict[ProbeSpec, Observation] = {}  # the first failures that may be chance, by their question
        self._first: dict[ProbeSpec, Observation] = {}
        for fact in facts:
            self.take(fact)

    def take(self, seen: Observation) -> None:
        """Take one more observation. A death that came to light after the probe before it takes that one's answer away:
        blamed, it is that probe's own; nobody's, the probe is asked again, and is its own the second time.
        """
        self.deaths += seen.toll
        self.seen.append(seen)
        self.late = self.doubted = None
        if seen.died_before and (before := answered_before(self.seen, self._fail_on)) is not None:
            self._doubt(before, seen)
        if seen.outcome.is_evidence and seen.blames in {None, "this"} and not self._is_lone_chance(seen):
            self._keep(seen)

    def _is_lone_chance(self, seen: Observation) -> bool:
        """Is it a failure that may be chance, and the first such one of its question?"""
        if self._tallied or side_of(seen.outcome, self._fail_on) is not Side.BAD or not may_be_chance(seen):
            return False
        return self._lone.setdefault(_plain(seen.spec), seen) is seen

    def _keep(self, seen: Observation) -> None:
        self.evidence.append(seen)
        self._first.setdefault(_plain(seen.spec), seen)

    def _drop_last(self) -> None:
        last = self.evidence.pop()
        point = _plain(last.spec)
        if self._first[point] is last:
            del self._first[point]

    def _doubt(self, before: Observation, seen: Observation) -> None:
        """Take the answer before away, evidence or not: what is asked again and again may meet a death each time."""
        if self.evidence and self.evidence[-1].seq == before.seq:
            self._drop_last()
        how = "" if seen.outcome.is_evidence or not seen.reason else f": {seen.reason}"
        died = replace(before, outcome=Outcome.DEATH, reason=f"the engine died a while after it was answered{how}")
        if seen.blames != "previous":
            point = _plain(before.spec)
            self._times[point] += 1
            if self._times[point] < TWICE:
                self.doubted = died
                return
        self.late = died
        self._keep(died)

    def to(self, spec: ProbeSpec) -> Observation | None:
        """The answer to this question, if there is one that is evidence."""
        return self._first.get(_plain(spec))

    def lone(self, spec: ProbeSpec) -> Observation | None:
        """The failure that may have been chance, where this question was not answered since."""
        failed = self._lone.get(_plain(spec))
        return failed if failed is not None and self._since(failed) is None else None

    def _since(self, failed: Observation) -> Observation | None:
        later = (seen for seen in reversed(self.evidence) if seen.seq > failed.seq)
        return next((seen for seen in later if _plain(seen.spec) == _plain(failed.spec)), None)

    def did_not_repeat(self) -> tuple[str, ...]:
        """Sentences on the failures that may have been chance, where the same passed when it was asked again."""
        again = ((failed, self._since(failed)) for failed in self._lone.values())
        passed = [one for one, then in again if then is not None and side_of(then.outcome, self._fail_on) is Side.GOOD]
        return tuple(f"{lone_words(failed)}, and passed when it was asked again" for failed in passed)

    def died_in_doubt(self, fewest: int = TWICE) -> str | None:
        """A clause on the deaths of which nobody knows what they were of, or whose; None where it is one between two
        probes, or fewer than `fewest` with one in a probe among them: chance.
        """
        whose = [failed for failed in self._lone.values() if failed.toll]
        between = sum(seen.deaths for seen in self.seen if seen.blames == "nobody")
        deaths = sum(failed.toll for failed in whose) + between
        if not whose or deaths < fewest:
            return died_between(self.seen)
        if deaths == 1:
            end = "died" if whose[0].deaths else "hung and served nobody any more,"
            return f"the engine {end} once at {whose[0].length} prompt tokens, among requests of others"
        return f"the engine died {deaths} times, among requests of others or between two probes"

    def spent(self, max_deaths: int) -> str:
        """A sentence: no death is left for this list, and what was to be asked again."""
        why = spent(self, max_deaths)
        if self.deaths < max_deaths:
            why = f"the engine died {self.deaths} times, and of what nobody can tell"
        waiting = [failed for failed in self._lone.values() if self._since(failed) is None]
        return "; ".join([why, *(f"{lone_words(failed)}, and was not asked again" for failed in waiting)])

    def ended(self, terms: Terms, most_probes: float) -> tuple[Halt, str] | None:
        """Why nothing more can be asked, as a halt and a sentence. `most_probes` are those of the list, if all is well;
        a list may ask each of them again, and is not cut for its length.
        """
        if (end := stopped(self, terms.max_deaths, max(MOST_PROBES, TWICE * most_probes))) is not None:
            return end
        why = out_of_time(self.seen[-1].over_s, terms.max_time_s, self.wait()) if self.seen else None
        return None if why is None else (Halt.TIME, why)

    def wait(self) -> ProbeSpec | None:
        """The same again, later, where the target was busy."""
        return wait(self)


def lone_words(failed: Observation) -> str:
    """A clause on a failure that counts only where it comes again."""
    how = "among requests of others" if failed.contended else "where the model ended its answer itself"
    return f"{failed.length} prompt tokens ended once in {failed.outcome}, {how}"


def _plain(spec: ProbeSpec) -> ProbeSpec:
    return replace(spec, reason="", wait_s=0.0)

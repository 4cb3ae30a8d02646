"""Which probes of a list are answered, and how? PURE: the fold of a plan that works through a list."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from fuzzer.finding import Halt
from fuzzer.model import FAIL_ON_DEFAULT, Outcome, ProbeSpec
from fuzzer.observation import Observation
from fuzzer.plans.doubt import TWICE, answered_before
from fuzzer.plans.interruption import out_of_time, stopped, wait

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fuzzer.plans.terms import Terms


class Answers:
    """What was seen so far. An answer belongs to the question, word for word but for its reason."""

    def __init__(self, facts: Iterable[Observation] = (), fail_on: frozenset[Outcome] = FAIL_ON_DEFAULT) -> None:
        self.seen: list[Observation] = []
        self.evidence: list[Observation] = []
        self.deaths = 0
        self.late: Observation | None = None  # what the last one brought to light: the probe before it killed
        self.doubted: Observation | None = None  # what it made doubtful: the answer before it, or nobody's death
        self._fail_on = fail_on
        self._times: Counter[ProbeSpec] = Counter()
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
        if seen.outcome.is_evidence and seen.blames in {None, "this"}:
            self.evidence.append(seen)

    def _doubt(self, before: Observation, seen: Observation) -> None:
        """Take the answer before away, evidence or not: what is asked again and again may meet a death each time."""
        if self.evidence and self.evidence[-1].seq == before.seq:
            self.evidence.pop()
        how = "" if seen.outcome.is_evidence or not seen.reason else f": {seen.reason}"
        died = replace(before, outcome=Outcome.DEATH, reason=f"the engine died a while after it was answered{how}")
        if seen.blames != "previous":
            point = _plain(before.spec)
            self._times[point] += 1
            if self._times[point] < TWICE:
                self.doubted = died
                return
        self.late = died
        self.evidence.append(died)

    def to(self, spec: ProbeSpec) -> Observation | None:
        """The answer to this question, if there is one that is evidence."""
        return next((seen for seen in self.evidence if _plain(seen.spec) == _plain(spec)), None)

    def ended(self, terms: Terms) -> tuple[Halt, str] | None:
        """Why nothing more can be asked, as a halt and a sentence."""
        if (end := stopped(self, terms.max_deaths)) is not None:
            return end
        why = out_of_time(self.seen[-1].over_s, terms.max_time_s, self.wait()) if self.seen else None
        return None if why is None else (Halt.TIME, why)

    def wait(self) -> ProbeSpec | None:
        """The same again, later, where the target was busy."""
        return wait(self)


def _plain(spec: ProbeSpec) -> ProbeSpec:
    return replace(spec, reason="", wait_s=0.0)

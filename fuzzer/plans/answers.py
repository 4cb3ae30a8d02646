"""Which probes of a list are answered, and how? PURE: the fold of a plan that works through a list."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from fuzzer.finding import Halt
from fuzzer.model import Observation, Outcome, ProbeSpec
from fuzzer.plans.interruption import out_of_time, stopped, wait

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fuzzer.plans.terms import Terms

TWICE = 2  # so often in a row it is no chance that nobody's death follows one probe


class Answers:
    """What was seen so far. An answer belongs to the question, word for word but for its reason."""

    def __init__(self, facts: Iterable[Observation] = ()) -> None:
        self.seen: list[Observation] = []
        self.evidence: list[Observation] = []
        self.deaths = 0
        self.late: Observation | None = None  # what the last one brought to light: the probe before it killed
        self._doubted: Counter[ProbeSpec] = Counter()
        for fact in facts:
            self.take(fact)

    def take(self, seen: Observation) -> None:
        """Take one more observation. A death that came to light after the probe before it takes that one's pass away:
        blamed, it is that probe's own; nobody's, the probe is asked again, and is its own the second time.
        """
        self.deaths += seen.toll
        self.late = self._charged(seen) if seen.died_before else None
        self.seen.append(seen)
        if seen.outcome.is_evidence and seen.blames in {None, "this"}:
            self.evidence.append(seen)

    def _charged(self, seen: Observation) -> Observation | None:
        """The pass before it, as the death that it is by now. Who was turned away in between did nothing to it."""
        before = next((one for one in reversed(self.seen) if one.outcome.is_evidence or one.deaths), None)
        last = self.evidence[-1] if self.evidence else None
        if before is None or last is None or last.seq != before.seq or last.outcome is not Outcome.PASS:
            return None
        self.evidence.pop()
        point = _plain(last.spec)
        self._doubted[point] += seen.blames != "previous"
        if seen.blames != "previous" and self._doubted[point] < TWICE:
            return None
        self.evidence.append(replace(last, outcome=Outcome.DEATH, reason=seen.reason))
        return self.evidence[-1]

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

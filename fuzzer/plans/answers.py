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


class Answers:
    """What was seen so far. An answer belongs to the question, word for word but for its reason."""

    def __init__(self, facts: Iterable[Observation] = ()) -> None:
        self.seen: list[Observation] = []
        self.evidence: list[Observation] = []
        self.deaths = 0
        self._doubted: Counter[ProbeSpec] = Counter()
        for fact in facts:
            self.take(fact)

    def take(self, seen: Observation) -> None:
        """Take one more observation. A death that came to light after the probe before it takes that one's pass away:
        blamed, it is that probe's own; nobody's, the probe is asked again, and is its own the second time.
        """
        self.deaths += seen.toll
        self.seen.append(seen)
        if seen.blames in {"previous", "nobody"}:
            before = self.evidence.pop() if self.evidence and self.evidence[-1].outcome is Outcome.PASS else None
            if before is not None and (seen.blames == "previous" or self._doubted[_plain(before.spec)]):
                self.evidence.append(replace(before, outcome=Outcome.DEATH, reason=seen.reason))
            elif before is not None:
                self._doubted[_plain(before.spec)] += 1
        elif seen.outcome.is_evidence:
            self.evidence.append(seen)

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

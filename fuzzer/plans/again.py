"""Does a recorded probe show the same once more? PURE: a plan of that one probe."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fuzzer.model import FAIL_ON_DEFAULT, Outcome, ProbeSpec, Role
from fuzzer.plans.single import shown_by

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fuzzer.model import Observation
    from fuzzer.plans import Plan


@dataclass(frozen=True, slots=True)
class AgainQuestion:
    """The probe `seq` of run `of`, which was a `was` then; None where nobody saw its end."""

    of: str
    seq: int
    spec: ProbeSpec
    was: Outcome | None
    fail_on: frozenset[Outcome] = FAIL_ON_DEFAULT

    def to_json(self) -> dict[str, Any]:
        """Where to find the rest: the probe is in the database."""
        return {"run": self.of, "seq": self.seq, "was": self.was, "fail_on": sorted(self.fail_on)}

    def plan(self, facts: Iterable[Observation] = ()) -> Plan:
        """The one probe, unless it is among the facts. It is the last one: the engine may stay away."""
        reason = f"probe {self.seq} of run {self.of} once more"
        seen = next(iter(facts), None) or (yield replace(self.spec, role=Role.SINGLE, reason=reason, wait_s=0.0))
        finding = shown_by(seen, self.fail_on)
        return replace(finding, reason=f"{self._compared(seen.outcome)}; {finding.reason}")

    def repeats(self, now: Outcome) -> bool:
        return now is self.was

    def _compared(self, now: Outcome) -> str:
        if self.was is None:
            return f"nobody saw what it was then; now it is: {now}"
        return f"it repeats: {now}" if self.repeats(now) else f"it does not repeat: it was {self.was}, and is {now}"

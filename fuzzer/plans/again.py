"""Does a recorded probe show the same once more? PURE: a plan of that one probe."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fuzzer.model import FAIL_ON_DEFAULT, Outcome, ProbeSpec, Role
from fuzzer.plans.single import shown_by

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fuzzer.observation import Observation
    from fuzzer.plans import Plan


@dataclass(frozen=True, slots=True)
class AgainQuestion:
    """The probe `seq` of run `of`, which was a `was` then; None where nobody saw its end."""

    of: str
    seq: int
    spec: ProbeSpec
    was: Outcome | None
    fail_on: frozenset[Outcome] = FAIL_ON_DEFAULT
    ground: int | None = None  # tokens: that of the run, by which its texts are made of fewer different words

    def to_json(self) -> dict[str, Any]:
        """Where to find the rest: the probe is in the database."""
        told = {"run": self.of, "seq": self.seq, "was": self.was, "fail_on": sorted(self.fail_on)}
        return told if self.ground is None else {**told, "ground": self.ground}

    def plan(self, facts: Iterable[Observation] = ()) -> Plan:
        """The one probe, unless it is among the facts. It is the last one: the engine may stay away."""
        reason = f"probe {self.seq} of run {self.of} once more"
        seen = next(iter(facts), None) or (yield replace(self.spec, role=Role.SINGLE, reason=reason, wait_s=0.0))
        finding = shown_by(seen, self.fail_on)
        return replace(finding, reason=f"{self._compared(seen.outcome)}; {finding.reason}")

    def _compared(self, now: Outcome) -> str:
        match repeats(self.was, now):
            case True:
                return f"it repeats: {now}"
            case False:
                return f"it does not repeat: it was {self.was}, and is {now}"
            case _:
                was = "nobody saw what it was then" if self.was is None else f"it was {self.was} then"
                return f"{was}; now it is: {now}; whether it repeats cannot be told"


def repeats(was: Outcome | None, now: Outcome) -> bool | None:
    """Is it the same outcome once more? None where that cannot be told: one of the two is no evidence, or not known."""
    if was is None or not (was.is_evidence and now.is_evidence):
        return None
    return now is was

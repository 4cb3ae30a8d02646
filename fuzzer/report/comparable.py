"""Can two runs be compared: were they asked on the same terms, as far as terms decide what they claim? PURE.

A term that differs keeps two runs apart where it can make one look better or worse than the other, and only there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from fuzzer.model import FAIL_ON_DEFAULT, Outcome
from fuzzer.observation import Observation
from fuzzer.report.asked import COMMON, SEARCH, counts_output
from fuzzer.report.finding import draft_tokens
from fuzzer.report.verify import PLAN as GATE

if TYPE_CHECKING:
    from fuzzer.finding import Finding
    from fuzzer.store import Run

ALIKE: Final = {"mixed": "cold", "total": "prompt"}  # what decides in the same way
USUAL: Final[Mapping[str, object]] = {**COMMON, **SEARCH}  # what runs did before they could say so


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two runs."""

    run: Run
    finding: Finding
    seen: Sequence[Observation]

    @property
    def slack(self) -> int:
        """How far an edge may move by luck alone, in tokens: drafts that happen to be accepted move it by up to k."""
        return draft_tokens(self.seen) or 0

    def term(self, name: str) -> Any:  # noqa: ANN401  (any JSON)
        """What was asked, as it decides."""
        record = self.run.record
        value = record.question.get(name, record.settings.get(name, USUAL.get(name)))
        return ALIKE.get(value, value) if isinstance(value, str) else value

    @property
    def fail_on(self) -> frozenset[Outcome]:
        return frozenset(map(Outcome, self.term("fail_on") or FAIL_ON_DEFAULT))


def _always(_side: Side) -> bool:
    return True


def _has_companions(side: Side) -> bool:
    return bool(side.term("companions"))


def _is_turned(side: Side) -> bool:
    return counts_output(side.run)


def _has_edge(side: Side) -> bool:
    return (side.finding.first_bad, side.finding.first_bad_output) != (None, None)


def _has_islands(side: Side) -> bool:
    return bool(side.finding.islands)


def _has_hung(side: Side) -> bool:
    return any(seen.outcome is Outcome.HANG for seen in side.seen)


def _is_gate(side: Side) -> bool:
    return side.run.record.plan == GATE


def _fails_the_gate(side: Side) -> bool:
    return _is_gate(side) and side.finding.cap is None


# Each term, and where it decides: in either run.
TERMS: Final[Mapping[str, Callable[[Side], bool]]] = {
    "output_tokens": _always,
    "content": _always,
    "contents": _always,
    "concurrencies": _always,
    "mode": _always,
    "modes": _always,
    "stream": _always,
    "cache": _always,
    "companions": _always,
    "companion_length": _has_companions,
    "axis": _always,
    "prompt_tokens": _is_turned,
    "confidence": _has_edge,  # how surely it lies there, and not lower
    "tolerate": _has_edge,
    "attribute_axis": _has_edge,  # the cap follows the sum that it was found on
    "scan": _has_islands,
    "timeout_s": _has_hung,
    "cap": _is_gate,
    "far": _fails_the_gate,
    "first_bad": _fails_the_gate,
}


def unlike(before: Side, after: Side) -> list[str]:
    """The terms on which the two runs cannot be compared."""
    sides = before, after
    deciding = [name for name, decides in TERMS.items() if any(map(decides, sides))]
    asked = [(name, before.term(name), after.term(name)) for name in deciding]
    asked.append(("plan", before.run.record.plan, after.run.record.plan))
    apart = [f"{name} was {_spelled(old)} and is {_spelled(new)}" for name, old, new in asked if old != new]
    if (before.fail_on ^ after.fail_on) & {seen.outcome for side in sides for seen in side.seen}:
        old, new = (_spelled(sorted(side.fail_on)) for side in sides)
        apart.append(f"fail_on was {old} and is {new}")
    return apart


def _spelled(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)

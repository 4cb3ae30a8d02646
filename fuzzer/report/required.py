"""Does a run vouch for the cap that was required of it (`bisect --require`)? PURE."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzzer.finding import FindingKind

if TYPE_CHECKING:
    from fuzzer.finding import Finding
    from fuzzer.store import Run

UNANSWERED = frozenset({FindingKind.NOT_LENGTH, FindingKind.INCONCLUSIVE})


def required_of(run: Run) -> int | None:
    """The least cap that is good news, in tokens; None where none was required."""
    require = run.record.question.get("require")
    return require if isinstance(require, int) else None


def holds(finding: Finding, require: int) -> bool:
    """Does the finding vouch for `require`? By its cap, or by the ground that was covered where no cap is needed."""
    vouched = finding.verified_up_to if finding.kind is FindingKind.NONE else finding.cap
    return vouched is not None and vouched >= require


def decided(finding: Finding, require: int) -> bool | None:
    """The same as the exit code tells it: None where the run came to no answer."""
    if finding.halt is not None or finding.kind in UNANSWERED:
        return None
    return holds(finding, require)

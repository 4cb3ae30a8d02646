"""With which exit code does a command leave? PURE: one table, the same for every command."""

from __future__ import annotations

from enum import IntEnum

from fuzzer.finding import Finding, Halt
from fuzzer.measure.sameness import Verdict
from fuzzer.report.required import UNANSWERED, holds


class Exit(IntEnum):
    ANSWERED = 0
    BAD_NEWS = 1  # answered, but what was required does not hold
    USAGE = 2
    INCONCLUSIVE = 3
    UNUSABLE = 4  # the target cannot be used, or did not come back
    INTERRUPTED = 130


BY_HALT = {
    Halt.LOST: Exit.UNUSABLE,
    Halt.UNUSABLE: Exit.UNUSABLE,
    Halt.DEATHS: Exit.INCONCLUSIVE,
    Halt.TIME: Exit.INCONCLUSIVE,
    Halt.BUSY: Exit.INCONCLUSIVE,
    Halt.REPLICAS: Exit.INCONCLUSIVE,
    Halt.PROXY: Exit.INCONCLUSIVE,
    Halt.CONTENDED: Exit.INCONCLUSIVE,
    Halt.NOT_LENGTH: Exit.INCONCLUSIVE,
    Halt.CONTRADICTION: Exit.INCONCLUSIVE,
}

BY_VERDICT = {
    Verdict.SAME: Exit.ANSWERED,
    Verdict.DIFFERENT: Exit.BAD_NEWS,
    Verdict.UNDECIDABLE: Exit.INCONCLUSIVE,
}


def exit_of(finding: Finding, require: int | None = None) -> Exit:
    """Why the run halted comes before what it found; `require` is the least cap that is good news, in tokens."""
    if finding.halt is not None:
        return BY_HALT[finding.halt]
    if finding.kind in UNANSWERED:
        return Exit.INCONCLUSIVE
    if require is not None and not holds(finding, require):
        return Exit.BAD_NEWS
    return Exit.ANSWERED

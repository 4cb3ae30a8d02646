"""How does one probe read in one line? PURE. The same line in a pipe, above the live view and in `show`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzzer.model import Outcome
from fuzzer.report.plain import plain
from fuzzer.report.words import span, tokens

if TYPE_CHECKING:
    from fuzzer.model import ProbeSpec
    from fuzzer.observation import Observation

OUTCOME_WIDTH = max(map(len, Outcome))


def head(seen: Observation) -> str:
    """What was sent: number, role and length in columns."""
    return _sent(seen.seq, seen.spec, seen.length)


def unanswered(seq: int, spec: ProbeSpec) -> str:
    """A probe that was about to leave, and of which nothing else is on record."""
    return f"{_sent(seq, spec, spec.length)} sent; its outcome is not on record yet"


def short_head(seen: Observation) -> str:
    """The same for a narrow terminal."""
    return f"#{seen.seq:<3} {tokens(seen.length):>9}"


def tail(seen: Observation) -> str:
    """What else is worth a word: time, marks, revival, the engine's own words."""
    parts = [f"{span(seen.duration_s):>7}"]
    if seen.clamped:
        parts.append(f"clamped to {seen.completion_tokens} output tokens")
    if seen.spec.stop_after is not None and seen.outcome is Outcome.PASS and not seen.clamped:
        parts.append("its first tokens were read, no more")
    if seen.contended:
        parts.append("contended")
    if seen.corroboration is not None:
        parts.append(seen.corroboration)
    if seen.wedged:
        parts.append("engine wedged")
    if seen.revival_s is not None:
        parts.append(f"back after {span(seen.revival_s)}" if seen.revived else f"not back in {span(seen.revival_s)}")
    if seen.signature:
        parts.append(f'"{plain(seen.signature, 120)}"')
    elif seen.outcome is not Outcome.PASS and seen.reason:
        parts.append(plain(seen.reason, 160))
    return "  ".join(parts)


def line(seen: Observation) -> str:
    """One probe, without colour."""
    return f"{head(seen)} {seen.outcome:<{OUTCOME_WIDTH}} {tail(seen)}"


def _sent(seq: int, spec: ProbeSpec, length: int) -> str:
    return f"#{seq:<3} {spec.role:<12} {tokens(length):>9} +{spec.output_tokens:<4}"

"""From which length on is speculation off? PURE. Asked among passes only: every length here is known to be survived."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzzer.model import Outcome, ProbeSpec, Role

if TYPE_CHECKING:
    from fuzzer.plans.ledger import Ledger


def where_speculation_ends(ledger: Ledger) -> ProbeSpec | None:
    """The next length between the longest that was drafted for and the shortest that was not."""
    drafted, off = _span(ledger)
    question = ledger.question
    if off is None or off - drafted <= max(question.resolution, 1) or ledger.deaths >= question.max_deaths:
        return None
    length = (drafted + off) // 2
    while ledger.missed(length):  # prompts of this mode come in steps
        length += 1
    if length >= off:
        return None  # the span is one step wide
    return question.spec(length, Role.SEARCH, f"speculation ends in {drafted} .. {off}")


def speculation_off_from(ledger: Ledger) -> tuple[int | None, str]:
    """The shortest length that was answered without speculation, and a clause that says how exactly it is known."""
    drafted, off = _span(ledger)
    if off is None:
        return None, ""
    return off, f"; speculation is off from {off} tokens on (on at {drafted})"


def _span(ledger: Ledger) -> tuple[int, int | None]:
    if Outcome.DEGRADED in ledger.question.fail_on:
        return 0, None
    answers = [(length, tally.passes[0]) for length, tally in ledger.line() if tally.passes]
    off = min((length for length, seen in answers if seen.outcome is Outcome.DEGRADED), default=None)
    drafted = [length for length, seen in answers if off is not None and length < off]
    return max(drafted, default=0), off

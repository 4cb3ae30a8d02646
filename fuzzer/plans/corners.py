"""Does the cap hold at the corners of the triangle that it admits? PURE.

A cap admits every prompt + output up to itself; the search walked one line of that triangle.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzzer.model import ProbeSpec, Role

if TYPE_CHECKING:
    from fuzzer.plans.ledger import Ledger

FIRST_TOKENS = 4


def corner(ledger: Ledger, cap: int | None) -> ProbeSpec | None:
    """The next corner that is not known. One that failed is asked again, until it is sound or failed twice."""
    if cap is None:
        return None
    question = ledger.question
    for length, output in _corners(ledger, cap):
        tally = ledger.at(length, output)
        if tally.refusals or len(tally.all_failures) >= 2:
            continue
        spent = bool(tally.all_failures) and ledger.deaths >= question.max_deaths
        if spent or (tally.passes and (not tally.all_failures or ledger.is_sound(tally))):
            continue
        is_long_output = output > question.output_tokens
        reason = "a short prompt that asks for all the rest" if is_long_output else "a corner of what the cap admits"
        return question.spec(
            length, Role.CORNER, reason, output_tokens=output, stop_after=FIRST_TOKENS if is_long_output else None
        )
    return None


def failed_corner(ledger: Ledger, cap: int | None) -> tuple[int, int] | None:
    """A corner of the cap that does not hold, as (prompt, output)."""
    if cap is None:
        return None
    for point in _corners(ledger, cap):
        tally = ledger.at(*point)
        if tally.all_failures and not ledger.is_sound(tally):
            return point
    return None


def unknown_corners(ledger: Ledger, cap: int | None) -> list[tuple[int, int]]:
    """Corners that nothing is known of."""
    if cap is None:
        return []
    return [point for point in _corners(ledger, cap) if not ledger.at(*point).passes and not ledger.at(*point).is_bad]


def _corners(ledger: Ledger, cap: int) -> list[tuple[int, int]]:
    output, short = ledger.question.output_tokens, ledger.question.baseline
    corners = [(cap - 1, 1), (cap - output, output), (short, cap - short)]
    return [(length, asked) for length, asked in dict.fromkeys(corners) if length >= 1 and asked >= 1]

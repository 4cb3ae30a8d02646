"""Does the cap hold at the corners of the triangle that it admits? PURE.

A cap admits every prompt + output up to itself; the search walked one line of that triangle. A point is covered by a
pass of a prompt that is as long and asks for as many output tokens: so what a search leaves open is mostly the corner
of the short prompt that asks for all the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzzer.model import Outcome, ProbeSpec, Role
from fuzzer.plans.limits import corners_below

if TYPE_CHECKING:
    from fuzzer.plans.ledger import Ledger

FIRST_TOKENS = 4  # read of an answer that asked for more than anybody waits for
LAST_DEATHS = 2


def corner(ledger: Ledger, cap: int | None) -> ProbeSpec | None:
    """The next corner that was not sent. One that failed is asked again, until it is sound or failed twice."""
    lacking = corners_lacking(ledger, cap)
    return _ask(ledger, *lacking[0]) if lacking else None


def short_corner(ledger: Ledger, cap: int | None) -> ProbeSpec | None:
    """The corner of the short prompt, where it is all that keeps the cap back: it takes next to no time."""
    unknown = unknown_corners(ledger, cap)
    is_short = len(unknown) == 1 and unknown[0] == _short(ledger, cap)
    return _ask(ledger, *unknown[0]) if is_short else None


def insure(ledger: Ledger) -> ProbeSpec | None:
    """The corner of the short prompt for all caps to come, while there are deaths to spend on it.

    Once the deaths are spent it may not be sent any more, and without it the ground covered carries no cap. Before the
    last death is risked on all of them, the cap of the ground that is covered by now is secured.
    """
    question, bounds = ledger.question, ledger.bounds
    left = question.max_deaths - ledger.deaths
    if not 0 < left <= LAST_DEATHS:
        return None
    caps = (bounds.high - 1, bounds.low)
    for cap in caps if left > 1 else reversed(caps):
        length, output = _short(ledger, cap)
        if output >= 1 and not ledger.covers(length, output) and not ledger.has_asked(length, output):
            return _ask(ledger, length, output)
    return None


def failed_corner(ledger: Ledger, cap: int | None) -> tuple[int, int] | None:
    """A corner of the cap that does not hold, as (prompt, output)."""
    for point in _corners(ledger, cap):
        tally = ledger.at(*point)
        if tally.all_failures and not ledger.is_sound(tally):
            return point
    return None


def unknown_corners(ledger: Ledger, cap: int | None) -> list[tuple[int, int]]:
    """Corners of which no probe tells whether they hold."""
    return [point for point in _corners(ledger, cap) if not ledger.at(*point).is_bad and not ledger.covers(*point)]


def refused_corners(ledger: Ledger, cap: int | None) -> list[tuple[int, int]]:
    """Corners that the target refuses: no cap makes them pass, and none makes them fail."""
    return [point for point in _corners(ledger, cap) if ledger.at(*point).refusals]


def corners_lacking(ledger: Ledger, cap: int | None) -> list[tuple[int, int]]:
    """Corners that are still to be sent."""
    return [point for point in _corners(ledger, cap) if _is_lacking(ledger, *point)]


def _is_lacking(ledger: Ledger, length: int, output: int) -> bool:
    tally = ledger.at(length, output)
    if tally.refusals or len(tally.all_failures) >= 2:
        return False
    return not tally.passes or (bool(tally.all_failures) and not ledger.is_sound(tally))


def _ask(ledger: Ledger, length: int, output: int) -> ProbeSpec:
    is_long_output = output > ledger.question.output_tokens
    reason = "a short prompt that asks for all the rest" if is_long_output else "a corner of what the cap admits"
    return ledger.question.spec(
        length, Role.CORNER, reason, output_tokens=output, stop_after=FIRST_TOKENS if is_long_output else None
    )


def _short(ledger: Ledger, cap: int | None) -> tuple[int, int]:
    """The short prompt, and all the rest. What a server adds to it is of the prompt: a sum that does not fit is refused
    for that, and tells nothing of the number.
    """
    length, full = max(ledger.question.baseline, ledger.shortest), (cap or 0) - ledger.question.reserved
    refused = (seen for seen in ledger.by_role.get(Role.CORNER, []) if seen.outcome is Outcome.REJECTED)
    counted = max((seen.length for seen in refused if seen.spec.length == length), default=length)
    return length, full - max(length, counted)


def _corners(ledger: Ledger, cap: int | None) -> list[tuple[int, int]]:
    if cap is None:
        return []
    corners = dict.fromkeys([*corners_below(ledger, cap), _short(ledger, cap)])
    return [(length, asked) for length, asked in corners if asked >= 1]

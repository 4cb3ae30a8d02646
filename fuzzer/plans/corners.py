"""Does the cap hold at the corners of the triangle that it admits? PURE.

A cap admits every prompt + output up to itself; the search walked one line of that triangle. A point is covered by a
pass of a prompt that is as long and asks for as many output tokens: so what a search leaves open is mostly the corner
of the short prompt that asks for all the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzzer.model import Outcome, ProbeSpec, Role
from fuzzer.plans.confirm import failure_s, passes_to_bear
from fuzzer.plans.limits import corners_below

if TYPE_CHECKING:
    from fuzzer.plans.ledger import Ledger
    from fuzzer.plans.tally import Tally

FIRST_TOKENS = 4  # read of an answer that asked for more than anybody waits for
LAST_DEATHS = 2


def corner(ledger: Ledger, cap: int | None) -> ProbeSpec | None:
    """The next corner that was not sent. One that failed is asked again, until it is sound or failed twice."""
    lacking = corners_lacking(ledger, cap)
    return _ask(ledger, *lacking[0]) if lacking else None


def short_corner(ledger: Ledger, cap: int | None) -> ProbeSpec | None:
    """The corner of the short prompt, where one pass of it is all that keeps the cap back: it takes next to no time."""
    unknown, short = unknown_corners(ledger, cap), _short(ledger, cap)
    is_last = unknown == [short] and ledger.covers(*short, passes_to_bear(ledger) - 1)
    return _ask(ledger, *short) if is_last else None


def insure(ledger: Ledger) -> ProbeSpec | None:
    """The corner of the short prompt for all caps to come, while there are deaths to spend on it.

    Once the deaths are spent it may not be sent any more, and without it the ground covered carries no cap. Before the
    last death is risked on all of them, the cap of the ground that is covered by now is secured.
    """
    left = ledger.question.max_deaths - ledger.deaths
    return _insured(ledger, left) if 0 < left <= LAST_DEATHS else None


def insure_in_time(ledger: Ledger) -> ProbeSpec | None:
    """The same while --max-time leaves room for it, once there is ground to carry a cap: one more failure might take
    the rest.
    """
    question, bounds = ledger.question, ledger.bounds
    left = question.max_deaths - ledger.deaths
    if question.max_time_s is None or left <= 0 or ledger.ground(halted=True) is None:
        return None
    good_s = ledger.prices.of(ledger.question.baseline)[0]
    bad_s = failure_s(ledger, bounds.high - 1)
    left_s = question.max_time_s - ledger.over_s
    return _insured(ledger, left) if left_s <= passes_to_bear(ledger) * good_s + bad_s else None


def _insured(ledger: Ledger, left: int) -> ProbeSpec | None:
    caps = (ledger.bounds.high - 1, ledger.bounds.low)
    for cap in caps if left > 1 else reversed(caps):
        length, output = _short(ledger, cap)
        if output >= 1 and not _is_answered(ledger, length, output):
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
    return [
        point for point in _corners(ledger, cap) if not ledger.at(*point).is_bad and not _is_covered(ledger, *point)
    ]


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
    if _only_passed(tally):
        return not _is_enough(ledger, length, output)
    return not ledger.is_sound(tally)


def _is_enough(ledger: Ledger, length: int, output: int) -> bool:
    """Did it pass often enough, or what is more, whatever its length was counted as?"""
    return len(ledger.at(length, output).passes) >= _passes_of(ledger, output) or _is_covered(ledger, length, output)


def _is_covered(ledger: Ledger, length: int, output: int) -> bool:
    return ledger.covers(length, output, _passes_of(ledger, output))


def _passes_of(ledger: Ledger, output: int) -> int:
    """How many passes a corner takes. A number that is asked for is on no line that was walked: it takes those of a
    last_good, each cancelled after its first tokens.
    """
    return passes_to_bear(ledger) if output > ledger.question.output_tokens else 1


def _is_answered(ledger: Ledger, length: int, output: int) -> bool:
    """Is there an answer to what is to be insured: it passed often enough, or it did not pass?"""
    if _is_enough(ledger, length, output):
        return True
    return ledger.has_asked(length, output) and not _only_passed(ledger.at(length, output))


def _only_passed(tally: Tally) -> bool:
    return bool(tally.passes) and not tally.all_failures and not tally.refusals


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

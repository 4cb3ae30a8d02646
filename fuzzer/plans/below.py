"""What is known to fail below the edge, alone, and what passes beneath it? PURE.

The evidence of a scan stands by itself. Without `--scan` its few probes of the grain are all of it, and the line weighs
what the search itself met.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING

from fuzzer.plans.recall import unanswered

if TYPE_CHECKING:
    from fuzzer.plans.ledger import Ledger
    from fuzzer.plans.tally import Tally


def asked_below(ledger: Ledger) -> list[tuple[int, Tally]]:
    """All that is known of lengths up to the edge, the search's own among it, shortest first."""
    top = ledger.bounds.last_good or 0
    met = ledger.islands if ledger.question.scan else ()
    known = {length: tally for length, tally in ledger.line() if tally.passes or length in met}
    for length, tally in ledger.points.scanned.items():
        known[length] = known[length].with_all(tally) if length in known else tally
    return sorted(((length, tally) for length, tally in known.items() if length <= top), key=itemgetter(0))


def is_failing(ledger: Ledger, length: int, tally: Tally) -> bool:
    """Is a failure known, and not outweighed? On the line also longer prompts' passes do that, but for deaths."""
    if not tally.all_failures or ledger.is_sound(tally):
        return False
    if length in ledger.points.scanned:
        return True
    return bool(ledger.question.scan) and (kills(tally) or length in ledger.islands)


def kills(tally: Tally) -> bool:
    """Did any of it take the engine down?"""
    return any(seen.toll for seen in tally.all_failures)


def failing_below(ledger: Ledger) -> list[int]:
    """What a scan knows to have failed, be it but once, and not to be outweighed, shortest first."""
    return [length for length, tally in asked_below(ledger) if is_failing(ledger, length, tally)]


def lowest_failing(ledger: Ledger) -> int | None:
    """The shortest prompt that killed in an earlier run, or that a scan knows to have failed; None: none is."""
    return min([*unanswered(ledger)[:1], *failing_below(ledger)[:1]], default=None)


def passing(ledger: Ledger, below: int) -> dict[int, Tally]:
    """All lengths below it that passed."""
    return {length: tally for length, tally in asked_below(ledger) if length < below and tally.passes}


def passed_below(ledger: Ledger, failing: int) -> int | None:
    """The longest prompt below it that passed."""
    return max(passing(ledger, failing), default=None)


def ground_below(ledger: Ledger, failing: int) -> int | None:
    """The longest prompt below it whose passes bear the claim. The short one bears none that anybody could use."""
    sound = (at for at, tally in passing(ledger, failing).items() if ledger.is_sound(tally))
    return max((at for at in sound if at > ledger.question.baseline), default=None)

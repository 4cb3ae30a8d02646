"""Does anything fail below the edge, alone, where engines like to fail? PURE.

A bisect believes that failures are monotone; a scan asks places that it has no reason to ask. Its evidence stands by
itself: an island says nothing about the edge above it, and the edge nothing about it. What killed twice, and did not
pass often enough to outweigh that, is an island; what the engine lives through may be strays, so it has to fail clearly
more often than it passes, or for as long as anybody asks. Then the two ends are looked for, and the claim is made anew
below. What failed and could not be asked again holds the cap back like an island.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from fuzzer.model import ProbeSpec, Role
from fuzzer.plans.narrowing import is_closed
from fuzzer.plans.recall import unanswered
from fuzzer.recommend import passes_needed
from fuzzer.search.places import places

if TYPE_CHECKING:
    from fuzzer.plans.ledger import Ledger
    from fuzzer.plans.tally import Tally


MOST_ASKED = 30  # times, to tell an island that the engine lives through from strays


@dataclass(frozen=True, slots=True)
class Island:
    """Lengths first .. last fail. `is_measured`: the lengths beside both ends pass, so that this is all of it."""

    first: int
    last: int
    is_measured: bool = False
    signature: str = ""
    outcome: str = ""


def scan(ledger: Ledger) -> ProbeSpec | None:
    """The next place, once the edge stands; but first what an island leaves open."""
    question, bounds = ledger.question, ledger.bounds
    if not question.scan or bounds.noisy or bounds.last_good is None or not is_closed(ledger):
        return None
    found = islands(ledger)
    open_yet = _settle(ledger, found) or (_measure(ledger, found[0]) or _confirm(ledger, found[0]) if found else None)
    if open_yet is not None or ledger.deaths >= question.max_deaths:
        return open_yet  # what is left open by a failure halts the run where it cannot be afforded; more places do not
    return _next_place(ledger, min([bounds.last_good, *(one.first - 1 for one in found)]))


def islands(ledger: Ledger) -> list[Island]:
    """What the scan found, lowest first: neighbours in a row of what was asked, one of which is sure to fail."""
    if not ledger.question.scan:
        return []
    asked = _asked(ledger)
    runs = [list(run) for fails, run in groupby(asked, key=lambda item: _fails(ledger, *item)) if fails]
    passed = {length for length, tally in asked if tally.passes and not _fails(ledger, length, tally)}
    return [_island(run, passed) for run in runs if any(_is_sure(tally) for _, tally in run)]


def scanned(ledger: Ledger) -> tuple[int, int]:
    """How many places passed, of how many there are below the edge."""
    below = ledger.bounds.last_good or 0
    wanted = {length for length, _ in _places(below, *_sizes(ledger))}
    return sum(bool(ledger.at_place(length).passes) for length in wanted), len(wanted)


def lowest_failing(ledger: Ledger) -> int | None:
    """The shortest prompt that killed in an earlier run, or that a scan knows to have failed, be it but once, and not
    to be outweighed; None: none is.
    """
    failing = unanswered(ledger)[:1]
    if ledger.question.scan:
        failing += [length for length, tally in _asked(ledger) if _fails(ledger, length, tally)][:1]
    return min(failing, default=None)


def firm_ground(ledger: Ledger) -> ProbeSpec | None:
    """Once the deaths are spent: the longest prompt that passed below what fails, until its passes bear the claim."""
    failing = lowest_failing(ledger)
    if failing is None or ledger.deaths < ledger.question.max_deaths:
        return None
    length = passed_below(ledger, failing)
    if length is None or length <= ledger.question.baseline or ledger.is_sound(_passed(ledger, failing)[length]):
        return None
    reason = f"no death is left for {failing}, which failed: does what passed below it bear a claim?"
    return ledger.question.spec(length, Role.SCAN, reason)


def ground_below(ledger: Ledger, failing: int) -> int | None:
    """The longest prompt below it whose passes bear the claim. The short one bears none that anybody could use."""
    sound = (at for at, tally in _passed(ledger, failing).items() if ledger.is_sound(tally))
    return max((at for at in sound if at > ledger.question.baseline), default=None)


def passed_below(ledger: Ledger, failing: int) -> int | None:
    """The longest prompt below it that passed."""
    return max(_passed(ledger, failing), default=None)


def _passed(ledger: Ledger, below: int) -> dict[int, Tally]:
    return {length: tally for length, tally in _asked(ledger) if length < below and tally.passes}


def _settle(ledger: Ledger, found: list[Island]) -> ProbeSpec | None:
    """A place that failed: again, until it is sure to fail, or has passed often enough for that to be a stray.

    Beside an island once is enough, so that its width costs half the deaths.
    """
    for length, tally in _asked(ledger):
        is_known = any(island.first <= length <= island.last for island in found)
        if _fails(ledger, length, tally) and not is_known and not _is_sure(tally):
            seen = f"failures {len(tally.all_failures)}, passes {len(tally.passes)}"
            reason = f"it failed before ({seen}): an island, or a stray?"
            return ledger.question.spec(length, Role.SCAN, reason)
    return None


def _measure(ledger: Ledger, island: Island) -> ProbeSpec | None:
    """Where it begins and ends: away from it by its own width, then halfway between what passes and what fails."""
    asked = _asked(ledger)
    width = island.last - island.first + 1
    ends = [length for length, tally in asked if not _fails(ledger, length, tally)]
    below = max((length for length in ends if length < island.first), default=0)
    above = min((length for length in ends if length > island.last), default=ledger.bounds.last_good or island.last + 1)
    for passes, fails, side in ((below, island.first, -1), (above, island.last, 1)):
        gap = abs(fails - passes)
        length = fails + side * width if gap > width else (fails + passes) // 2
        if gap > 1 and not ledger.points.missed_by_scan(length):
            return ledger.question.spec(length, Role.SCAN, f"{fails} is an island: how wide is it?")
    return None


def _confirm(ledger: Ledger, island: Island) -> ProbeSpec | None:
    """The length below it, until its passes bear the claim: there the cap will be."""
    length, question = island.first - 1, ledger.question
    tally = ledger.at_place(length)
    if length < 1 or ledger.is_sound(tally) or (not tally.passes and ledger.points.missed_by_scan(length)):
        return None
    needed = passes_needed(question.confidence, question.tolerate)
    return question.spec(length, Role.SCAN, f"below the island: passed {len(tally.passes)} of {needed} times")


def _next_place(ledger: Ledger, below: int) -> ProbeSpec | None:
    question = ledger.question
    if len(ledger.by_role.get(Role.SCAN, [])) >= question.scan:
        return None
    for length, what in _places(ledger.bounds.last_good or 0, *_sizes(ledger)):
        untried = not ledger.at_place(length).passes and not ledger.points.has_scanned(length)
        if question.baseline < length <= below and untried:
            return question.spec(length, Role.SCAN, what)
    return None


def _sizes(ledger: Ledger) -> tuple[int, int, tuple[int, ...]]:
    question = ledger.question
    return question.output_tokens, ledger.draft_tokens or 0, tuple(suspect.value for suspect in question.suspects)


@lru_cache(maxsize=16)
def _places(
    last_good: int, output_tokens: int, draft_tokens: int, suspects: tuple[int, ...]
) -> tuple[tuple[int, str], ...]:
    found = places(last_good, output_tokens=output_tokens, draft_tokens=draft_tokens, suspects=suspects)
    return tuple((place.length, place.what) for part in found for place in part)


def _asked(ledger: Ledger) -> list[tuple[int, Tally]]:
    """All that is known of lengths up to the edge, the search's own among it, shortest first."""
    top = ledger.bounds.last_good or 0
    met = ledger.islands if ledger.question.scan else ()
    known = {length: tally for length, tally in ledger.line() if tally.passes or length in met}
    for length, tally in ledger.points.scanned.items():
        known[length] = known[length].with_all(tally) if length in known else tally
    return sorted(((length, tally) for length, tally in known.items() if length <= top), key=itemgetter(0))


def _fails(ledger: Ledger, length: int, tally: Tally) -> bool:
    """Is a failure known, and not outweighed? On the line also longer prompts' passes do that, but for deaths."""
    if not tally.all_failures or ledger.is_sound(tally):
        return False
    return _kills(tally) or length in ledger.points.scanned or length in ledger.islands


def _kills(tally: Tally) -> bool:
    return any(seen.toll for seen in tally.all_failures)


def _is_sure(tally: Tally) -> bool:
    """Did it fail often enough to be an island, should its passes not outweigh that?"""
    failed, passed = len(tally.failures), len(tally.passes)
    if _kills(tally):
        return failed > 1
    return failed > max(passed, 1) + 1 or failed + passed >= MOST_ASKED


def _island(run: list[tuple[int, Tally]], passed: set[int]) -> Island:
    first, last = run[0][0], run[-1][0]
    worst = max((tally for _, tally in run), key=lambda tally: len(tally.failures)).failures[0]
    return Island(first, last, first - 1 in passed and last + 1 in passed, worst.signature, worst.outcome.value)

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
from typing import TYPE_CHECKING

from fuzzer.model import ProbeSpec, Role
from fuzzer.plans.below import asked_below, failing_below, is_failing, kills, lowest_failing, passed_below, passing
from fuzzer.plans.grain import echo, grain, is_alone, recurring
from fuzzer.plans.narrowing import is_closed
from fuzzer.recommend import passes_needed
from fuzzer.search.places import places

if TYPE_CHECKING:
    from fuzzer.plans.ledger import Ledger
    from fuzzer.plans.tally import Tally


LAST_DEATHS = 2  # to be left where a cap is secured before they are risked
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
    """The next place, once the edge stands; but first what a failure leaves open. Without `--scan`, just the grain.

    What recurs leaves no cap to be found, so nothing more is asked.
    """
    question, bounds = ledger.question, ledger.bounds
    if not _is_open(ledger) or not is_closed(ledger) or recurring(ledger) is not None:
        return None
    found = islands(ledger)
    open_yet = _open_yet(ledger, found)
    if open_yet is not None or ledger.deaths >= question.max_deaths:
        return open_yet  # what is left open by a failure halts the run where it cannot be afforded; more places do not
    below = min([bounds.last_good or 0, *(one.first - 1 for one in found)])
    return grain(ledger, below) or _next_place(ledger, below)


def grain_in_time(ledger: Ledger) -> ProbeSpec | None:
    """The grain of the ground that is covered by now, while there are deaths to spend on it: once they are spent it may
    not be sent any more.
    """
    left = ledger.question.max_deaths - ledger.deaths
    if not 0 < left <= LAST_DEATHS or not _is_open(ledger) or recurring(ledger) is not None:
        return None
    if failing_below(ledger):
        return echo(ledger) or _settle(ledger, islands(ledger))
    return grain(ledger, ledger.bounds.last_good or 0)


def _is_open(ledger: Ledger) -> bool:
    """Is there ground to look at? Without `--scan` an island that the search met leaves no cap above it anyway."""
    bounds = ledger.bounds
    return not bounds.noisy and bounds.last_good is not None and (bool(ledger.question.scan) or not ledger.islands)


def _open_yet(ledger: Ledger, found: list[Island]) -> ProbeSpec | None:
    """What failures leave open: of a new one first whether it recurs, of an island first how wide it is."""
    if not found or failing_below(ledger)[0] < found[0].first:
        return echo(ledger) or _settle(ledger, found)
    return _settle(ledger, found) or _measure(ledger, found[0]) or echo(ledger) or _confirm(ledger, found[0])


def islands(ledger: Ledger) -> list[Island]:
    """What the scan found, lowest first: neighbours in a row of what was asked, one of which is sure to fail."""
    asked, alike = asked_below(ledger), recurring(ledger) or ()
    runs = [list(run) for fails, run in groupby(asked, key=lambda item: is_failing(ledger, *item)) if fails]
    passed = {length for length, tally in asked if tally.passes and not is_failing(ledger, length, tally)}
    return [_island(run, passed) for run in runs if any(length in alike or _is_sure(tally) for length, tally in run)]


def scanned(ledger: Ledger) -> tuple[int, int]:
    """How many places passed, of how many there are below the edge."""
    below = ledger.bounds.last_good or 0
    wanted = {length for length, _ in _places(below, *_sizes(ledger))}
    return sum(bool(ledger.at_place(length).passes) for length in wanted), len(wanted)


def firm_ground(ledger: Ledger) -> ProbeSpec | None:
    """Once the deaths are spent: the longest prompt that passed below what fails, until its passes bear the claim."""
    failing = lowest_failing(ledger)
    if failing is None or ledger.deaths < ledger.question.max_deaths or not is_alone(ledger, failing):
        return None
    length = passed_below(ledger, failing)
    if length is None or length <= ledger.question.baseline or ledger.is_sound(passing(ledger, failing)[length]):
        return None
    reason = f"no death is left for {failing}, which failed: does what passed below it bear a claim?"
    return ledger.question.spec(length, Role.SCAN, reason)


def _settle(ledger: Ledger, found: list[Island]) -> ProbeSpec | None:
    """A place that failed: again, until it is sure to fail, or has passed often enough for that to be a stray.

    Beside an island once is enough, so that its width costs half the deaths.
    """
    for length, tally in asked_below(ledger):
        is_known = any(island.first <= length <= island.last for island in found)
        if is_failing(ledger, length, tally) and not is_known and not _is_sure(tally):
            seen = f"failures {len(tally.all_failures)}, passes {len(tally.passes)}"
            reason = f"it failed before ({seen}): an island, or a stray?"
            return ledger.question.spec(length, Role.SCAN, reason)
    return None


def _measure(ledger: Ledger, island: Island) -> ProbeSpec | None:
    """Where it begins and ends: away from it by its own width, then halfway between what passes and what fails."""
    asked = asked_below(ledger)
    width = island.last - island.first + 1
    ends = [length for length, tally in asked if not is_failing(ledger, length, tally)]
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


def _is_sure(tally: Tally) -> bool:
    """Did it fail often enough to be an island, should its passes not outweigh that?"""
    failed, passed = len(tally.failures), len(tally.passes)
    if kills(tally):
        return failed > 1
    return failed > max(passed, 1) + 1 or failed + passed >= MOST_ASKED


def _island(run: list[tuple[int, Tally]], passed: set[int]) -> Island:
    first, last = run[0][0], run[-1][0]
    worst = max((tally for _, tally in run), key=lambda tally: len(tally.failures)).failures[0]
    return Island(first, last, first - 1 in passed and last + 1 in passed, worst.signature, worst.outcome.value)

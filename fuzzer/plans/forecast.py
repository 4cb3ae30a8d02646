"""How many probes, deaths and seconds will it take? PURE.

The search is played against edges that stand for the belief.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fuzzer.events import Bracket
from fuzzer.plans.axis import settle_axis
from fuzzer.plans.cap import cap_of
from fuzzer.plans.confirm import is_confirmed_bad
from fuzzer.plans.corners import corners_lacking
from fuzzer.plans.narrowing import belief_of, hinted_next, is_closed, search_of
from fuzzer.plans.scan import scan
from fuzzer.plans.scout import Stages
from fuzzer.recommend import passes_needed

if TYPE_CHECKING:
    from fuzzer.plans.ledger import Ledger
    from fuzzer.plans.question import BisectQuestion

EDGES = 48
PRIMES = 2  # after each death, where the cache is to be warm
CORNERS = 3
GRAIN = 3  # lengths at the ends of blocks
AROUND_THE_EDGE = 2  # passes that tell on which sum it lies


@dataclass(frozen=True, slots=True)
class Forecast:
    """Expected from here to the finding. `seconds` is None until a pass was timed."""

    probes: float
    deaths: float
    seconds: float | None


def forecast(question: BisectQuestion) -> Forecast:
    """What a run is expected to take, before anything is sent."""
    return forecast_of(Stages(question))


def forecast_of(stages: Stages) -> Forecast:
    """What is expected still. After a scout the cold search asks its two lengths again, the bad one twice."""
    left = forecast_from(stages.current)
    if not stages.is_scouting:
        return left
    again = _chance_of_edge(stages.current, stages.current.bounds.low)
    return Forecast(left.probes + 2 + again, left.deaths + again, left.seconds)


def forecast_from(ledger: Ledger) -> Forecast:
    """What is expected still, given what was seen: opening, search, confirmation and corners."""
    question, bounds = ledger.question, ledger.bounds
    low = max(bounds.low, min(question.start, bounds.high - 1))
    searched = _search(ledger, low, bounds.high)
    opening = 2 - min(len(ledger.evidence), 2)
    passes = max(0, passes_needed(question.confidence, question.tolerate) - 1)
    if is_closed(ledger) and bounds.last_good is not None:
        passes = max(0, passes + 1 - len(ledger.at(bounds.last_good).passes))
    confirming = 0.0 if is_confirmed_bad(ledger) else _chance_of_edge(ledger, low)
    middle = (low + bounds.high) // 2
    good_s, bad_s = ledger.prices.costs.price(max(1, middle - ledger.served))
    corners = len(corners_lacking(ledger, cap_of(ledger, halted=False))) if is_closed(ledger) else CORNERS
    around = int(settle_axis(ledger) is not None) if is_closed(ledger) else AROUND_THE_EDGE * question.attribute_axis
    grained = 0 if question.is_turned else int(scan(ledger) is not None) if is_closed(ledger) else GRAIN
    good = searched.probes - searched.deaths + opening + passes + around + corners + grained
    bad = searched.deaths + confirming
    primes = PRIMES * bad if question.cache == "warm" else 0.0
    seconds = good * good_s + bad * (bad_s + ledger.prices.refill_s) if ledger.prices.costs.passes else None
    return Forecast(good + bad + primes, bad, seconds)


def bracket_of(stages: Stages) -> Bracket:
    """Where the search stands and what is left of it, for the live view."""
    ledger, left = stages.current, forecast_of(stages)
    bounds, question = ledger.bounds, ledger.question
    return Bracket(
        last_good=bounds.last_good,
        first_bad=bounds.first_bad,
        low=min(question.start, bounds.low) if bounds.first_bad else question.start,
        high=question.top,
        deaths=ledger.deaths,
        max_deaths=question.max_deaths,
        probes=len(ledger.seen),
        counts="output" if question.is_turned else "prompt",
        expected_deaths=left.deaths,
        expected_probes=left.probes,
        expected_s=left.seconds,
    )


def _chance_of_edge(ledger: Ledger, low: int) -> float:
    """The probability that something fails at all."""
    top = ledger.question.top
    return 1.0 - belief_of(ledger.question, ledger.draft_tokens).chance(low, ledger.bounds.high, top)


def _search(ledger: Ledger, low: int, high: int) -> Forecast:
    """The means over edges that stand for the belief. Brackets that they share are decided once."""
    if hinted_next(ledger) is not None:
        return Forecast(2, 1, None)
    question = ledger.question
    search = search_of(question, ledger.draft_tokens)
    edges = belief_of(question, ledger.draft_tokens).quantiles(low, high, EDGES)
    chosen: dict[tuple[int, int], int] = {}
    probes = deaths = 0
    for edge in edges:
        bottom, top = low, high
        while top - bottom > (question.resolution if top <= question.top else 1):
            length = chosen.get((bottom, top))
            if length is None:
                length = chosen[bottom, top] = search.next(bottom, top, ledger.search_price)
            probes += 1
            if length <= edge:
                bottom = length
            else:
                top = length
                deaths += 1
    return Forecast(probes / EDGES, deaths / EDGES, None)

"""Do the searches keep to the bracket, lean to the cheap side, and believe what suspects cast?"""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzzer.model import Outcome, ProbeSpec, Role
from fuzzer.observation import Observation
from fuzzer.search import Belief, Costs, Halving, Search, Suspect, cause_of, suspects_within
from fuzzer.search.belief import Segment, best_chance, best_rate
from fuzzer.search.costs import flat

LO, HI = 244_689, 300_000
INCIDENT = Belief.over(LO, HI, suspects=(Suspect(262_144, "drafter"),), output_tokens=32, draft_tokens=7, trusted=True)


def _find(search: Search, edge: int, low: int, high: int, ratio: float) -> tuple[list[int], int]:
    """The lengths asked until the bracket is closed, and how many of them failed."""
    asked, failures = [], 0
    while high - low > 1:
        length = search.next(low, high, flat(ratio))
        assert low < length < high
        asked.append(length)
        if length <= edge:
            low = length
        else:
            high, failures = length, failures + 1
    assert low == edge
    return asked, failures


@given(st.integers(1, HI + 9), st.integers(1, HI + 9), st.sampled_from([(LO, HI), (1, HI), (262_143, 262_147)]))
def test_a_bracket_leaves_of_each_segment_the_share_that_lies_in_it(low: int, high: int, over: tuple[int, int]) -> None:
    belief = Belief.over(*over, suspects=suspects_within(1, HI), output_tokens=32, draft_tokens=7, floor=1)
    cut = []
    for segment in belief.segments:
        first, stop = max(segment.first, low), min(segment.stop, high)
        if first < stop:
            cut.append(Segment(first, stop, segment.mass * (stop - first) / (segment.stop - segment.first)))
    assert belief.within(low, high) == (cut or [Segment(low, high, 1.0)])


@given(st.integers(LO, HI - 1), st.sampled_from([1.0, 3.0, 20.0]))
def test_every_edge_is_found_and_no_length_is_asked_twice(edge: int, ratio: float) -> None:
    for search in (INCIDENT, Halving(LO, HI)):
        asked, _ = _find(search, edge, LO, HI, ratio)
        assert len(set(asked)) == len(asked)


@given(st.integers(1, 5_000), st.integers(2, 5_000), st.integers(0, 10_000))
def test_small_brackets_of_any_belief_are_closed(start: int, width: int, edge: int) -> None:
    top = start + width
    belief = Belief.over(start, top, suspects=suspects_within(1, top), output_tokens=8, draft_tokens=None)
    _find(belief, min(max(edge, start), top), start, top + 1, 5.0)


def test_belief_spends_few_deaths_where_the_drafter_ends() -> None:
    """The measured edge of a drafter of 262,144 positions: S - O - k + 1."""
    asked, deaths = _find(INCIDENT, 262_106, LO, HI, 20.0)
    assert deaths <= 2
    assert len(asked) <= 10
    _, halved = _find(Halving(LO, HI), 262_106, LO, HI, 20.0)
    assert halved >= 8


def test_the_dearer_a_failure_the_lower_the_length() -> None:
    belief = Belief.over(LO, HI, trusted=True)
    lengths = [belief.next(LO, HI, flat(ratio)) for ratio in (1, 3, 10, 30)]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[0] == pytest.approx((LO + HI) / 2, abs=1)


@given(st.floats(0.1, 50.0), st.floats(0.1, 50.0))
def test_best_chance_solves_its_equation(good: float, bad: float) -> None:
    rate = best_rate(good, bad)
    assert math.exp(-rate * good) + math.exp(-rate * bad) == pytest.approx(1)
    chance = best_chance(good, bad)
    information = -chance * math.log(chance) - (1 - chance) * math.log(1 - chance)
    assert information / (chance * good + (1 - chance) * bad) == pytest.approx(rate, rel=1e-6)


def test_an_open_top_is_not_asked_for_its_own_sake() -> None:
    belief = Belief.over(1_000, 2_000)
    assert belief.next(1_000, 2_001, flat(20)) < 1_500
    assert belief.chance(1_000, 2_001, 2_000) == pytest.approx(0.1)
    assert belief.next(1_999, 2_001, flat(20)) == 2_000


def test_half_of_the_mass_lies_on_the_shadows() -> None:
    shadows = {262_144, 262_144 - 32, 262_144 - 39}
    edges = [edge + delta for edge in shadows for delta in (-1, 0, 1)]
    assert sum(INCIDENT.chance(LO, HI, edge) for edge in edges) == pytest.approx(0.5, abs=1e-3)


def test_shadows_are_widened_where_k_is_not_known() -> None:
    belief = Belief.over(LO, HI, suspects=(Suspect(262_144, "x"),), output_tokens=32, draft_tokens=None, trusted=True)
    ordinary = belief.chance(LO, HI, 250_000)
    for k in range(1, 10):
        assert belief.chance(LO, HI, 262_144 - 32 - k) > 100 * ordinary


def test_a_lo_that_failed_leaves_a_log_uniform_belief() -> None:
    belief = Belief.over(65_536, 131_072, floor=64)
    first = belief.next(64, 65_536, flat(1))
    assert 1_500 < first < 3_000  # the geometric middle is 2,048
    assert Halving(65_536, 131_072).next(64, 65_536, flat(1)) == 2_048


def test_quantiles_stand_for_the_belief() -> None:
    edges = INCIDENT.quantiles(LO, HI, 200)
    assert edges == sorted(edges)
    assert all(LO <= edge < HI for edge in edges)
    near = [edge for edge in edges if 262_104 <= edge <= 262_145]
    assert len(near) == pytest.approx(100, abs=3)


def test_entropy_of_a_uniform_belief_is_the_log_of_its_size() -> None:
    assert Belief.over(LO, HI, trusted=True).entropy(LO, HI) == pytest.approx(math.log(HI - LO))
    assert INCIDENT.entropy(LO, HI) < math.log(HI - LO)


def test_named_suspects_keep_their_names_and_gain_weight() -> None:
    found = {suspect.value: suspect for suspect in suspects_within(LO, HI, (Suspect(262_144, "drafter's positions"),))}
    assert found[262_144].name == "power of two; drafter's positions"
    assert found[262_144].weight == 2.0
    assert 245_760 in {s.value for s in suspects_within(LO, HI, (Suspect(245_760, "--suspect"),))}


@pytest.mark.parametrize(
    ("last_good", "draft_tokens", "arithmetic"),
    [
        (262_144, 7, "S with S = 262144"),
        (262_112, 7, "S - O with S = 262144"),
        (262_106, 7, "S - O - k + 1 with S = 262144"),
        (262_143, None, "S - 1 with S = 262144"),
        (131_040, 0, "S - O with S = 131072"),
    ],
)
def test_the_cause_is_named_with_its_arithmetic(last_good: int, draft_tokens: int | None, arithmetic: str) -> None:
    cause = cause_of(last_good, suspects_within(1_000, HI), 32, draft_tokens)
    assert str(cause) == f"{arithmetic} (suspect: power of two)"


def test_no_cause_is_invented() -> None:
    assert cause_of(271_234, suspects_within(LO, HI), 32, 7) is None


def _seen(length: int, outcome: Outcome, cost_s: float) -> Observation:
    spec = ProbeSpec(length, 32, Role.SEARCH, "")
    return Observation(seq=1, spec=spec, outcome=outcome, length=length, length_source="usage", cost_s=cost_s)


def test_costs_are_learnt_by_outcome_and_by_length() -> None:
    costs = Costs()
    assert costs.price(100_000) == (1.0, 20.0)
    costs.learn(_seen(100, Outcome.PASS, 1.0))
    costs.learn(_seen(100_000, Outcome.PASS, 3.0))
    good, bad = costs.price(200_000)
    assert good == pytest.approx(5.0, rel=0.01)
    assert bad == pytest.approx(20 * good)
    costs.learn(_seen(200_000, Outcome.DEATH, 90.0))
    assert costs.price(200_000)[1] == 90.0
    costs.learn(_seen(200_000, Outcome.DEATH, 180.0))  # the supervisor backs off
    assert costs.price(200_000)[1] == 180.0
    costs.learn(_seen(200_000, Outcome.ERROR, 4.0))
    assert costs.price(200_000)[1] == 4.0


def test_a_revival_that_was_not_waited_out_makes_no_death_cheap() -> None:
    costs = Costs()
    costs.learn(_seen(100, Outcome.PASS, 1.0))
    open_yet = replace(_seen(200, Outcome.DEATH, 0.2), deaths=1)
    costs.learn(open_yet)
    assert costs.price(100)[1] == 20.0
    costs.learn(replace(open_yet, cost_s=45.0, revival_s=1.0, resumed_after=True))
    assert costs.price(100)[1] == 45.0, "at least as long was waited"
    costs.learn(replace(open_yet, cost_s=90.0, revival_s=89.0))
    costs.learn(open_yet)
    assert costs.price(100)[1] == 90.0, "the last one that is known"
    costs.learn(replace(open_yet, cost_s=70.0, revival_s=69.0))
    assert costs.price(100)[1] == 70.0

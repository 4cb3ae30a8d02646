"""Are steady figures, noise and two modes told apart, and does a ratio carry the interval that it should?"""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzzer.measure.modes import two_modes
from fuzzer.measure.ratio import Ratio, ratios_of
from fuzzer.measure.scatter import Spread, mean, scatter, spread, wanted

FIGURES = st.lists(st.floats(1, 1e4), min_size=1, max_size=20)
LATER = [100.0, 100.5, 99.5, 100.0, 101.0, 100.0, 99.0, 100.0, 100.5, 100.0]


def test_scatter_is_max_over_min() -> None:
    assert scatter([15.0, 15.3, 15.0]) == pytest.approx(1.02)
    assert scatter([]) is None


def test_steady_figures_are_taken_once_and_scattered_ones_three_times() -> None:
    assert wanted([100, 102, 101], 3) == 3
    assert wanted([100, 120, 101], 3) == 9


def test_two_modes_are_an_operational_fact() -> None:
    kind, modes = spread([120.0, 60.0, 119.0, 60.5, 121.0, 120.0, 61.0, 120.5, 60.2], 3)
    assert kind is Spread.BIMODAL
    assert modes is not None
    assert (modes.low_count, modes.high_count) == (4, 5)
    assert [modes.low, modes.high] == pytest.approx([60.4, 120.1], rel=0.01)


def test_scatter_without_two_modes_is_noise() -> None:
    assert spread([100.0, 110.0, 96.0, 104.0, 92.0, 107.0, 99.0, 102.0, 95.0], 3) == (Spread.NOISY, None)


def test_scatter_that_shrinks_with_more_repeats_was_the_first_figures_own() -> None:
    assert spread([40.0, 70.0, 100.0, 99.0, 100.0, *LATER], 5) == (Spread.SETTLED, None)


def test_nothing_is_said_of_scatter_before_three_times_the_repeats() -> None:
    assert spread([120.0, 60.0, 119.0, 60.5, 121.0], 5) == (Spread.OPEN, None)


def test_one_accident_is_no_mode() -> None:
    assert two_modes([*LATER, 40.0]) is None


def test_modes_that_nobody_would_notice_are_none() -> None:
    assert two_modes([100.0, 103.0, 100.01, 103.01, 100.02, 103.02]) is None


@pytest.mark.parametrize("slow", [{0, 1, 2}, {6, 7, 8, 9}, {12, 13, 14}, {0, 14}])
def test_a_burst_is_no_mode(slow: set[int]) -> None:
    assert two_modes([50.0 if turn in slow else 100.0 for turn in range(15)]) is None


@pytest.mark.parametrize("slow", [{4, 11}, {0, 1, 2, 8}, {3, 4, 14}])
def test_what_comes_back_is_a_mode(slow: set[int]) -> None:
    modes = two_modes([50.0 if turn in slow else 100.0 for turn in range(15)])
    assert modes is not None
    assert modes.low_count == len(slow)


@given(FIGURES, st.floats(0.01, 100))
def test_what_is_said_does_not_depend_on_the_unit(figures: list[float], unit: float) -> None:
    scaled = [figure * unit for figure in figures]
    assert scatter(scaled) == pytest.approx(scatter(figures))
    assert mean(scaled) == pytest.approx((mean(figures) or 0) * unit)


@given(FIGURES)
def test_modes_divide_the_figures(figures: list[float]) -> None:
    modes = two_modes(figures)
    if modes is not None:
        assert modes.low_count + modes.high_count == len(figures)
        assert min(figures) <= modes.low * 1.000001 <= modes.high * 1.000002 <= max(figures) * 1.000003


def ratio_of(above: dict[int, float], below: dict[int, float]) -> Ratio:
    compared = ratios_of([above, below])
    assert compared is not None
    assert compared.factors == (compared.total,)
    return compared.total


def test_factors_multiply_to_their_total() -> None:
    """The incident: 5.43 from the engine times 2.2 from the drafter makes 11.9."""
    noise = random.Random(3)
    arms = [{turn: speed * noise.lognormvariate(0, 0.01) for turn in range(5)} for speed in (178.8, 81.45, 15.0)]
    compared = ratios_of(arms)
    assert compared is not None
    total, factors = compared.total, compared.factors
    assert math.prod(factor.value for factor in factors) == pytest.approx(total.value)
    assert [factor.value for factor in factors] == pytest.approx([2.2, 5.43], rel=0.02)
    assert total.value == pytest.approx(11.9, rel=0.02)
    assert total.low is not None
    assert total.high is not None
    assert total.low < total.value < total.high < 1.1 * total.low


def test_drift_that_meets_both_arms_alike_is_not_in_the_ratio() -> None:
    drifting = {turn: 100 / 1.1**turn for turn in range(5)}
    ratio = ratio_of({turn: 2 * speed for turn, speed in drifting.items()}, drifting)
    assert [ratio.low, ratio.value, ratio.high] == pytest.approx([2, 2, 2])


def test_only_figures_that_stood_next_to_each_other_are_compared() -> None:
    ratio = ratio_of({turn: 20.0 if turn < 5 else 1.0 for turn in range(15)}, dict.fromkeys(range(5), 10.0))
    assert ratio.value == pytest.approx(2.0)
    assert ratio.pairs == 5


def test_arms_that_share_too_few_turns_are_compared_by_their_means() -> None:
    late, early = dict.fromkeys(range(5, 15), 30.0), dict.fromkeys(range(5), 10.0)
    compared = ratios_of([late, early, dict.fromkeys(range(5), 5.0)])
    assert compared is not None
    assert [factor.value for factor in compared.factors] == pytest.approx([3, 2])
    assert compared.total.pairs == 0
    assert compared.total.value == pytest.approx(6)


def test_few_figures_have_a_ratio_and_no_interval() -> None:
    ratio = ratio_of({0: 10.0, 1: 10.0}, {0: 5.0, 1: 5.0})
    assert (round(ratio.value, 6), ratio.low, ratio.high, ratio.pairs) == (2, None, None, 2)


def test_an_arm_without_figures_has_no_ratio() -> None:
    assert ratios_of([{0: 1.0}, {}]) is None


def test_the_same_figures_give_the_same_interval() -> None:
    above, below = {turn: 100.0 + turn for turn in range(7)}, {turn: 50.0 - turn for turn in range(7)}
    assert ratio_of(above, below) == ratio_of(above, below)


@pytest.mark.parametrize("first", [0, 5])  # the same turns, and none of them
def test_the_interval_holds_the_truth_nine_times_in_ten(first: int) -> None:
    noise = random.Random(5)
    held = 0
    for _ in range(200):
        one, other = ({at + turn: noise.lognormvariate(0, 0.03) for turn in range(5)} for at in (0, first))
        ratio = ratio_of(one, other)
        assert ratio.low is not None
        assert ratio.high is not None
        held += ratio.low <= 1 <= ratio.high
    assert held >= 172  # 86 %; five figures reach about 90

"""Are the cap and its confidence what the counts carry?"""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzzer.recommend import cap_below, confidence_of, flaky, is_sound, passes_needed, upper_rate

RATES = st.floats(0.01, 0.99)


def test_nine_passes_bear_the_default_claim() -> None:
    assert passes_needed(0.95, 0.3) == 9
    assert passes_needed(0.99, 0.1) == 44
    assert passes_needed(0.5, 0.5) == 1


@given(RATES, RATES)
def test_needed_passes_are_enough_and_one_fewer_is_not(confidence: float, tolerate: float) -> None:
    needed = passes_needed(confidence, tolerate)
    assert is_sound(needed, 0, confidence=confidence, tolerate=tolerate)
    if needed > 1:
        assert (1 - tolerate) ** (needed - 1) > 1 - confidence - 1e-9


def test_one_failure_takes_thirteen_passes_to_outweigh() -> None:
    assert not is_sound(12, 1, confidence=0.95, tolerate=0.3)
    assert is_sound(13, 1, confidence=0.95, tolerate=0.3)


def test_nothing_is_sound_without_a_pass() -> None:
    assert not is_sound(0, 0, confidence=0.5, tolerate=0.5)


def test_thousands_of_trials_do_not_overflow() -> None:
    assert is_sound(9_000, 1_000, confidence=0.95, tolerate=0.3)
    assert not is_sound(5_000, 5_000, confidence=0.95, tolerate=0.3)


def test_upper_rate_is_clopper_pearson() -> None:
    assert upper_rate(9) == pytest.approx(1 - 0.05 ** (1 / 9))
    assert upper_rate(9) == pytest.approx(0.283, abs=5e-4)
    assert upper_rate(9, 1) == pytest.approx(0.394, abs=5e-4)  # of 10 trials, from tables
    assert upper_rate(0, 3) == 1.0
    assert upper_rate(0) is None


@given(st.integers(0, 60), st.integers(0, 60))
def test_the_interval_holds_the_rate(passes: int, failures: int) -> None:
    if passes + failures == 0:
        return
    seen = flaky(passes, failures)
    assert 0 <= seen.low <= seen.rate + 1e-9
    assert seen.rate <= seen.high + 1e-9 <= 1 + 2e-9
    assert (seen.low == 0) == (failures == 0)


@given(st.integers(1, 40), st.integers(1, 40))
def test_the_upper_rate_is_where_so_few_failures_become_unlikely(passes: int, failures: int) -> None:
    rate = upper_rate(passes, failures)
    assert rate is not None
    trials = passes + failures
    tail = sum(math.comb(trials, count) * rate**count * (1 - rate) ** (trials - count) for count in range(failures + 1))
    assert tail == pytest.approx(0.05, abs=1e-6)


def test_confidence_of_the_two_ends() -> None:
    confidence = confidence_of(9, 0, 2)
    assert (confidence.last_good_passes, confidence.first_bad_failures) == (9, 2)
    assert confidence.failure_rate_upper_95 == 0.283
    assert confidence_of(0, 0, 1).failure_rate_upper_95 is None


@pytest.mark.parametrize(
    ("last_good", "round_to", "margin", "cap"),
    [
        (262144, 16, 0, 262144),
        (262106, 16, 0, 262096),
        (262106, 16, 7, 262096),
        (262103, 16, 8, 262080),
        (99, 1, 0, 99),
        (9, 16, 0, None),
    ],
)
def test_the_cap_is_rounded_down(last_good: int, round_to: int, margin: int, cap: int | None) -> None:
    assert cap_below(last_good, round_to=round_to, margin=margin) == cap

"""Are the tests of two evaluation results those of the textbooks, and do they see what they say that they see?"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzzer.measure.significance import (
    Paired,
    Score,
    holm,
    mcnemar,
    smallest_paired,
    smallest_unpaired,
    two_proportions,
)

TRIALS = 500
ITEMS = 600

counts = st.integers(1, 500).flatmap(lambda items: st.builds(Score, st.integers(0, items), st.just(items)))


def test_two_proportions_is_the_pooled_z_test() -> None:
    assert two_proportions(Score(5, 83), Score(12, 99)) == pytest.approx(0.159181, abs=1e-6)  # statsmodels' own example
    assert two_proportions(Score(7, 7), Score(9, 9)) == 1.0


def test_mcnemar_is_exact() -> None:
    assert mcnemar(Paired(100, 10, 2)) == pytest.approx(0.03857421875)  # 2 * sum of C(12, 0..2) / 2**12
    assert mcnemar(Paired(100, 0, 0)) == 1.0
    assert mcnemar(Paired(100, 5, 0)) > 0.05 > mcnemar(Paired(100, 6, 0))


def test_holm_steps_down_in_the_order_given() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_never_lowers_a_p_value_nor_changes_their_order(ps: list[float]) -> None:
    adjusted = holm(ps)
    assert all(p <= q <= 1 for p, q in zip(ps, adjusted, strict=True))
    order = sorted(range(len(ps)), key=ps.__getitem__)
    assert [adjusted[at] for at in order] == sorted(adjusted)


@given(counts, counts)
def test_the_two_sides_are_alike(one: Score, other: Score) -> None:
    assert two_proportions(one, other) == pytest.approx(two_proportions(other, one))
    assert 0 <= two_proportions(one, other) <= 1
    assert 0 < smallest_unpaired(one, other) <= 1


def test_six_hundred_items_cannot_see_under_about_four_points() -> None:
    assert smallest_unpaired(Score(570, ITEMS), Score(570, ITEMS)) == pytest.approx(0.041, abs=0.001)
    assert smallest_paired(Paired(ITEMS, 30, 30)) == pytest.approx(0.036, abs=0.001)


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_the_smallest_effect_is_seen_in_four_of_five_comparisons(share: float) -> None:
    draw = np.random.default_rng(1)
    right = round(share * ITEMS)
    low = share - smallest_unpaired(Score(right, ITEMS), Score(right, ITEMS))
    drawn = zip(draw.binomial(ITEMS, share, TRIALS), draw.binomial(ITEMS, low, TRIALS), strict=True)
    seen = sum(two_proportions(Score(int(a), ITEMS), Score(int(b), ITEMS)) < 0.05 for a, b in drawn)
    assert seen / TRIALS == pytest.approx(0.8, abs=0.06)


@pytest.mark.parametrize("discordant", [2, 60])
def test_so_is_the_smallest_effect_of_pairs(discordant: int) -> None:
    draw = np.random.default_rng(2)
    effect = smallest_paired(Paired(ITEMS, discordant // 2, discordant // 2))
    rate = max(discordant / ITEMS, effect)
    shares = [(rate + effect) / 2, (rate - effect) / 2, 1 - rate]
    drawn = draw.multinomial(ITEMS, shares, TRIALS)
    seen = sum(mcnemar(Paired(ITEMS, int(a), int(b))) < 0.05 for a, b, _ in drawn)
    assert seen / TRIALS == pytest.approx(0.8, abs=0.08)

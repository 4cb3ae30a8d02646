"""Are the tests of two evaluation results those of the textbooks, and do they see what they say that they see?"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzzer.measure.evals import (
    Evals,
    Paired,
    Score,
    Test,
    compare,
    holm,
    mcnemar,
    scores,
    smallest_paired,
    smallest_unpaired,
    two_proportions,
)
from fuzzer.measure.sameness import Verdict

TRIALS = 500
ITEMS = 600

counts = st.integers(1, 500).flatmap(lambda items: st.builds(Score, st.integers(0, items), st.just(items)))


def results(**shares: float) -> dict[str, Any]:
    """A results file, as far as it is read."""
    return {
        "results": {
            task: {"alias": task, "acc,none": share, "acc_stderr,none": 0.02} for task, share in shares.items()
        },
        "n-samples": {task: {"original": ITEMS, "effective": ITEMS} for task in shares},
        "n-shot": dict.fromkeys(shares, 0),
        "versions": dict.fromkeys(shares, 1.0),
    }


def samples(right: list[bool], sieve: str = "none") -> list[dict[str, Any]]:
    return [{"doc_id": at, "doc_hash": f"h{at}", "filter": sieve, "acc": float(one)} for at, one in enumerate(right)]


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


def test_nothing_is_called_where_nothing_is_planted() -> None:
    draw = np.random.default_rng(3)
    tasks = ("one", "two", "three", "four", "five")

    def run() -> dict[str, Any]:
        return results(**{task: int(draw.binomial(ITEMS, 0.7)) / ITEMS for task in tasks})

    alarms = sum(compare(run(), run(), {}, {}).verdict is Verdict.DIFFERENT for _ in range(TRIALS))
    assert alarms / TRIALS <= 0.07


def told(target: dict[str, Any], control: dict[str, Any], **logs: list[dict[str, Any]]) -> Evals:
    ours, theirs = ({"task": logs[whose]} if whose in logs else {} for whose in ("ours", "theirs"))
    return compare(target, control, ours, theirs)


def test_a_lossy_drafter_is_called_by_name() -> None:
    found = told(results(good=0.7, bad=0.6), results(good=0.7, bad=0.75))
    assert [(row.task, row.verdict) for row in found.rows] == [("good", "same"), ("bad", "different")]
    assert found.rows[1].difference == pytest.approx(-0.15)
    assert found.verdict is Verdict.DIFFERENT


def test_logged_samples_are_paired_and_see_more() -> None:
    control = [True] * 400 + [False] * 200
    target = [True] * 388 + [False] * 212
    found = told(results(task=388 / ITEMS), results(task=400 / ITEMS), ours=samples(target), theirs=samples(control))
    (row,) = found.rows
    assert (row.test, row.discordant) == (Test.PAIRED, (0, 12))
    assert row.verdict == "different"
    assert told(results(task=388 / ITEMS), results(task=400 / ITEMS)).rows[0].verdict == "same"


@pytest.mark.parametrize(
    "theirs",
    [
        samples([True] * 599),
        samples([True] * 600, sieve="strict"),
        [{**one, "doc_hash": "another"} for one in samples([True] * 600)],
        [{**one, "doc_id": 1, "doc_hash": "h1"} for one in samples([True] * 600)],
        [{**one, "acc": [1.0]} for one in samples([True] * 600)],
        [{**one, "acc": 0.4} for one in samples([True] * 600)],
    ],
)
def test_samples_that_do_not_pair_off_are_left_alone(theirs: list[dict[str, Any]]) -> None:
    (row,) = told(results(task=1.0), results(task=1.0), ours=samples([True] * 600), theirs=theirs).rows
    assert row.test is Test.PROPORTIONS


def test_only_what_counts_right_answers_is_tested() -> None:
    file = results(task=0.5)
    file["results"]["task"] |= {
        "f1,none": 0.512345,
        "word_perplexity,none": 12.0,
        "acc_norm,none": 0.51,
        "on,none": True,
    }
    assert {metric for _, metric in scores(file)} == {"acc,none", "acc_norm,none"}
    assert scores(file)["task", "acc_norm,none"] == Score(306, ITEMS)


def test_what_is_not_compared_is_said() -> None:
    target, control = results(both=0.5, ours=0.5, vague=0.1234567), results(both=0.5, theirs=0.5, vague=0.7654321)
    target["n-shot"]["both"] = 5
    notes = told(target, control).notes
    assert notes == (
        "only --eval has ours",
        "only --eval-control has theirs",
        "no metric counts right answers: vague",
        "both: shots 5 against 0: these are two tasks",
    )


@pytest.mark.parametrize("file", [{}, {"results": {}}, {"results": [], "n-samples": {}}])
def test_another_file_is_refused(file: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="lm-evaluation-harness"):
        scores(file)


@pytest.mark.parametrize("items", [0, -1, "600", None, 10**400])
def test_what_is_no_number_of_items_is_left_out(items: object) -> None:
    file = results(task=0.5)
    file["n-samples"]["task"]["effective"] = items
    assert scores(file) == {}


@pytest.mark.parametrize("share", [math.nan, math.inf, -0.5, 10**400, "0.5", None])
def test_what_is_no_share_is_left_out(share: object) -> None:
    file = results(task=0.5)
    file["results"]["task"]["acc,none"] = share
    assert scores(file) == {}

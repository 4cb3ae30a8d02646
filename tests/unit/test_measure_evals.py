"""Are two evaluation results read right, and compared by what can be compared?"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from fuzzer.measure.evals import Evals, Test, compare, scores
from fuzzer.measure.sameness import Verdict
from fuzzer.measure.significance import Score

TRIALS = 500
ITEMS = 600


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

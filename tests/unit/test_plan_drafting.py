"""How many tokens an engine drafts at once, and whether that is more than another one did."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fuzzer.model import Outcome, Role
from fuzzer.observation import Observation
from fuzzer.plans.bisect import bisect
from fuzzer.plans.drafting import Drafts, drafted_at_once, drafts_more
from fuzzer.plans.question import BisectQuestion
from targets.scrape import DraftCounts
from tests.unit.worlds import World, play, prompt_above

QUESTION = BisectQuestion(lo=1_000, hi=50_000)
PLAIN = Observation(
    seq=1,
    spec=QUESTION.spec(64, Role.BASELINE, ""),
    outcome=Outcome.PASS,
    length=64,
    length_source="usage",
)


def drafting(drafts: float, tokens: float) -> Observation:
    return replace(PLAIN, draft=DraftCounts(drafts, tokens, 0.0))


SILENT, THREE, VARIED = drafting(0, 0), drafting(10, 30), drafting(10, 27)


@pytest.mark.parametrize(
    ("seen", "told", "k"),
    [
        ([PLAIN], None, 0),
        ([PLAIN], 5, 5),
        ([SILENT, PLAIN], None, 0),
        ([SILENT], 5, 5),
        ([SILENT, THREE, THREE], 5, 3),
        ([THREE, VARIED, THREE], None, 3),  # the limit cuts some drafts short
        ([THREE, VARIED, drafting(10, 21)], None, None),
        ([VARIED], None, None),
    ],
)
def test_k_is_a_whole_number_that_most_probes_have(seen: list[Observation], told: int | None, k: Drafts) -> None:
    assert drafted_at_once(seen, told) == k


def test_counters_that_stand_at_naught_tell_of_a_drafter_only_where_nothing_else_has_them() -> None:
    assert drafted_at_once([SILENT], counts_drafters=True) is None
    assert drafted_at_once([PLAIN], counts_drafters=True) == 0
    assert drafted_at_once([SILENT, THREE], counts_drafters=True) == 3


@pytest.mark.parametrize(
    ("now", "then", "more"),
    [
        (0, 0, False),
        (3, 3, False),
        (3, 7, False),
        (7, 3, True),
        (3, 0, True),
        (0, 3, False),
        (None, 0, True),
        (None, 3, False),
        (3, None, False),
        (None, None, False),
        (0, None, False),
    ],
)
def test_more_is_told_by_k_or_else_by_whether_it_drafts(now: Drafts, then: Drafts, more: bool) -> None:
    assert drafts_more(now, then) is more


@pytest.mark.parametrize(("then", "is_sent"), [(0, False), (2, False), (3, True), (None, True)])
def test_ground_is_known_only_to_who_drafts_no_more_than_was_drafted_there(then: Drafts, is_sent: bool) -> None:
    question = replace(QUESTION, max_deaths=0, known_good=20_000, known_good_drafts=then)
    played = play(bisect(question), World(prompt_above(9_000), k=3).answer)
    assert (20_000 in [seen.length for seen in played.log]) is is_sent
    assert BisectQuestion.from_json(question.to_json()) == question

"""Does a cell keep its figures free of the first run, of neighbours and of the cache, and call a dead drafter dead?"""

from __future__ import annotations

from dataclasses import replace

import pytest

from fuzzer.measure.firstrun import is_warm
from fuzzer.measure.reading import Mark, decode_speed
from fuzzer.measure.scatter import Spread
from fuzzer.measure.speed import Cell, cells, dead_drafter, measured
from fuzzer.model import ProbeSpec, Role
from targets.scrape import DraftCounts
from tests.unit.paces import Pace, only_cell, taken

WARM = [taken(100, Role.WARM_UP), taken(100, Role.WARM_UP)]


def test_the_first_event_is_not_decoded() -> None:
    assert decode_speed(taken(178.8)) == pytest.approx(178.8)


@pytest.mark.parametrize(
    ("took_s", "warm"),
    [
        ([15.3], False),
        ([15.3, 1.3], False),  # it still got faster
        ([15.3, 1.3, 1.3], True),
        ([1.3, 1.29], True),
        ([9.0, 6.0, 4.0, 2.6, 1.7, 1.1], False),
        ([1.3, 2.6, 1.3], True),  # slow once in a while is not slow at first
        ([0.030, 0.014], True),  # below what a clock can tell over a network
    ],
)
def test_an_engine_is_warm_when_it_gets_no_faster(took_s: list[float], warm: bool) -> None:
    assert is_warm([(0.2, took) for took in took_s]) is warm


def test_a_first_run_effect_in_a_short_decode_is_not_hidden_by_a_long_prefill() -> None:
    assert not is_warm([(200.0, 9.0), (200.0, 1.3)])


def test_warm_ups_are_never_averaged() -> None:
    cell = measured([taken(5, Role.WARM_UP), *WARM, taken(100), taken(100)], 2)
    assert cell.speeds == [pytest.approx(100), pytest.approx(100)]
    assert cell.reliable


def test_figures_before_the_engine_was_warm_are_provisional() -> None:
    cell = measured([taken(5, Role.WARM_UP), taken(10, Role.WARM_UP), taken(20), taken(21)], 2)
    assert (cell.provisional, cell.reliable) == (True, False)
    assert cell.speed == pytest.approx(20.5, rel=0.01)


def test_a_revived_engine_has_to_warm_up_again() -> None:
    again = [taken(30, incarnation=1), taken(31, incarnation=1)]
    cell = measured([*WARM, taken(100), *again], 3)
    assert cell.left_out == {Mark.PROVISIONAL: 2}
    assert cell.speeds == [pytest.approx(100)]
    assert cell.wants_warm_up(1)
    assert not cell.wants_warm_up(0)


def test_figures_taken_while_others_were_served_are_not_averaged() -> None:
    cell = measured([*WARM, taken(100), taken(40, contended=True), taken(100), taken(100)], 3)
    assert cell.speed == pytest.approx(100)
    assert cell.left_out == {Mark.CONTENDED: 1}
    assert list(cell.by_turn) == [0, 2, 3]


def test_a_cold_prompt_that_the_cache_served_is_left_out() -> None:
    cell = measured([*WARM, taken(100, cached_tokens=7_984), taken(100, cached_tokens=0), taken(100)], 2)
    assert cell.left_out == {Mark.CACHE: 1}


def test_a_warm_prompt_that_the_cache_did_not_serve_is_left_out() -> None:
    warm = ProbeSpec(8_000, 101, Role.MEASURE, "a figure", cache="warm")
    seen = [replace(one, spec=warm) for one in (taken(100, cached_tokens=0), taken(100, cached_tokens=7_984))]
    (cell,) = cells(seen, 2).values()
    assert cell.left_out == {Mark.CACHE: 1}


def test_a_stream_that_came_all_at_once_tells_no_speed() -> None:
    """A proxy that buffers, or a client that was held up, would make it 50,000 tokens a second."""
    cell = measured([*WARM, taken(100), taken(50_000), taken(101), taken(99)], 3)
    assert cell.speed == pytest.approx(100, rel=0.01)
    assert cell.left_out == {Mark.UNTOLD: 1}


def test_figures_that_scatter_widely_are_not_taken_for_a_first_run() -> None:
    cell = measured([*WARM, taken(60), taken(130), taken(90)], 1)
    assert not cell.left_out


def test_cold_and_warm_are_two_cells() -> None:
    warm = ProbeSpec(8_000, 101, Role.MEASURE, "a figure", cache="warm")
    assert len(cells([taken(100), replace(taken(100), spec=warm)], 2)) == 2


def test_companions_count_as_concurrency() -> None:
    spec = ProbeSpec(8_000, 101, Role.MEASURE, "a figure", companions=(8_000, 8_000))
    assert Cell.of(spec) == Cell(8_000, "words", 3, "cold")


def test_probes_that_give_nothing_are_asked_again_a_bounded_number_of_times() -> None:
    contended = taken(100, contended=True)
    assert measured([*WARM, *[contended] * 9], 5).wants_more
    assert not measured([*WARM, *[contended] * 10], 5).wants_more


def test_a_drafter_whose_drafts_are_all_refused_is_dead() -> None:
    seen = [*WARM, taken(100, draft=DraftCounts(60, 180, 0)), taken(100, draft=DraftCounts(60, 180, 0))]
    words = dead_drafter(measured(seen, 2), DraftCounts(20, 60, 12))
    assert words == "the drafter is dead in this cell: 0 of 120 drafts accepted"


def test_a_drafter_that_makes_no_drafts_here_but_does_for_short_prompts_is_dead() -> None:
    seen = [*WARM, taken(100, draft=DraftCounts(0, 0, 0)), taken(100)]
    assert dead_drafter(measured(seen, 2), DraftCounts(20, 60, 12)) is not None
    assert dead_drafter(measured(seen, 2), None) is None, "where nothing was ever drafted there is no drafter"


def test_a_drafter_that_is_seldom_right_lives() -> None:
    seen = [*WARM, taken(100, draft=DraftCounts(60, 180, 1)), taken(100, draft=DraftCounts(60, 180, 0))]
    assert dead_drafter(measured(seen, 2), DraftCounts(20, 60, 12)) is None


def test_a_bimodal_cell_tells_both_modes() -> None:
    kind, modes = only_cell(Pace(slow_share=0.4, seed=3)).spread
    assert kind is Spread.BIMODAL
    assert modes is not None
    assert [modes.low, modes.high] == pytest.approx([50, 100], rel=0.03)

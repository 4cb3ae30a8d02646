"""Does the line show what is known, and nothing that is not?"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fuzzer.console.numberline import Axis, Ground, ground, zoom

lengths = st.integers(1, 2_000_000)
widths = st.integers(10, 220)


@st.composite
def brackets(draw: st.DrawFn) -> tuple[Axis, int, int]:
    low, last_good, first_bad, high = sorted(draw(st.lists(lengths, min_size=4, max_size=4, unique=True)))
    return Axis(low, high, draw(widths)), last_good, first_bad


@given(brackets())
def test_good_then_open_then_bad(bracket: tuple[Axis, int, int]) -> None:
    axis, last_good, first_bad = bracket
    cells = ground(axis, last_good, first_bad, None)
    assert len(cells) == axis.width
    assert cells == sorted(cells, key=[Ground.GOOD, Ground.OPEN, Ground.BAD].index)
    assert cells[axis.cell(first_bad)] is Ground.BAD
    assert cells[-1] is Ground.BAD


@given(lengths, widths)
def test_nothing_known_is_all_open_but_for_what_is_sent(low: int, width: int) -> None:
    axis = Axis(low, low + 1000, width)
    assert ground(axis, None, None, None) == [Ground.OPEN] * width
    assert ground(axis, None, None, low).count(Ground.SENT) == 1


def test_what_lies_outside_of_the_axis_is_not_drawn() -> None:
    axis = Axis(100, 200, 20)
    assert ground(axis, 50, 300, None) == [Ground.OPEN] * 20
    assert axis.cell(1) == 0
    assert axis.cell(10**9) == 19


@given(brackets())
def test_a_zoom_lies_inside_and_shows_both_edges(bracket: tuple[Axis, int, int]) -> None:
    axis, last_good, first_bad = bracket
    closer = zoom(axis, last_good, first_bad)
    if closer is None:
        return
    assert axis.low <= closer.low <= last_good < first_bad <= closer.high <= axis.high
    assert closer.high - closer.low < axis.high - axis.low


def test_a_wide_bracket_needs_no_zoom_and_a_closed_one_shows_its_neighbours() -> None:
    axis = Axis(244_689, 300_000, 80)
    assert zoom(axis, 244_689, 300_000) is None
    assert zoom(axis, 262_144, 262_145) == Axis(262_143, 262_146, 80)
    assert zoom(Axis(1, 1, 80), 1, 1) is None

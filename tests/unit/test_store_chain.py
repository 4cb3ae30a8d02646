"""Does a link cover everything of a row, and nothing else?"""

from __future__ import annotations

import json

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from fuzzer.store.chain import GENESIS, Value, link

# A busy machine makes any single example slow now and then; that is no failure.
calm = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

VALUES: st.SearchStrategy[Value] = st.one_of(st.none(), st.integers(), st.floats(allow_nan=False), st.text())
ROWS = st.lists(VALUES, min_size=1, max_size=6).map(tuple)


@calm
@given(ROWS, st.data())
def test_any_other_value_gives_another_link(row: tuple[Value, ...], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(row) - 1))
    other = (*row[:place], data.draw(VALUES), *row[place + 1 :])
    assume(json.dumps(other) != json.dumps(row))
    assert link(GENESIS, "notes", other) != link(GENESIS, "notes", row)


@calm
@given(ROWS)
def test_table_and_row_before_are_covered(row: tuple[Value, ...]) -> None:
    links = {link(previous, table, row) for previous in (GENESIS, "a" * 64) for table in ("notes", "deaths")}
    assert len(links) == 4


@calm
@given(ROWS)
def test_a_column_that_is_added_later_changes_no_link_until_it_is_filled(row: tuple[Value, ...]) -> None:
    assert link(GENESIS, "notes", (*row, None)) == link(GENESIS, "notes", row)
    assert link(GENESIS, "notes", (*row, None, 0)) != link(GENESIS, "notes", row)

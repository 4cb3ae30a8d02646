"""Does an answer break off that gives no reason for its end, where good ones gave theirs?"""

from __future__ import annotations

import pytest

from fuzzer.model import Baseline
from fuzzer.outcome.ending import breaks_off
from tests.unit.test_outcome import answer

SAYS_WHY = Baseline(says_why=True)


@pytest.mark.parametrize(
    ("reason", "stopped", "known", "broken"),
    [
        (None, False, SAYS_WHY, True),
        ("stop", False, SAYS_WHY, False),
        (None, True, SAYS_WHY, False),  # it is we who ended it
        (None, False, Baseline(), False),  # one that never gives any, or an older record
        (None, False, None, False),
    ],
)
def test_a_reason_is_missed_where_good_answers_gave_one(
    reason: str | None, stopped: bool, known: Baseline | None, broken: bool
) -> None:
    assert breaks_off(answer(output=4, finish_reason=reason, stopped=stopped), known, 32) is broken
    assert not breaks_off(answer(output=32, finish_reason=reason), known, 32), "all of it came"
    assert not breaks_off(answer(output=4, finish_reason=reason, status=500), known, 32), "that is no answer"

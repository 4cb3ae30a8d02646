"""Which failures at a point count, and which wait to be repeated?"""

from __future__ import annotations

from dataclasses import replace

import pytest

from fuzzer.model import Outcome, ProbeSpec, Role, Side
from fuzzer.observation import Observation
from fuzzer.plans.tally import Tally

FAILED = Observation(1, ProbeSpec(9_000, 32, Role.SEARCH, ""), Outcome.GARBLED, 9_000, "usage", completion_tokens=32)


@pytest.mark.parametrize(
    ("failed", "counts"),
    [
        (FAILED, True),
        (replace(FAILED, contended=True), False),
        (replace(FAILED, completion_tokens=0), False),  # the model itself may have had nothing to say
        (replace(FAILED, completion_tokens=None), True),
        (replace(FAILED, outcome=Outcome.TRUNCATED, completion_tokens=2), True),
    ],
)
def test_a_failure_that_may_be_chance_counts_once_it_is_repeated(failed: Observation, *, counts: bool) -> None:
    tally = Tally()
    tally.add(failed, Side.BAD)
    assert (bool(tally.failures), tally.is_doubtful) == (counts, not counts)
    tally.add(failed, Side.BAD)
    assert len(tally.failures) == 2

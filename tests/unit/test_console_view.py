"""Does the view follow the events?"""

from __future__ import annotations

from functools import reduce

import pytest

from fuzzer.console.view import View, advance
from fuzzer.events import EngineDied, Event, Note, ProbeEnded, ProbeProgress, ProbeStarted, Replayed, Revived, Reviving
from fuzzer.model import Corroboration, Outcome, ProbeSpec, Role
from fuzzer.observation import Observation


def spec(length: int) -> ProbeSpec:
    return ProbeSpec(length, 32, Role.SEARCH, "why")


def seen(length: int, outcome: Outcome = Outcome.PASS, duration_s: float = 4.0) -> Observation:
    return Observation(1, spec(length), outcome, length, "usage", duration_s=duration_s)


def fold(*events: Event) -> View:
    """One event a second, the first at 1.0."""
    return reduce(lambda view, timed: advance(view, timed[1], float(timed[0])), enumerate(events, 1), View(started=0.0))


def test_a_probe_is_out_from_its_start_to_its_end() -> None:
    out = fold(ProbeStarted(1, spec(1000), 60.0))
    assert out.sending is not None
    assert out.sending_since == 1.0
    assert advance(out, ProbeEnded(seen(1000)), 2.0).sending is None


def test_the_longest_pass_sets_the_pace() -> None:
    view = fold(
        Replayed(seen(1000, duration_s=1.0)),
        ProbeEnded(seen(10, duration_s=0.5)),
        ProbeEnded(seen(9000, Outcome.DEATH, duration_s=0.1)),
    )
    assert view.pace is not None
    assert view.pace.expected_s(4000) == pytest.approx(4.0)


def test_the_heartbeat_of_an_earlier_pass_tells_how_far_a_prefill_is() -> None:
    view = fold(
        ProbeStarted(1, spec(1000), 60.0),
        ProbeProgress(1, 0.1, "prefill", heartbeat=100.0),
        ProbeProgress(1, 0.9, "prefill", heartbeat=110.0),
        ProbeEnded(seen(1000, duration_s=1.0)),
        ProbeStarted(2, spec(4000), 60.0),
        ProbeProgress(2, 0.1, "prefill", heartbeat=200.0),
        ProbeProgress(2, 1.0, "prefill", heartbeat=210.0),
    )
    assert view.beats == 10.0
    assert view.fraction == pytest.approx(0.25)
    assert view.beat_at == 7.0


def test_a_heartbeat_that_has_not_moved_yet_says_nothing_of_how_far_it_is() -> None:
    view = fold(
        ProbeStarted(1, spec(1000), 60.0),
        ProbeProgress(1, 0.1, "prefill", heartbeat=100.0),
        ProbeProgress(1, 0.9, "prefill", heartbeat=110.0),
        ProbeEnded(seen(1000, duration_s=1.0)),
        ProbeStarted(2, spec(4000), 60.0),
        ProbeProgress(2, 0.1, "prefill", heartbeat=200.0),
    )
    assert view.fraction is None


def test_no_heartbeat_no_fraction() -> None:
    view = fold(
        ProbeEnded(seen(1000)), ProbeStarted(2, spec(4000), 60.0), ProbeProgress(2, 0.1, "prefill", heartbeat=None)
    )
    assert (view.beats, view.fraction, view.beat_at) == (None, None, None)


def test_a_heartbeat_that_starts_over_is_no_progress() -> None:
    view = fold(
        ProbeStarted(1, spec(1000), 60.0),
        ProbeProgress(1, 0.1, "prefill", heartbeat=100.0),
        ProbeProgress(1, 0.9, "prefill", heartbeat=3.0),
    )
    assert view.beats == 0.0


def test_while_the_engine_is_down_nothing_is_sent_and_the_wait_is_counted_from_its_begin() -> None:
    view = fold(
        ProbeStarted(1, spec(1000), 60.0),
        EngineDied(1, 1000, "CUDA error", Corroboration.PROVEN),
        Reviving(0.1, "refused"),
        Reviving(1.1, "503"),
    )
    assert view.sending is None
    assert view.reviving == Reviving(1.1, "503")
    assert view.reviving_since == 3.0
    back = advance(view, Revived(2.0), 5.0)
    assert back.reviving is None
    assert back.died is not None


def test_a_note_stays_until_the_next_probe() -> None:
    view = fold(Note("other requests are in the engine"))
    assert view.note is not None
    assert advance(view, ProbeStarted(1, spec(1), 1.0), 2.0).note is None

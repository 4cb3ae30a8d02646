"""Where does the run stand, for somebody who watches? PURE: events are folded into one frozen view.

Events carry no wall clock; whoever folds says what time it is (`now`, seconds on any steady clock).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import assert_never

from fuzzer.events import (
    Bracket,
    EngineDied,
    Event,
    Note,
    ProbeEnded,
    ProbeProgress,
    ProbeStarted,
    Replayed,
    Revived,
    Reviving,
    RunEnded,
    RunStarted,
)
from fuzzer.model import Outcome
from fuzzer.observation import Observation


@dataclass(frozen=True, slots=True)
class Pace:
    """What a prefill costs here, learnt from the longest pass: seconds and heartbeats per prompt token."""

    length: int
    seconds: float
    beats: float | None

    def expected_s(self, length: int) -> float:
        return self.seconds * length / self.length

    def expected_beats(self, length: int) -> float | None:
        return None if self.beats is None else self.beats * length / self.length


@dataclass(frozen=True, slots=True)
class View:
    """Everything that the live view shows. `since` are points on the clock of the fold."""

    started: float
    run: RunStarted | None = None
    sending: ProbeStarted | None = None
    sending_since: float = 0.0
    progress: ProbeProgress | None = None
    first_beat: float | None = None
    beat_at: float | None = None  # when the heartbeat was last seen to move
    reviving: Reviving | None = None
    reviving_since: float = 0.0
    died: EngineDied | None = None
    uncounted: int = 0  # deaths that the bracket does not know yet
    bracket: Bracket | None = None
    pace: Pace | None = None
    note: Note | None = None

    @property
    def beats(self) -> float | None:
        """How far the heartbeat has moved since this probe began, or None where there is none."""
        if self.progress is None or self.progress.heartbeat is None or self.first_beat is None:
            return None
        return max(0.0, self.progress.heartbeat - self.first_beat)

    @property
    def fraction(self) -> float | None:
        """How much of the prefill is done, by the heartbeat and an earlier pass; None where nothing can tell.

        A heartbeat that has not moved yet may be one that tells all at the end.
        """
        if self.sending is None or self.pace is None or not self.beats:
            return None
        expected = self.pace.expected_beats(self.sending.spec.length)
        return min(self.beats / expected, 1.0) if expected else None


def advance(view: View, event: Event, now: float) -> View:  # noqa: PLR0911  (a case an event)
    """The view after `event`, which happened at `now`."""
    match event:
        case RunStarted():
            return replace(view, run=event)
        case ProbeStarted():
            return replace(
                view, sending=event, sending_since=now, progress=None, first_beat=None, beat_at=None, note=None
            )
        case ProbeProgress():
            return _progressed(view, event, now)
        case ProbeEnded():
            return replace(view, sending=None, pace=_pace(view, event.observation))
        case Replayed():
            return replace(view, pace=_pace(view, event.observation))
        case EngineDied():
            return replace(view, died=event, uncounted=view.uncounted + 1)
        case Reviving():
            since = view.reviving_since if view.reviving is not None else now
            return replace(view, sending=None, reviving=event, reviving_since=since)
        case Revived():
            return replace(view, reviving=None)
        case Note():
            return replace(view, note=event)
        case Bracket():
            return replace(view, bracket=event, uncounted=0)
        case RunEnded():
            return replace(view, sending=None, reviving=None)
        case _:
            assert_never(event)


def _progressed(view: View, event: ProbeProgress, now: float) -> View:
    beat = event.heartbeat
    moved = beat is not None and view.progress is not None and beat != view.progress.heartbeat
    return replace(
        view,
        progress=event,
        first_beat=beat if view.first_beat is None else view.first_beat,
        beat_at=now if moved else view.beat_at,
    )


def _pace(view: View, seen: Observation) -> Pace | None:
    """The longest pass so far teaches the pace: short ones are mostly overhead."""
    known = view.pace
    if seen.outcome is not Outcome.PASS or seen.length < 1 or (known is not None and seen.length < known.length):
        return known
    return Pace(seen.length, seen.duration_s, view.beats or (known.beats if known else None))

"""Do the runs stand in the order in which they were begun, and does none go on after its answer?

Runs are read in the order of their `rowid`, which no hash covers. So the row of each new run names, among its settings,
the link of the run that was begun before it: that is covered. Rows of before that was so have only their times, the
heads that their seals name and the order of their canaries to go by. A clock may be set back while two runs are at
work, so only where all of these agree did a run come later.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fuzzer.store.chain import GENESIS

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Sequence

    from sqlite_utils import Database

BEGUN_AFTER: Final = "begun_after"  # the member of a run's settings

_LAST: Final = "SELECT c.hash FROM runs r JOIN chain c USING (run, position) ORDER BY r.rowid DESC LIMIT 1"

_PLACES: Final = """
SELECT r.run, c.hash, r.at_utc,
    CASE WHEN json_valid(r.settings_json) THEN r.settings_json ->> '$.begun_after' END,
    CASE WHEN r.plan = 'merge' AND json_valid(r.question_json) THEN
        (SELECT json_group_array(value) FROM json_each(r.question_json, '$.runs') WHERE type = 'text') END
FROM runs r JOIN chain c USING (run, position) ORDER BY r.rowid
"""

# Which run's seal names which other run's.
_SEALED: Final = """
SELECT earlier.run, s.run
FROM seals s, json_each(CASE WHEN json_valid(s.previous_heads_json) THEN s.previous_heads_json ELSE '[]' END) named
JOIN (SELECT t.run, c.hash FROM seals t JOIN chain c USING (run, position)) earlier ON earlier.hash = named.value
WHERE earlier.run <> s.run
"""

# Which of two runs sang first; one that did not sing at all is missing.
_SANG: Final = "SELECT run FROM canaries WHERE run IN (?, ?) GROUP BY run ORDER BY min(rowid)"

_WENT_ON: Final = """
SELECT s.run, c.position FROM seals s JOIN chain c ON c.run = s.run AND c.position = s.position + 1
WHERE s.status = 'done' ORDER BY s.run
"""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a run stands. `after`: what it names as begun before it; None in rows of before runs did. `took`: of a
    merge, the runs that it took in.
    """

    run: str
    link: str
    at_utc: str
    after: str | None
    took: tuple[str, ...]


def begun_after(db: Database) -> dict[str, str]:
    """What a run that is begun now keeps of the one that was begun before it."""
    last = db.execute(_LAST).fetchone()
    return {BEGUN_AFTER: GENESIS if last is None else last[0]}


def misplaced(conn: sqlite3.Connection) -> Iterator[str]:
    """What is wrong with the order of the runs, one of which may be gone."""
    places = [
        _Place(run, link, at_utc, after, tuple(json.loads(took or "[]")))
        for run, link, at_utc, after, took in conn.execute(_PLACES)
    ]
    yield from _against_links(places)
    listed = {run for place in places for run in place.took}
    yield from _against_seals(conn, [place for place in places if place.after is None and place.run not in listed])


def _against_links(places: Sequence[_Place]) -> Iterator[str]:
    """A run stands right after the one that it names, but for those that came with a merge: they stand right before it,
    as it lists them.
    """
    at = {place.link: nth for nth, place in enumerate(places)} | {GENESIS: -1}
    came = {run for nth, place in enumerate(places) for run in _came_with(place, places, nth)}
    for nth, place in enumerate(places):
        if place.after is None:
            continue
        before = at.get(place.after)
        if before is None:
            yield f"the run that was begun before run {place.run} is gone"
        elif before != nth - 1 and place.run not in came:
            yield f"run {place.run} does not stand after the run that was begun before it"


def _came_with(merge: _Place, places: Sequence[_Place], nth: int) -> tuple[str, ...]:
    """The runs that came with the `nth` one; none where it came from elsewhere itself, and took them in there."""
    stand = tuple(place.run for place in places[max(0, nth - len(merge.took)) : nth])
    return merge.took if stand == merge.took else ()


def _against_seals(conn: sqlite3.Connection, places: Sequence[_Place]) -> Iterator[str]:
    """A run that was begun later by the clock, and sang and was sealed later, stands later."""
    at = {place.run: nth for nth, place in enumerate(places)}
    for earlier, later in conn.execute(_SEALED) if at else ():
        if earlier in at and later in at and at[later] < at[earlier]:
            in_time = places[at[earlier]].at_utc < places[at[later]].at_utc
            if in_time and [run for (run,) in conn.execute(_SANG, (earlier, later))] == [earlier, later]:
                yield f"run {later} stands before run {earlier}, which was begun and sealed before it"


def after_their_answer(conn: sqlite3.Connection) -> Iterator[tuple[str, int]]:
    """The runs that go on after a seal that calls them done, and from which row: ctxfuzz resumes no such run."""
    yield from conn.execute(_WENT_ON)

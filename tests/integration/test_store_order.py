"""Are runs told in the order in which they were begun, and is it found where somebody moves their rows?"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from fuzzer.evidence import Canary
from fuzzer.finding import Finding, FindingKind
from fuzzer.store import History, RunRecord, Store, StoreError, audit
from fuzzer.store.order import BEGUN_AFTER
from tests.integration.tampering import unguarded

RECORD = RunRecord(command="bisect", argv=("ctxfuzz",), url="http://h:1", model="m", engine="vllm", plan="bisect")
FOUND = Finding(FindingKind.DEATH, "why", cap=131_072)
Clock = Callable[[str], None]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Sets the clock that rows are written by."""

    def turn(hour: str) -> None:
        monkeypatch.setattr("fuzzer.store.links.utc_now", lambda: f"2026-11-29T{hour}:00.000Z")

    return turn


@pytest.fixture(params=["today's", "of before runs named each other"])
def rows(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param != "today's":
        monkeypatch.setattr("fuzzer.store.order.begun_after", lambda _: {})


def begun(store: Store) -> str:
    run = store.begin(RECORD)
    store.canary(run, Canary(ok=True, duration_s=0.1), at_s=0.1, purpose="baseline")
    return run


def run_of(store: Store, cap: int) -> str:
    run = begun(store)
    store.finish(run, replace(FOUND, cap=cap), "done", at_s=1.0)
    return run


def renumbered(path: Path, places: Mapping[str, int]) -> None:
    with unguarded(path) as other:
        other.execute("UPDATE runs SET rowid = -rowid")
        for run, place in places.items():
            other.execute("UPDATE runs SET rowid = ? WHERE run = ?", (place, run))


@pytest.mark.usefixtures("rows")
def test_an_older_cap_is_not_made_the_last_one(path: Path, at: Clock) -> None:
    found = []
    with Store.open(path) as store:
        for hour, cap in (("10:00", 245_760), ("11:00", 131_072), ("12:00", 131_072)):
            at(hour)
            found.append(run_of(store, cap))
    assert audit(path).sound
    renumbered(path, dict(zip(found, (3, 2, 1), strict=True)))
    with closing(sqlite3.connect(path)) as other:  # what its view says now is false
        assert other.execute("SELECT cap_tokens FROM latest_cap_per_model").fetchone() == (245_760,)
    assert not audit(path).sound
    with pytest.raises(StoreError, match=r"another program: run \w+ (stands before|does not stand after) "):
        History.open(path)


def test_a_run_that_was_killed_is_not_moved_either(path: Path) -> None:
    """It has no seal that would name another."""
    with Store.open(path) as store:
        first, second = store.begin(RECORD), store.begin(RECORD)
        last = run_of(store, 8960)
    renumbered(path, {first: 1, last: 2, second: 3})
    assert sum("does not stand after" in problem.what for problem in audit(path).problems) == 2
    renumbered(path, {first: 1, second: 2, last: 3})
    assert audit(path).sound


def test_runs_that_came_are_not_moved_among_ours(path: Path, tmp_path: Path) -> None:
    with Store.open(tmp_path / "other.db") as other:
        theirs = [run_of(other, 5968) for _ in range(2)]
    with Store.open(path) as store:
        ours = [run_of(store, 8960) for _ in range(2)]
        store.merge(tmp_path / "other.db", ())
        (merge,) = [run.run for run in store.runs() if run.record.plan == "merge"]
    places = [*ours, *theirs, merge]
    assert audit(path).sound
    for moved in ([theirs[0], *ours, theirs[1], merge], [*ours, theirs[1], theirs[0], merge]):
        renumbered(path, {run: nth for nth, run in enumerate(moved, 1)})
        assert not audit(path).sound
        with pytest.raises(StoreError, match="changed by another program"):
            History.open(path)
    renumbered(path, {run: nth for nth, run in enumerate(places, 1)})
    assert audit(path).sound


@pytest.mark.usefixtures("rows")
def test_clocks_that_go_back_and_merges_both_ways_are_nobodys_doing(path: Path, tmp_path: Path, at: Clock) -> None:
    third = tmp_path / "third.db"
    with Store.open(path) as ours, Store.open(tmp_path / "other.db") as theirs, Store.open(third) as last:
        for hour, store in (("12:00", ours), ("10:00", ours), ("11:00", theirs), ("09:00", theirs), ("08:00", last)):
            at(hour)
            run_of(store, 8960)
        at("07:00")
        slow = theirs.begin(RECORD)  # at work while others are begun, sealed and taken in
        for into, other in ((ours, theirs), (theirs, ours), (ours, theirs), (last, ours), (ours, last), (theirs, ours)):
            at("09:30")
            run_of(into, 5968)
            into.merge(other.path, ())
            killed = into.begin(RECORD)
            assert audit(into.path).problems == []
        assert slow != killed
    for file in (path, tmp_path / "other.db", third):
        assert audit(file).problems == []
        with closing(sqlite3.connect(file)) as conn:
            conn.execute("VACUUM")
        with History.open(file) as history:
            history.get("last")


@pytest.mark.usefixtures("rows")
@pytest.mark.parametrize("interrupted", [False, True])
def test_a_clock_that_goes_back_while_a_run_is_at_work_is_nobodys_doing(
    path: Path, at: Clock, interrupted: bool
) -> None:
    with Store.open(path) as store:
        at("10:30")
        slow = begun(store)
        if interrupted:
            store.finish(slow, None, "interrupted", at_s=1.0)
        at("10:00")
        run_of(store, 8960)
        at("10:40")
        if interrupted:
            store.reopen(slow, (), at_s=1.0)
        store.finish(slow, FOUND, "done", at_s=2400.0)
    assert audit(path).problems == []
    with History.open(path) as history:
        assert history.get("last").run != slow


def test_what_a_run_names_is_no_setting_of_its(path: Path) -> None:
    with Store.open(path) as store:
        store.begin(RECORD)
        run = store.begin(replace(RECORD, settings={"seed": 7}))
        assert store.get(run).record.settings == {"seed": 7}
        (row,) = [row for _, kind, row, _ in store.links(run) if kind == "runs"]
    assert BEGUN_AFTER in str(row["settings_json"])


def test_a_run_that_goes_on_after_it_was_done_is_told_and_not_shown(path: Path) -> None:
    with Store.open(path) as store:
        run = run_of(store, 262_096)
        seal = store.get(run).seal
        who = {"user": "u", "host": "h", "ctxfuzz_version": "0"}
        store._append("resumes", run, at_s=1.0, argv_json=["ctxfuzz", "resume"], **who)
        store.finish(run, replace(FOUND, cap=1_048_576), "done", at_s=2.0)
    assert seal is not None
    problems = audit(path, expect=seal.head).problems
    assert [(problem.run, problem.position) for problem in problems] == [(run, seal.rows + 1)]
    assert "the run was done, and no such run goes on" in problems[0].what
    for open_it in (History.open, Store.open):
        with pytest.raises(StoreError, match=f"run {run} goes on after it was done"):
            open_it(path)

"""Does runs.db give back exactly what was recorded, refuse what is not its own, and let one run at a time work?"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzzer.evidence import Canary
from fuzzer.finding import Confidence, Finding, FindingKind, Flaky
from fuzzer.journal import StoreJournal, settle
from fuzzer.lifetime.relapse import Relapse
from fuzzer.lifetime.revival import Revival
from fuzzer.model import Corroboration, Outcome, ProbeSpec, Role
from fuzzer.observation import Observation
from fuzzer.store import History, Intent, NoSuchRun, RunRecord, Store, StoreError, TargetLocked
from fuzzer.store.errors import Unreadable
from fuzzer.store.lock import holder
from fuzzer.store.migrations import APPLICATION_ID, VERSION, migrations
from fuzzer.store.records import Ending
from fuzzer.store.tables import LINKED
from targets.base import Fault, Health
from targets.scrape import DraftCounts

URL = "http://host:8000/v1"
SECRET = "sk-s3cr3t-of-the-house"
RECORD = RunRecord(
    command="bisect",
    argv=("ctxfuzz", "bisect", "--url", URL, "--api-key", SECRET),
    url=URL,
    model="tiny",
    engine="vllm",
    plan="bisect",
    engine_version="0.32.0",
    limit=1_048_576,
    question={"lo": 244_689, "hi": 300_000},
    settings={"seed": 7, "on_death": f"curl https://ops:{SECRET}@pager/"},
)
SPEC = ProbeSpec(length=262_107, output_tokens=32, role=Role.SEARCH, reason="halfway")
DEATH = Observation(
    seq=1,
    spec=SPEC,
    outcome=Outcome.DEATH,
    length=262_108,
    length_source="inferred",
    corroboration=Corroboration.PROVEN,
    deaths=1,
    started_s=0.1 + 0.2,
    cost_s=6.5,
    draft=DraftCounts(1.0, 7.0, 0.0, (0.0,)),
    signature="IndexError: index out of range in self",
)
FOUND = Finding(
    FindingKind.DEATH,
    "one step apart",
    last_good=262_106,
    first_bad=262_107,
    flaky=Flaky(0.5, 0.1, 0.9),
    islands=((1, 2),),
    cap=262_096,
    confidence=Confidence(9, 2, 0.283),
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with Store.open(path, secrets=[SECRET]) as store:
        yield store


def intent(seq: int, spec: ProbeSpec = SPEC) -> Intent:
    return Intent(seq, spec, float(seq), 262_107, "0" * 64, 5000, {"seed": 7, "kind": "words", "length": 262_107})


def recorded(store: Store, *, record: RunRecord = RECORD, seen: Observation = DEATH, ending: Ending = "done") -> str:
    """A run with a row in every table, sealed."""
    run = store.begin(record)
    store.intend(run, intent(seen.seq, seen.spec))
    store.health(run, Health(at_s=2.0, fault=Fault.REFUSED), at_s=2.0)
    store.complete(run, seen, {"reply": {"status": 500}})
    store.death(
        run, seen.seq, at_s=2.0, corroboration=Corroboration.PROVEN, signature="boom", last_words="words" * 9999
    )
    store.revived(run, seen.seq, at_s=9.0, took_s=6.25, came_back=True, cost_s=12.75, canaries=3)
    store.canary(run, Canary(ok=False, duration_s=0.2, fault="refused"), at_s=9.5, purpose="revival", seq=seen.seq)
    store.note(run, "two replicas", at_s=9.6, hint="--allow-replicas", level="warning")
    store.reopen(run, ("ctxfuzz", "resume", run), at_s=9.7)
    store.finish(run, FOUND, ending, at_s=10.0)
    return run


def observations() -> st.SearchStrategy[Observation]:
    times = st.floats(allow_nan=False)
    counts = st.one_of(st.none(), st.integers())
    return st.builds(
        Observation,
        seq=st.integers(0, 10**9),
        spec=st.builds(ProbeSpec, st.integers(), st.integers(), st.sampled_from(Role), st.text(), wait_s=times),
        outcome=st.sampled_from(Outcome),
        length=st.integers(),
        length_source=st.sampled_from(["usage", "inferred"]),
        reason=st.text(),
        corroboration=st.one_of(st.none(), st.sampled_from(Corroboration)),
        clamped=st.booleans(),
        completion_tokens=counts,
        started_s=times,
        duration_s=times,
        ttft_s=st.one_of(st.none(), times),
        cost_s=times,
        draft=st.one_of(st.none(), st.builds(DraftCounts, times, times, times, st.tuples(times))),
        signature=st.text(),
    )


@settings(
    max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None
)
@given(observations())
def test_an_observation_comes_back_exactly(store: Store, seen: Observation) -> None:
    run = store.begin(RECORD)
    store.intend(run, intent(seen.seq, seen.spec))
    store.complete(run, seen, {})
    assert repr(store.observations(run)) == repr([seen])


def test_a_run_comes_back_as_it_was_recorded(store: Store, path: Path) -> None:
    run = recorded(store)
    with History.open(path) as history:
        known = history.get(run)
        assert known.finding == FOUND
        assert (known.status, known.probes, known.canaries, known.deaths) == ("done", 1, 1, 1)
        assert known.seal is not None
        assert known.seal.rows == 10
        assert known.record.question == RECORD.question
        assert replace(known.record, argv=(), settings={}) == replace(RECORD, argv=(), settings={})
        assert history.intents(run) == [intent(1)]
        assert history.active_s(run) == 10.0
        assert [row["kind"] for row in history.timeline(run)] == [
            *("run", "intent", "health", "outcome", "death", "revival", "canary", "note", "resume", "seal")
        ]


def test_a_revival_that_is_known_later_joins_its_observation(store: Store) -> None:
    run = store.begin(RECORD)
    store.intend(run, intent(1))
    store.complete(run, DEATH, {})
    assert store.observations(run) == [DEATH]
    store.revived(run, 1, at_s=9.0, took_s=6.25, came_back=False, cost_s=12.75, canaries=3)
    assert store.observations(run) == [replace(DEATH, revival_s=6.25, revived=False, cost_s=12.75, canaries=3)]
    store.revived(run, 1, at_s=99.0, took_s=90.0, came_back=True)
    assert store.observations(run) == [replace(DEATH, revival_s=90.0, revived=True, cost_s=12.75, canaries=3)]


def test_a_death_while_it_is_waited_for_is_on_record_at_once(store: Store) -> None:
    """Also where the wait never ended: the session was killed in it. What is known later replaces what was known."""
    run = store.begin(RECORD)
    store.intend(run, intent(1))
    store.complete(run, DEATH, {})
    journal, waiting = StoreJournal(store, run), DEATH
    for relapses in (1, 2):
        waiting = replace(DEATH, canaries=relapses).relapsed(relapses)
        relapse = Relapse(Corroboration.PROVEN, "EngineDead", Canary(ok=False, duration_s=0.1, status=500))
        journal.relapsed(waiting, relapse, at_s=5.0 + relapses, took_s=float(relapses))
    assert store.observations(run) == [replace(waiting, revival_s=2.0, revived=False)]
    assert (waiting.deaths, store.observations(run)[0].toll) == (DEATH.deaths + 2, DEATH.deaths + 2)
    assert [(death.seq, death.signature) for death in store.deaths(run)] == [(None, "EngineDead")] * 2
    back = replace(waiting, revival_s=9.0, revived=True, cost_s=12.75)
    journal.revived(back, Revival(came_back=True, took_s=9.0, relapses=2), at_s=20.0)
    assert store.observations(run) == [back]


def test_the_end_of_an_engine_that_hung_makes_its_probe_a_death_at_once(store: Store) -> None:
    """Also where the session is killed right after it. A death before the probe is another one's."""
    run = store.begin(RECORD)
    hung = replace(DEATH, outcome=Outcome.HANG, wedged=True, deaths=0, blames=None, corroboration=None, reason="hung")
    for seq in (1, 2):
        store.intend(run, intent(seq))
        store.complete(run, replace(hung, seq=seq), {})
    store.death(run, None, at_s=4.0, corroboration=Corroboration.PROVEN)
    end = Relapse(Corroboration.PROVEN, "another start", of_wedged=True)
    died = replace(hung, seq=2).ended_by(end.signature)
    StoreJournal(store, run).ended(died, end, at_s=5.0)
    assert store.observations(run) == [hung, died]
    assert (died.outcome, died.deaths, died.toll, died.reason) == (Outcome.DEATH, 1, 1, "hung; then another start")
    settle(store, run, None)
    assert [death.seq for death in store.deaths(run)] == [None, 2], "and is not told twice"


def test_an_intent_without_an_outcome_is_open_until_it_is_closed(store: Store) -> None:
    run = store.begin(RECORD)
    store.intend(run, intent(1))
    store.intend(run, intent(2))
    store.complete(run, DEATH, {})
    assert store.open_intents(run) == [intent(2)]
    store.complete(run, replace(DEATH, seq=2, outcome=Outcome.ABANDONED), {})
    assert store.open_intents(run) == []


def test_a_sealed_run_takes_rows_again_only_after_it_was_reopened(store: Store) -> None:
    run = store.begin(RECORD)
    first = store.finish(run, None, "interrupted", at_s=1.0)
    with pytest.raises(AssertionError, match="reopen it first"):
        store.intend(run, intent(1))
    store.reopen(run, (), at_s=1.0)
    assert store.get(run).seal is None
    store.intend(run, intent(1))
    second = store.finish(run, FOUND, "done", at_s=2.0)
    assert store.get(run).seal == second != first
    with pytest.raises(StoreError, match="has ended: there is nothing to go on with"):
        store.reopen(run, (), at_s=2.0)


@pytest.mark.parametrize("table", ["chain", *LINKED])
def test_no_row_is_ever_changed_or_deleted(store: Store, path: Path, table: str) -> None:
    recorded(store)
    with closing(sqlite3.connect(path)) as other:
        before = list(other.execute(f"SELECT * FROM {table}"))
        assert before
        for attack in (f"UPDATE {table} SET position = position", f"DELETE FROM {table}"):
            with pytest.raises(sqlite3.IntegrityError, match="a recorded row is never"):
                other.execute(attack)
        assert list(other.execute(f"SELECT * FROM {table}")) == before


def test_a_row_is_not_replaced_by_one_of_the_same_place(store: Store, path: Path) -> None:
    recorded(store)
    with closing(sqlite3.connect(path)) as other, pytest.raises(sqlite3.IntegrityError, match="only added at the end"):
        other.execute(
            "INSERT OR REPLACE INTO notes (run, position, at_utc, at_s, level, text, hint) "
            "SELECT run, position, at_utc, at_s, level, 'never said', hint FROM notes"
        )


def test_an_outcome_needs_its_intent_and_comes_once(store: Store) -> None:
    run = store.begin(RECORD)
    with pytest.raises(sqlite3.IntegrityError):
        store.complete(run, DEATH, {})
    store.intend(run, intent(1))
    store.complete(run, DEATH, {})
    with pytest.raises(sqlite3.IntegrityError):
        store.complete(run, DEATH, {})
    with pytest.raises(sqlite3.IntegrityError):
        store.intend(run, intent(1))
    assert [row["position"] for row in store.timeline(run)] == [1, 2, 3]


def test_no_secret_reaches_the_disk(store: Store, path: Path) -> None:
    run = recorded(store, record=replace(RECORD, url=f"http://me:{SECRET}@host:8000/?token={SECRET}"), ending="halted")
    store.reopen(run, ("--header", f"X: {SECRET}"), at_s=10.0)
    store.intend(run, intent(2))
    echo = {"excerpt": f'the key "{SECRET}" is wrong'}
    store.complete(run, replace(DEATH, seq=2, reason=f"401: {SECRET}", signature=SECRET), echo)
    store.note(run, f"see https://u:{SECRET}@h/", at_s=11.0)
    for file in path.parent.iterdir():
        assert SECRET.encode() not in file.read_bytes()
    assert store.get(run).record.argv == ("ctxfuzz", "bisect", "--url", URL, "--api-key", "***")
    assert "***" in store.observations(run)[1].reason


@pytest.mark.parametrize("secret", ["300000", "search", "usage, inferred", "inferred", "vllm-0", "tiny-1", '"hi":244'])
def test_a_secret_that_is_a_word_of_ours_by_chance_changes_no_row(path: Path, secret: str) -> None:
    record = replace(RECORD, url="http://vllm-0:8000", model="tiny-1", argv=("ctxfuzz", "--lo", "300000"), settings={})
    seen = replace(DEATH, reason=f"refused: {secret}")
    with Store.open(path, secrets=[secret]) as store:
        run = recorded(store, record=record, seen=seen)
        assert store.get(run).record == record
        assert store.observations(run) == [
            replace(seen, reason="refused: ***", revival_s=6.25, cost_s=12.75, canaries=3, resumed_after=True)
        ]
        (known,) = store.known_failures("http://vllm-0:8000", "tiny-1", "0.32.0")
        assert known.run == run


def test_last_words_are_bounded_and_any_text_is_taken(store: Store, path: Path) -> None:
    run = recorded(store, ending="halted")
    store.reopen(run, (), at_s=10.0)
    store.death(run, None, at_s=11.0, corroboration=Corroboration.PRESUMED, last_words="a" * 9000 + "\ud800\x00end")
    with closing(sqlite3.connect(path)) as other:
        lines = [words for (words,) in other.execute("SELECT last_words FROM deaths ORDER BY position")]
    assert [len(words) for words in lines] == [8192, 8192]
    assert lines[1].endswith("a\ufffd\x00end")


def test_columns_and_views_answer_an_auditor(store: Store, path: Path) -> None:
    run = recorded(store)
    recorded(store, record=replace(RECORD, model="other"))
    with closing(sqlite3.connect(path)) as other:
        row = other.execute(
            "SELECT role, asked_tokens, outcome, length_tokens, corroboration, drafts, draft_tokens, started_s "
            "FROM probes JOIN outcomes USING (run, seq) WHERE run = ?",
            (run,),
        ).fetchone()
        assert row == ("search", 262_107, "death", 262_108, "proven", 1.0, 7.0, 0.1 + 0.2)
        caps = other.execute("SELECT model, cap_tokens FROM latest_cap_per_model ORDER BY model").fetchall()
        assert caps == [("other", 262_096), ("tiny", 262_096)]
        edges = other.execute("SELECT last_good_tokens, first_bad_tokens FROM boundaries").fetchall()
        assert edges == [(262_106, 262_107)] * 2
        deaths = other.execute("SELECT deaths, proven, presumed, shortest_deadly_tokens, signatures FROM deaths_by_run")
        assert deaths.fetchall() == [(1, 1, 0, 262_108, "boom")] * 2
        strict = dict(other.execute("SELECT name, strict FROM pragma_table_list WHERE type = 'table'").fetchall())
        assert all(strict[table] for table in ("chain", *LINKED))


def test_a_run_is_found_by_id_by_beginning_and_as_the_last(store: Store) -> None:
    first, second = (store.begin(replace(RECORD, model=model)) for model in ("one", "two"))
    assert store.get(first).run == first
    store.begin(replace(RECORD, settings={"control_of": second}))
    assert store.get("last").run == second
    differ = next(nth for nth, (one, other) in enumerate(zip(first, second, strict=True)) if one != other)
    assert store.get(first[: differ + 1]).run == first
    with pytest.raises(NoSuchRun, match="More than one"):
        store.get(first[:differ])
    for absent in ("zzz", "%", "\udcff"):
        with pytest.raises(NoSuchRun, match="ctxfuzz runs"):
            store.get(absent)


def test_a_filter_that_no_row_can_hold_is_taken_as_a_row_would_have_it(store: Store) -> None:
    """Bytes of a command line that are no UTF-8: whoever recorded under that name finds it by it again."""
    recorded(store)
    store.begin(replace(RECORD, url="http://elsewhere:9", model="big\udcff"))
    untold: list[Unreadable] = []
    assert [run.record.model for run in store.runs(model="\udcff", unreadable=untold.append)] == ["big\ufffd"]
    assert store.runs(url="\udcff", unreadable=untold.append) == store.runs(finding="\udcff") == []
    assert untold == []


def test_runs_are_listed_newest_first_and_filtered(store: Store) -> None:
    first = recorded(store)
    second = store.begin(replace(RECORD, url="http://elsewhere:9", model="big"))
    assert [run.run for run in store.runs()] == [second, first]
    assert [run.run for run in store.runs(limit=1)] == [second]
    now = datetime.now(UTC)
    wanted: list[tuple[dict[str, Any], list[str]]] = [
        ({"url": "host:8000"}, [first]),
        ({"model": "big"}, [second]),
        ({"finding": "death"}, [first]),
        ({"finding": "hang"}, []),
        ({"since": now - timedelta(hours=1)}, [second, first]),
        ({"since": now + timedelta(hours=1)}, []),
    ]
    for filters, found in wanted:
        assert [run.run for run in store.runs(**filters)] == found


Clock = Callable[[str], None]


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Sets the clock that rows are written by."""

    def turn(hour: str) -> None:
        monkeypatch.setattr("fuzzer.store.links.utc_now", lambda: f"2026-11-29T{hour}:00.000Z")

    return turn


def test_a_clock_that_is_set_back_makes_no_older_cap_the_last_one(store: Store, path: Path, at: Clock) -> None:
    found = []
    for hour, cap in (("10:00", 8960), ("09:00", 5968)):
        at(hour)
        found.append(store.begin(RECORD))
        store.finish(found[-1], replace(FOUND, cap=cap), "done", at_s=1.0)
    assert store.get("last").run == found[1]
    assert [run.run for run in store.runs()] == found[::-1]
    with closing(sqlite3.connect(path)) as other:
        assert other.execute("SELECT cap_tokens, run FROM latest_cap_per_model").fetchall() == [(5968, found[1])]


def test_runs_that_came_are_placed_by_their_times_in_the_order_that_they_had(
    store: Store, tmp_path: Path, at: Clock
) -> None:
    def begun(where: Store, hour: str) -> str:
        at(hour)
        return where.begin(RECORD)

    ours = [begun(store, hour) for hour in ("10:00", "08:00", "12:00")]
    with Store.open(tmp_path / "other.db") as other:
        theirs = [
            begun(other, hour) for hour in ("11:00", "10:30", "23:00")
        ]  # two of them after the clock was set back
    at("13:00")
    store.merge(tmp_path / "other.db", ())
    after = begun(store, "09:30")
    order = [run.run for run in reversed(store.runs()) if run.record.plan != "merge"]
    assert order == [*ours[:2], *theirs[:2], ours[2], theirs[2], after]
    assert store.get("last").run == after


def test_failures_of_the_same_build_at_the_same_target_are_known(store: Store) -> None:
    recorded(store, seen=replace(DEATH, length=300_000))
    recorded(store, seen=replace(DEATH, length=270_000, outcome=Outcome.ERROR))
    recorded(store, seen=replace(DEATH, length=1000, outcome=Outcome.PASS))
    recorded(store, seen=replace(DEATH, length=2000, outcome=Outcome.BUSY))
    recorded(store, seen=replace(DEATH, length=3000), record=replace(RECORD, engine_version="0.33"))
    recorded(store, seen=replace(DEATH, length=4000), record=replace(RECORD, url="http://host:8001"))
    failures = store.known_failures("http://HOST:8000/", "tiny", "0.32.0")
    assert [failure.observation.length for failure in failures] == [270_000, 300_000]
    only_deaths = store.known_failures(URL, "tiny", "0.32.0", frozenset({Outcome.DEATH}))
    assert [failure.observation.length for failure in only_deaths] == [300_000]
    assert store.known_failures(URL, "tiny", None) == []


def test_reading_works_while_a_row_is_being_written(store: Store, path: Path) -> None:
    run = recorded(store, ending="halted")
    with History.open(path) as history, store._transaction():
        store._append("resumes", run, at_s=10.0, argv_json=[], user="u", host="h", ctxfuzz_version="0")
        assert history.get(run).status == "halted"
    with History.open(path) as history:
        assert history.get(run).status == "interrupted"
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            history._db.execute("CREATE TABLE mine (x)")


def test_a_database_that_another_program_keeps_locked_is_said(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fuzzer.store.connect.BUSY_TIMEOUT_S", 0.05)
    with Store.open(path) as store, closing(sqlite3.connect(path)) as other:
        run = store.begin(RECORD)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match=r"locked by another program\. End that program"):
            store.intend(run, intent(1))
        other.execute("ROLLBACK")
        store.intend(run, intent(1))


@pytest.mark.parametrize("journal", ["delete", "wal"])
@pytest.mark.parametrize("stamp", ["PRAGMA application_id = 42", "PRAGMA user_version = 3", "CREATE TABLE theirs (x)"])
def test_a_foreign_database_is_refused_and_untouched(path: Path, stamp: str, journal: str) -> None:
    with closing(sqlite3.connect(path)) as other:
        other.execute(f"PRAGMA journal_mode = {journal}")
        other.execute(stamp)
    refused_untouched(path, "belongs to another program.*untouched")


def test_a_newer_database_is_refused_and_untouched(path: Path) -> None:
    Store.open(path).close()
    with closing(sqlite3.connect(path)) as other:
        other.execute(f"PRAGMA user_version = {VERSION + 1}")
    refused_untouched(path, "newer ctxfuzz.*untouched.*upgrade")


@pytest.mark.parametrize("content", [b"hello, this is a text file\n" * 99, b"SQLite format 3\x00" + b"\xff" * 4080])
def test_a_file_that_is_no_database_is_refused_and_untouched(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    refused_untouched(path, "not a database.*untouched|damaged")


def refused_untouched(path: Path, why: str) -> None:
    before = path.read_bytes()
    for open_it in (Store.open, History.open):
        with pytest.raises(StoreError, match=why):
            open_it(path)
    assert path.read_bytes() == before


def test_a_damaged_database_is_said(store: Store, path: Path) -> None:
    run = recorded(store)
    store.close()
    pages = bytearray(path.read_bytes())
    pages[4096:] = b"\xaa" * (len(pages) - 4096)
    path.write_bytes(pages)
    with pytest.raises(StoreError, match="damaged"), History.open(path) as history:
        history.get(run)


def test_an_empty_file_becomes_a_database_and_is_none_before(path: Path) -> None:
    path.touch()
    with pytest.raises(StoreError, match="no runs"):
        History.open(path)
    with Store.open(path) as store:
        recorded(store)
    with closing(sqlite3.connect(path)) as other:
        stamps = [other.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")]
        assert stamps == [APPLICATION_ID, VERSION]
        assert other.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        applied = other.execute("SELECT count(*) FROM _sqlite_migrations").fetchone()
        assert applied == (VERSION,)


def test_the_version_counts_the_migrations(store: Store) -> None:
    assert len(migrations.applied(store._db)) == VERSION
    assert migrations.pending(store._db) == []


def test_one_run_at_a_time_works_on_a_target(store: Store, path: Path) -> None:
    with store.lock(URL), Store.open(path) as second:
        run = store.begin(RECORD)
        assert second.get(run).status == "running"
        who = rf"being probed by run {run} \(pid {os.getpid()} on .*, since 20.*Z\)\. Wait"
        with pytest.raises(TargetLocked, match=who), second.lock("http://HOST:8000/"):
            pass
        with second.lock("http://host:8001"):
            pass
    with Store.open(path) as second, second.lock(URL):
        assert second.get(run).status == "interrupted"
    assert not list(path.parent.glob("*.lock"))


def test_a_lock_ends_with_its_process_however_that_ends(store: Store) -> None:
    ready, told = os.pipe()
    pid = os.fork()
    if pid == 0:
        with store.lock(URL):
            os.write(told, b"held")
            signal.pause()
    assert os.read(ready, 4) == b"held"
    with pytest.raises(TargetLocked, match=f"pid {pid} on"), store.lock(URL):
        pass
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    with store.lock(URL):
        assert store.get(store.begin(RECORD)).status == "running"


@pytest.mark.parametrize("left_by", [{"host": "pod-7"}, {"pid": 1}])
def test_what_a_killed_run_left_behind_is_no_run_at_work(
    store: Store, path: Path, tmp_path: Path, left_by: dict[str, object]
) -> None:
    """Also where its process cannot be asked for, or another one has its number now."""
    with store.lock(URL):
        run = store.begin(RECORD)
        (lock,) = path.parent.glob("*.lock")
        left = {**json.loads(lock.read_bytes()), **left_by}
        lock.write_text(json.dumps(left))
        assert store.get(run).status == "running", "whatever it says, it is held"
    lock.write_text(json.dumps(left))
    lock.chmod(0o444)
    with History.open(path) as history:
        assert history.get(run).status == "interrupted"
    with Store.open(tmp_path / "ours.db") as ours:
        assert ours.merge(path, ()).added == (run,)


def test_where_no_file_can_be_locked_its_words_are_believed_and_no_run_begins(
    store: Store, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_locks(descriptor: int, kind: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    with store.lock(URL):
        monkeypatch.setattr(fcntl, "flock", without_locks)
        found = holder(path, URL)
        with pytest.raises(StoreError, match=r"cannot be .* locked \(No locks"), store.lock("http://host:8001"):
            pass
    assert found is not None
    assert found.pid == os.getpid()


def test_whoever_looks_at_a_lock_is_in_nobodys_way(store: Store) -> None:
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            holder(store.path, URL)

    with ThreadPoolExecutor() as crowd:
        try:
            for _ in range(4):
                crowd.submit(look)
            for _ in range(50):
                with store.lock(URL):
                    pass
        finally:
            done.set()


def test_processes_that_race_for_a_lock_hold_it_one_after_the_other(store: Store, path: Path) -> None:
    """Each holder checks that nobody else is inside: a marker that only one of them can make."""
    marker = path.with_name("inside")
    children = []
    for _ in range(4):
        pid = os.fork()
        if pid == 0:
            try:
                held = 0
                while held < 50:
                    try:
                        with store.lock(URL):
                            os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
                            marker.unlink()
                            held += 1
                    except TargetLocked:
                        continue
                os._exit(0)
            finally:
                os._exit(1)
        children.append(pid)
    assert [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children] == [0] * 4


def test_json_columns_hold_json(store: Store, path: Path) -> None:
    recorded(store)
    with closing(sqlite3.connect(path)) as other:
        for table in LINKED:
            names = [name for (name,) in other.execute("SELECT name FROM pragma_table_info(?)", (table,))]
            for name in names:
                if name.endswith("_json"):
                    for (text,) in other.execute(f"SELECT {name} FROM {table}"):
                        json.loads(text)

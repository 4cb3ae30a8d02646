"""Is every row that was acknowledged there, whole, after the process, the disk or the folder failed?"""

from __future__ import annotations

import os
import random
import resource
import signal
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fuzzer.model import Outcome, ProbeSpec, Role
from fuzzer.observation import Observation
from fuzzer.store import History, Intent, RunRecord, Store, StoreError, audit

KILLS = 25
RECORD = RunRecord(command="bisect", argv=("ctxfuzz",), url="http://h:1", model="m", engine="vllm", plan="bisect")
SPEC = ProbeSpec(length=1000, output_tokens=32, role=Role.SEARCH, reason="halfway")
NOBODY = 65534


def intent(seq: int) -> Intent:
    return Intent(seq, SPEC, started_s=float(seq), sent_tokens=1000, body_sha256="0" * 64, body_bytes=5000)


def test_kill_9_in_the_middle_of_appends_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    chance = random.Random(7)
    lives = [killed(path, chance.uniform(0, 0.08)) for _ in range(KILLS)]
    found = audit(path)
    assert found.problems == []
    assert found.runs == KILLS
    with History.open(path) as history:
        for lines in lives:
            run = lines[0].split()[0]
            assert history.get(run).status == "interrupted"
            acknowledged = {(kind, int(seq)) for _, kind, seq in map(str.split, lines[1:])}
            intents = {("intent", known.seq) for known in history.intents(run)}
            outcomes = {("outcome", seen.seq) for seen in history.observations(run)}
            assert acknowledged <= intents | outcomes
            assert len(intents | outcomes) <= len(acknowledged) + 1  # the one that was on its way
            assert len(history.open_intents(run)) == len(intents) - len(outcomes) <= 1
    assert sum(len(lines) for lines in lives) > KILLS * 2  # they really were in the middle
    with Store.open(path) as store, store.lock(RECORD.url):  # no lock of a killed process is in the way
        assert audit(path).unsealed == sorted(lines[0].split()[0] for lines in lives)


def test_a_full_disk_is_said_and_leaves_no_half_row(tmp_path: Path) -> None:
    with Store.open(tmp_path / "runs.db") as store:
        run = store.begin(RECORD)
        pages = store._db.execute("PRAGMA page_count").fetchone()[0]
        store._db.execute(f"PRAGMA max_page_count = {pages + 3}")
        with pytest.raises(StoreError, match=r"disk, or its quota, is full.*ctxfuzz resume"):
            intend_for_ever(store, run)
        store._db.execute("PRAGMA max_page_count = 100000")
        recorded = len(store.intents(run))
        assert recorded > 0
        store.intend(run, intent(recorded))  # goes on where it stopped
        assert [known.seq for known in store.intents(run)] == list(range(recorded + 1))
    assert audit(tmp_path / "runs.db").problems == []


def test_a_write_that_the_system_refuses_is_said_and_leaves_no_half_row(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    with Store.open(path) as store:
        run = store.begin(RECORD)
        log = path.with_name("runs.db-wal")
        with files_no_larger_than(log.stat().st_size + 20_000):
            with pytest.raises(StoreError, match="the disk failed"):
                intend_for_ever(store, run)
            recorded = len(store.intents(run))
            assert recorded > 0
        store.intend(run, intent(recorded))
        assert len(store.intents(run)) == recorded + 1
    assert audit(path).problems == []


def test_a_read_only_folder_can_be_read_but_not_written() -> None:
    with shared_folder() as folder:
        path = folder / "runs.db"
        with Store.open(path) as store:
            run = store.begin(RECORD)
        before = path.read_bytes()
        path.chmod(0o444)
        folder.chmod(0o555)
        with somebody_else():
            with pytest.raises(StoreError, match=r"read-only.*--db"):
                Store.open(path)
            with pytest.raises(StoreError, match=r"may we write there.*--db"):
                Store.open(folder / "new.db")
            with History.open(path) as history:
                assert history.get("last").run == run
            assert audit(path).unsealed == [run]
        assert path.read_bytes() == before
        assert list(folder.iterdir()) == [path]
        folder.chmod(0o755)


@pytest.mark.parametrize("named", ["runs.db", "elsewhere/link.db"])
def test_a_read_only_folder_with_a_log_that_waits_is_not_read_without_it(named: str) -> None:
    """The log is beside the file itself, whatever it is called by."""
    with shared_folder() as folder:
        path = folder / "runs.db"
        (folder / "elsewhere").mkdir()
        (folder / "elsewhere" / "link.db").symlink_to(path)
        with Store.open(folder / "live.db") as store:
            store.begin(RECORD)
            for name in ("live.db", "live.db-wal"):
                (folder / name.replace("live", "runs")).write_bytes((folder / name).read_bytes())
        folder.chmod(0o555)
        with somebody_else(), pytest.raises(StoreError, match="Copy both"):
            audit(folder / named)
        folder.chmod(0o755)


def test_a_database_may_have_any_name_and_be_reached_by_a_link(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"lat\xedn?#%41 100%.db")
    (tmp_path / "link.db").symlink_to(path)
    with Store.open(tmp_path / "link.db") as store, store.lock(RECORD.url):
        run = store.begin(RECORD)
    for name in (path, tmp_path / "link.db", Path(f"/{path}")):
        assert audit(name).unsealed == [run]
        with Store.open(name) as store:
            assert store.get("last").run == run
    assert {found.name.partition("-")[0] for found in tmp_path.iterdir()} == {path.name, "link.db"}


def test_what_is_no_regular_file_holds_no_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    Path("link").symlink_to("pipe")
    for name in ("pipe", "link", os.devnull, ":memory:"):
        for open_it in (Store.open, History.open, audit):
            with pytest.raises(StoreError, match=r"--db"):
                open_it(Path(name))
    assert {found.name for found in tmp_path.iterdir()} == {"pipe", "link"}


@pytest.mark.parametrize("name", ["file/runs.db", "missing/runs.db", "folder"])
def test_a_place_that_cannot_hold_a_database_is_said(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("in the way")
    (tmp_path / "folder").mkdir()
    with pytest.raises(StoreError, match="--db"):
        Store.open(tmp_path / name)
    with pytest.raises(StoreError, match="--db"):
        History.open(tmp_path / name)


def test_many_processes_make_and_use_one_new_database(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    children = [fork_a_run(path, f"http://h:{port}") for port in range(8)]
    assert [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children] == [0] * 8
    found = audit(path)
    assert (found.problems, found.unsealed, found.runs, found.rows) == ([], [], 8, 8 * 42)


def test_a_database_whose_maker_was_killed_at_its_birth_is_made_by_the_next(tmp_path: Path) -> None:
    begun = 0
    for nth in range(12):
        path = tmp_path / f"{nth}.db"
        begun += len(killed(path, 0.002 * nth, newborn=True)) > 0
        with Store.open(path) as store:
            run = store.begin(RECORD)
        found = audit(path)
        assert found.problems == []
        assert run in found.unsealed
    assert begun < 12


def intend_for_ever(store: Store, run: str) -> None:
    for seq in range(10_000):
        store.intend(run, intent(seq))


def write_for_ever(path: Path, acknowledged: int) -> None:
    """Append probes and outcomes; a line is written to `acknowledged` after each that the store took."""
    with Store.open(path) as store, store.lock(RECORD.url):
        run = store.begin(RECORD)
        os.write(acknowledged, f"{run} begun 0\n".encode())
        for seq in range(1_000_000):
            spec = ProbeSpec(length=1000 + seq, output_tokens=32, role=Role.SEARCH, reason="x" * (seq % 3000))
            store.intend(run, Intent(seq, spec, float(seq), 1000 + seq, "0" * 64, 5000))
            os.write(acknowledged, f"{run} intent {seq}\n".encode())
            seen = Observation(seq, spec, Outcome.PASS, 1000 + seq, "usage", duration_s=0.1 * seq)
            store.complete(run, seen, {"excerpt": "y" * (seq % 2000)})
            os.write(acknowledged, f"{run} outcome {seq}\n".encode())


def killed(path: Path, after_s: float, *, newborn: bool = False) -> list[str]:
    """What a writer was told until it was killed, `after_s` seconds after its run had begun, or after its birth."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(ours)
        try:
            write_for_ever(path, theirs)
        finally:
            os._exit(1)
    os.close(theirs)
    with os.fdopen(ours, "rb") as told:
        first = [] if newborn else [told.readline()]
        time.sleep(after_s)
        os.kill(pid, signal.SIGKILL)
        lines = [*first, *told]
    os.waitpid(pid, 0)
    return [line.decode().strip() for line in lines]


def fork_a_run(path: Path, url: str) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        with Store.open(path) as store, store.lock(url):
            run = store.begin(RunRecord("bisect", (), url, "m", "vllm", "bisect"))
            for seq in range(20):
                store.intend(run, intent(seq))
                store.complete(run, Observation(seq, SPEC, Outcome.PASS, 1000, "usage"), {})
            store.finish(run, None, "done", at_s=1.0)
        os._exit(0)
    except Exception:  # noqa: BLE001  (told, and the exit code says the rest)
        traceback.print_exc()
    finally:
        os._exit(1)


@contextmanager
def files_no_larger_than(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def shared_folder() -> Iterator[Path]:
    """A folder that any user can reach (pytest's own can only be reached by us)."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@contextmanager
def somebody_else() -> Iterator[None]:
    """Without root's power over permission bits; whoever is not root never had it."""
    us = os.geteuid()
    if us:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(us)

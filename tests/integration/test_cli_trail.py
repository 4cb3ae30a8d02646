"""Do audit, export, merge and runs say what they should, in every trouble that a database can be in?"""

from __future__ import annotations

import csv
import io
import json
import os
import resource
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fuzzer.cli import main
from fuzzer.finding import Finding, FindingKind
from fuzzer.model import Outcome, ProbeSpec, Role
from fuzzer.observation import Observation
from fuzzer.store import History, Intent, RunRecord, Store, audit
from fuzzer.store.chain import link
from tests.integration.recorded import HOSTILE, record
from tests.integration.tampering import unguarded

ROOT = Path(__file__).parent.parent.parent
NOBODY = 65534


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


def ctxfuzz(*args: object) -> Result:
    return CliRunner().invoke(main, [str(arg) for arg in args])


def tamper(db: Path, statement: str) -> None:
    with unguarded(db) as other:
        assert other.execute(statement).rowcount > 0


def test_audit_names_the_heads_and_what_it_cannot_see(db: Path) -> None:
    run = record(db)
    with History.open(db) as history:
        seal = history.get(run).seal
    assert seal is not None
    done = ctxfuzz("audit", "--db", db)
    assert done.exit_code == 0
    assert f"{db} is as it was written: 1 run, {seal.rows} rows." in done.stdout
    assert f"head {seal.head}" in done.stdout
    assert "Not seen without a copy of the head" in done.stdout
    expected = ctxfuzz("audit", "--expect", seal.head, "--db", db)
    assert expected.exit_code == 0
    assert "The expected head is there" in expected.stdout


def test_audit_tells_whether_the_expected_head_is_still_the_last_word_of_its_run(db: Path) -> None:
    run = record(db, ending="halted")
    with Store.open(db) as store:
        first = store.get(run).seal
        store.reopen(run, (), at_s=7.0)
        assert first is not None
        open_again = ctxfuzz("audit", "--expect", first.head, "--db", db)
        second = store.finish(run, Finding(FindingKind.NONE, "why"), "done", at_s=8.0)
    sealed_again = ctxfuzz("audit", "--expect", first.head, "--db", db)
    assert (open_again.exit_code, sealed_again.exit_code) == (0, 0)
    assert f"run {run} was resumed after it, and is not sealed again" in open_again.stdout
    assert f"run {run} was resumed after it, and its standing seal is {second.head}" in sealed_again.stdout
    assert f"the standing seal of run {run}" in ctxfuzz("audit", "--expect", second.head, "--db", db).stdout
    told = {}
    for head in (first.head, f" {second.head.upper()}", "0" * 64):
        told[head] = json.loads(ctxfuzz("audit", "--json", "--expect", head, "--db", db).stdout)["expected"]
    assert [(one["run"], one["stands"], one["standing_head"]) for one in told.values()] == [
        (run, False, second.head),
        (run, True, second.head),
        (None, False, None),
    ]


def test_audit_leaves_with_1_and_names_the_first_bad_row(db: Path) -> None:
    first, second = record(db), record(db)
    tamper(db, f"UPDATE deaths SET signature = 'nothing' WHERE run = '{first}'")
    done = ctxfuzz("audit", "--db", db)
    assert done.exit_code == 1
    assert f"run {first}: row 13: its row in deaths, or its link, was changed" in done.stdout
    told = json.loads(ctxfuzz("audit", "--db", db, "--json").stdout)
    assert (told["sound"], told["problems"][0]["position"]) == (False, 13)
    assert ctxfuzz("audit", first[:11] if first[:11] != second[:11] else first, "--db", db).exit_code == 1


def test_audit_of_one_run_is_not_failed_by_another(db: Path) -> None:
    first, second = record(db), record(db)
    tamper(db, f"UPDATE notes SET text = 'nothing' WHERE run = '{second}'")
    assert ctxfuzz("audit", first, "--db", db).exit_code == 0
    assert ctxfuzz("audit", second, "--db", db).exit_code == 1


@pytest.mark.parametrize("name", [None, "last"])
def test_a_cap_that_only_a_view_shows_is_neither_sound_nor_recommended(db: Path, name: str | None) -> None:
    record(db)
    with closing(sqlite3.connect(db)) as other:
        (sql,) = other.execute("SELECT sql FROM sqlite_master WHERE name = 'standing_seals'").fetchone()
        columns = [name for (name,) in other.execute("SELECT name FROM pragma_table_info('seals')")]
        shown = ", ".join(
            """replace(s.finding_json, '"cap":288', '"cap":999999') AS finding_json"""
            if one == "finding_json"
            else f"s.{one}"
            for one in columns
        )
        other.execute("DROP VIEW standing_seals")
        other.execute(sql.replace("s.*", shown))
    done = ctxfuzz("audit", *([name] if name else []), "--db", db)
    assert (done.exit_code, "the view standing_seals is not the one that ctxfuzz makes" in done.stdout) == (1, True)
    for command in (("recommend", "last"), ("show", "last"), ("verify", "--from-run", "last", "--url", "http://h:1")):
        refused = ctxfuzz(*command, "--db", db)
        assert refused.exit_code == 2
        assert "999999" not in refused.output


def test_audit_misses_a_head_that_was_cut_off(db: Path) -> None:
    record(db)
    done = ctxfuzz("audit", "--expect", "0" * 64, "--db", db)
    assert done.exit_code == 1
    assert "no seal has the head" in done.stdout


def test_audit_tells_an_unsealed_run_from_a_broken_one(db: Path) -> None:
    with Store.open(db) as store:
        run = store.begin(RunRecord("bisect", ("ctxfuzz",), "http://h", "m", "vllm", "bisect"))
    done = ctxfuzz("audit", "--db", db)
    assert done.exit_code == 0
    assert f"run {run} is not sealed" in done.stdout


def test_an_exported_run_can_be_checked_with_a_few_lines(db: Path) -> None:
    run = record(db)
    lines = [json.loads(line) for line in ctxfuzz("export", run, "--db", db).stdout.splitlines()]
    previous = ""
    for line in lines:
        assert line["hash"] == link(previous, line["kind"], tuple(line["row"].values()))
        previous = line["hash"]
    assert (lines[0]["kind"], lines[-1]["kind"]) == ("runs", "seals")


def test_nothing_in_a_csv_is_a_formula(db: Path, tmp_path: Path) -> None:
    record(db, model="=HYPERLINK(1)", words="+1+cmd|' /C calc'!A0\nnext")
    listed = list(csv.DictReader(io.StringIO(ctxfuzz("runs", "--db", db, "--csv").stdout)))
    assert [row["model"] for row in listed] == ["'=HYPERLINK(1)"]
    into = tmp_path / "probes.csv"
    assert ctxfuzz("export", "last", "--db", db, "-o", into).exit_code == 0
    with into.open(encoding="utf-8", newline="") as file:
        probes = list(csv.DictReader(file))
    assert [row["length_tokens"] for row in probes] == ["64", "300", "301"]
    assert probes[2]["signature"] == "'+1+cmd|' /C calc'!A0 next"


def test_runs_are_filtered(db: Path) -> None:
    ours = record(db, model="llama-70b")
    record(db, url="http://other:9000")

    def found(*args: str) -> list[str]:
        return [row["run"] for row in json.loads(ctxfuzz("runs", "--db", db, "--json", *args).stdout)]

    assert found("--model", "llama") == [ours]
    assert found("--url", "host:8000") == [ours]
    assert len(found("--finding", "death", "--since", "1h")) == 2
    assert found("--finding", "hang") == []
    assert found("--since", "2999-01-01") == []
    assert "is no moment" in ctxfuzz("runs", "--db", db, "--since", "yesterday").output


def test_show_prints_the_engines_last_words(db: Path) -> None:
    record(db)
    shown = ctxfuzz("show", "last", "--db", db).stdout
    assert "last words at the death of #3:\n  line one\n" in shown
    assert "\x1b" not in shown


def test_a_merge_brings_whole_runs_under_one_seal(db: Path, tmp_path: Path) -> None:
    ours, other = record(db), tmp_path / "other.db"
    theirs = [record(other), record(other)]
    before = audit(db).unnamed | audit(other).unnamed
    done = ctxfuzz("merge", other, "--db", db)
    assert done.exit_code == 0
    assert done.stdout.splitlines() == [f"2 runs came from {other}.", *(f"  {run}" for run in theirs)]
    found = audit(db)
    assert found.sound
    assert found.runs == 4
    assert before <= found.named
    assert len(found.unnamed) == 1, "the seal of the merge covers both trails"
    with History.open(db) as history, History.open(other) as source:
        assert history.get("last").run == max(ours, *theirs), "a merge is not what `last` means"
        for run in theirs:
            assert list(history.links(run)) == list(source.links(run))
    again = ctxfuzz("merge", other, "--db", db)
    assert "0 runs came" in again.stdout
    assert "2 runs had been here already" in again.stdout
    assert audit(db).runs == 4


def test_a_run_that_came_and_is_cut_off_later_is_missed(db: Path, tmp_path: Path) -> None:
    record(db)
    theirs = record(tmp_path / "other.db")
    ctxfuzz("merge", tmp_path / "other.db", "--db", db)
    with unguarded(db) as other:
        tables = [name for (name,) in other.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            columns = [name for (name,) in other.execute("SELECT name FROM pragma_table_info(?)", (table,))]
            if "run" in columns:
                other.execute(f"DELETE FROM {table} WHERE run = ?", (theirs,))
    assert "it names a sealed run whose head was" in ctxfuzz("audit", "--db", db).stdout


def test_a_merge_of_what_does_not_check_or_clashes_takes_nothing(db: Path, tmp_path: Path) -> None:
    run, other = record(db, ending="halted"), tmp_path / "other.db"
    record(other)
    ctxfuzz("merge", db, "--db", other)
    with Store.open(other) as store:  # the same run goes on, there alone
        store.reopen(run, (), at_s=9.0)
    refused = ctxfuzz("merge", other, "--db", db)
    assert refused.exit_code == 2
    assert f"Both databases hold a run {run}, and they are not the same. Nothing was merged" in refused.stderr
    tamper(other, "UPDATE notes SET text = 'nothing'")
    refused = ctxfuzz("merge", other, "--db", db)
    assert "does not check" in refused.stderr
    assert audit(db).runs == 1
    assert ctxfuzz("merge", db, "--db", db).exit_code == 2


def edge_of(db: Path, kind: FindingKind, first_bad: int | None, fail_on: list[str]) -> str:
    """A bisect in which 3,027 tokens are answered with an error, counted or not."""
    question = {"output_tokens": 32, "content": "words", "cache": "cold", "mode": "ids", "fail_on": fail_on}
    with Store.open(db) as store:
        record = RunRecord("bisect", ("ctxfuzz",), "http://h", "m", "vllm", "bisect", question=question)
        run, spec = store.begin(record), ProbeSpec(3_027, 32, Role.SEARCH, "why")
        store.intend(run, Intent(1, spec, 0.0, 3_027, "0" * 64, 5_000))
        store.complete(run, Observation(1, spec, Outcome.ERROR, 3_027, "usage"), {})
        store.finish(run, Finding(kind, "why", last_good=3_026, first_bad=first_bad), "done", at_s=1.0)
    return run


def test_a_diff_of_runs_that_count_other_failures_is_none(db: Path) -> None:
    strict, loose = ["death", "error"], ["death"]
    before = edge_of(db, FindingKind.ERROR, 3_027, strict)
    after = edge_of(db, FindingKind.NONE, None, loose)
    told = ctxfuzz("diff", before, after, "--db", db)
    assert told.exit_code == 3
    assert "cannot be compared: fail_on was death,error and is death" in told.stderr
    assert "better" not in told.output
    again = edge_of(db, FindingKind.ERROR, 3_027, strict)
    assert ctxfuzz("diff", before, again, "--db", db).exit_code == 0


@pytest.mark.parametrize("command", [("runs",), ("show", "last"), ("audit",), ("report", "last"), ("export", "last")])
@pytest.mark.parametrize(
    ("content", "words"),
    [(b"not a database at all" * 99, "is not a database. It was left untouched"), (b"", "holds no runs yet")],
)
def test_a_file_that_is_no_record_is_said_and_left_alone(
    command: tuple[str, ...], content: bytes, words: str, db: Path
) -> None:
    db.write_bytes(content)
    done = ctxfuzz(*command, "--db", db)
    assert done.exit_code == 2
    assert words in done.stderr
    assert db.read_bytes() == content


def test_a_damaged_file_is_said(db: Path) -> None:
    record(db)
    with closing(sqlite3.connect(db)) as other:
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with db.open("r+b") as file:
        file.seek(4096 * 3)
        file.write(os.urandom(4096 * 12))
    done = ctxfuzz("audit", "--db", db)
    assert done.exit_code in {1, 2}
    assert "damaged" in done.output


def test_a_locked_file_is_said_and_nothing_is_lost(db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record(db)
    record(tmp_path / "other.db")
    monkeypatch.setattr("fuzzer.store.connect.BUSY_TIMEOUT_S", 0.1)
    with closing(sqlite3.connect(db, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        refused = ctxfuzz("merge", tmp_path / "other.db", "--db", db)
        assert refused.exit_code == 2
        assert "is locked by another program" in refused.stderr
        assert ctxfuzz("show", "last", "--db", db).exit_code == 0, "readers do not wait"
        other.execute("ROLLBACK")
    assert ctxfuzz("merge", tmp_path / "other.db", "--db", db).exit_code == 0


def test_a_full_disk_in_the_middle_of_a_merge_leaves_all_as_it_was(db: Path, tmp_path: Path) -> None:
    record(db)
    for _ in range(30):
        record(tmp_path / "other.db")
    room = 40_000  # bytes that any file may still take: less than what is to come

    def no_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))

    command = [sys.executable, "-X", "faulthandler", "-m", "fuzzer.cli", "merge", "other.db"]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        preexec_fn=no_room,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr.decode()
    assert b"Traceback" not in done.stderr
    assert audit(db).runs == 1
    assert audit(db).sound
    assert ctxfuzz("merge", tmp_path / "other.db", "--db", db).exit_code == 0
    assert audit(db).runs == 32


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become nobody")
def test_a_read_only_folder_can_be_read_and_says_that_it_cannot_be_written(db: Path, tmp_path: Path) -> None:
    record(db)
    record(tmp_path / "other.db")
    script = f"""
import os
from click.testing import CliRunner
from fuzzer.cli import auditing, main, publishing, read, results, trail
from fuzzer.prompts import errors
from fuzzer.report import html
html._template()  # all that is read from the interpreter's own folders, which nobody may enter
os.setgid({NOBODY})
os.setuid({NOBODY})
for args in (["runs"], ["audit"], ["report", "last"], ["merge", {str(tmp_path / "other.db")!r}]):
    done = CliRunner().invoke(main, [*args, "--db", {str(db)!r}])
    print(args[0], done.exit_code, "read-only" in done.stderr)
"""
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == os.getuid() and folder != Path("/"):
            folder.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd="/",
        env={**os.environ, "PYTHONPATH": str(ROOT), "HOME": "/"},
        capture_output=True,
        check=True,
    )
    assert done.stdout.decode().split("\n")[:4] == ["runs 0 False", "audit 0 False", "report 0 False", "merge 2 True"]


def test_hostile_words_reach_no_terminal(db: Path) -> None:
    record(db, model=HOSTILE)
    for command in (("runs",), ("show", "last"), ("audit",)):
        shown = ctxfuzz(*command, "--db", db).output
        assert "\x1b" not in shown
        assert "\u202e" not in shown

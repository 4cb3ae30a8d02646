"""Does the audit find every kind of tampering, name the first bad row, and stay silent where nobody tampered?"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from fuzzer.evidence import Canary
from fuzzer.finding import Finding, FindingKind
from fuzzer.model import Corroboration, Outcome, ProbeSpec, Role
from fuzzer.observation import Observation
from fuzzer.store import History, Intent, RunRecord, Store, audit
from fuzzer.store.chain import link
from fuzzer.store.records import Ending
from fuzzer.store.tables import LINKED
from targets.base import Health
from tests.integration.tampering import unguarded

RECORD = RunRecord(command="bisect", argv=("ctxfuzz",), url="http://h:1", model="m", engine="vllm", plan="bisect")
SPEC = ProbeSpec(length=1000, output_tokens=32, role=Role.SEARCH, reason="halfway")
FOUND = Finding(FindingKind.NONE, "nothing fails", verified_up_to=1000)

# position: 1 run, 2 intent, 3 outcome, 4 canary, 5 intent, 6 outcome, 7 canary, 8 seal
ROWS = 8


def probe(store: Store, run: str, seq: int) -> None:
    store.intend(run, Intent(seq, SPEC, float(seq), 1000, "0" * 64, 5000))
    store.complete(run, Observation(seq, SPEC, Outcome.PASS, 1000 + seq, "usage", duration_s=1.0), {"status": 200})
    store.canary(run, Canary(ok=True, duration_s=0.25), at_s=float(seq), purpose="after a probe", seq=seq)


def sealed_run(store: Store, ending: Ending = "done", cap: int | None = None) -> str:
    run = store.begin(RECORD)
    probe(store, run, 1)
    probe(store, run, 2)
    store.finish(run, replace(FOUND, cap=cap), ending, at_s=3.0)
    return run


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


@pytest.fixture
def runs(path: Path) -> tuple[str, str, str]:
    with Store.open(path) as store:
        return sealed_run(store), sealed_run(store), sealed_run(store)


def tamper(path: Path, *statements: str) -> None:
    """Change rows as somebody would who knows SQLite well: the guards are taken away first, and put back."""
    with unguarded(path) as other:
        for statement in statements:
            assert other.execute(statement).rowcount > 0, statement


def forge(path: Path, run: str, *, from_position: int) -> None:
    """Compute every link of a run again, from a position on."""
    with unguarded(path) as other:
        other.row_factory = sqlite3.Row
        links = other.execute("SELECT * FROM chain WHERE run = ? ORDER BY position", (run,)).fetchall()
        previous = ""
        for at in links:
            names = [name for (name,) in other.execute("SELECT name FROM pragma_table_info(?)", (at["kind"],))]
            sql = f"SELECT {', '.join(names)} FROM {at['kind']} WHERE run = ? AND position = ?"
            row = tuple(other.execute(sql, (run, at["position"])).fetchone())
            head = link(previous, at["kind"], row) if at["position"] >= from_position else at["hash"]
            other.execute("UPDATE chain SET hash = ? WHERE run = ? AND position = ?", (head, run, at["position"]))
            previous = head


def test_what_nobody_touched_is_sound(path: Path, runs: tuple[str, str, str]) -> None:
    found = audit(path)
    assert (found.problems, found.unsealed, found.runs, found.rows) == ([], [], 3, 3 * ROWS)
    with History.open(path) as history:
        for run in runs:
            seal = history.get(run).seal
            assert seal is not None
            assert audit(path, expect=f" {seal.head.upper()}\n").sound


EDITS: dict[str, tuple[Callable[[str], list[str]], int]] = {
    "a run's url": (lambda run: [f"UPDATE runs SET url = 'http://x' WHERE run = '{run}'"], 1),
    "an outcome": (
        lambda run: [
            f"UPDATE outcomes SET observation_json = replace(observation_json, 'pass', 'death') WHERE run = '{run}'"
        ],
        3,
    ),
    "evidence": (lambda run: [f"UPDATE outcomes SET evidence_json = '{{}}' WHERE run = '{run}' AND seq = 2"], 6),
    "a time": (lambda run: [f"UPDATE canaries SET at_s = at_s + 1e-9 WHERE run = '{run}' AND seq = 2"], 7),
    "a finding": (lambda run: [f"UPDATE seals SET finding_json = NULL WHERE run = '{run}'"], 8),
    "a hash": (lambda run: [f"UPDATE chain SET hash = '{'0' * 64}' WHERE run = '{run}' AND position = 4"], 4),
    "two rows in each other's place": (
        lambda run: [
            f"UPDATE canaries SET position = 99 WHERE run = '{run}' AND position = 4",
            f"UPDATE canaries SET position = 4 WHERE run = '{run}' AND position = 7",
            f"UPDATE canaries SET position = 7 WHERE run = '{run}' AND position = 99",
        ],
        4,
    ),
    "two links in each other's place": (
        lambda run: [
            f"UPDATE chain SET position = 99 WHERE run = '{run}' AND position = 4",
            f"UPDATE chain SET position = 4 WHERE run = '{run}' AND position = 7",
            f"UPDATE chain SET position = 7 WHERE run = '{run}' AND position = 99",
        ],
        4,
    ),
    "a row deleted": (lambda run: [f"DELETE FROM canaries WHERE run = '{run}' AND position = 4"], 4),
    "a link deleted": (lambda run: [f"DELETE FROM chain WHERE run = '{run}' AND position = 4"], 4),
    "a row and its link deleted": (
        lambda run: [f"DELETE FROM {table} WHERE run = '{run}' AND position = 4" for table in ("canaries", "chain")],
        4,
    ),
    "the run's row and its link deleted": (
        lambda run: [f"DELETE FROM {table} WHERE run = '{run}' AND position = 1" for table in ("runs", "chain")],
        1,
    ),
    "the tail deleted, but for the seal": (
        lambda run: [
            f"DELETE FROM {table} WHERE run = '{run}' AND position BETWEEN 5 AND 7"
            for table in ("outcomes", "probes", "canaries", "chain")
        ],
        5,
    ),
    "a row slipped in": (
        lambda run: [
            f"INSERT INTO resumes SELECT run, 9, at_utc, 9.0, argv_json, user, host, '' FROM runs WHERE run = '{run}'"
        ],
        9,
    ),
    "the last link deleted": (lambda run: [f"DELETE FROM chain WHERE run = '{run}' AND position = 8"], 8),
    "a row of one run moved to another table": (
        lambda run: [f"UPDATE chain SET kind = 'notes' WHERE run = '{run}' AND position = 4"],
        4,
    ),
}


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("nth", [0, 2])
def test_tampering_is_found_and_the_first_bad_row_named(
    path: Path, runs: tuple[str, str, str], edit: str, nth: int
) -> None:
    statements, position = EDITS[edit]
    tamper(path, *statements(runs[nth]))
    first = audit(path).problems[0]
    assert (first.run, first.position) == (runs[nth], position), first.what


@pytest.mark.parametrize("table", LINKED)
def test_a_time_changed_in_any_table_is_found(path: Path, table: str) -> None:
    with Store.open(path) as store:
        run = sealed_run(store, "halted")
        store.reopen(run, ("ctxfuzz", "resume"), at_s=3.0)
        store.health(run, Health(at_s=3.0, status=503), at_s=3.0)
        store.death(run, 2, at_s=3.0, corroboration=Corroboration.PROVEN)
        store.revived(run, 2, at_s=4.0, took_s=1.0, came_back=True)
        store.note(run, "text", at_s=4.0)
    assert audit(path).sound
    tamper(path, f"UPDATE {table} SET at_utc = '2020' WHERE position = (SELECT min(position) FROM {table})")
    assert f"its row in {table}" in audit(path).problems[0].what


def test_a_row_that_is_no_runs_is_found(path: Path, runs: tuple[str, str, str]) -> None:
    tamper(path, "INSERT INTO resumes SELECT '', 1, at_utc, 9.0, argv_json, user, host, '' FROM runs LIMIT 1")
    first = audit(path).problems[0]
    assert (first.run, first.position) == ("", 1)
    assert "its row in resumes is not" in first.what


def test_a_run_written_anew_is_told_by_the_runs_after_it(path: Path, runs: tuple[str, str, str]) -> None:
    tamper(path, f"UPDATE outcomes SET evidence_json = '{{}}' WHERE run = '{runs[0]}'")
    forge(path, runs[0], from_position=1)
    problems = audit(path).problems
    assert [(problem.run, problem.position) for problem in problems] == [(runs[1], ROWS)]
    assert "names a sealed run" in problems[0].what


def test_a_whole_run_that_is_gone_is_told_by_the_runs_after_it(path: Path, runs: tuple[str, str, str]) -> None:
    tables = ("seals", "canaries", "outcomes", "probes", "runs", "chain")
    tamper(path, *(f"DELETE FROM {table} WHERE run = '{runs[1]}'" for table in tables))
    problems = audit(path).problems
    assert [(problem.run, problem.position) for problem in problems] == [(runs[2], ROWS), ("", 0)]
    assert f"begun before run {runs[2]} is gone" in problems[1].what


def test_a_cut_tail_is_no_unsealed_run(path: Path, runs: tuple[str, str, str]) -> None:
    with Store.open(path) as store:
        killed = store.begin(RECORD)
        probe(store, killed, 1)
    assert (audit(path).problems, audit(path).unsealed) == ([], [killed])
    for table in ("seals", "canaries", "chain"):
        tamper(path, f"DELETE FROM {table} WHERE run = '{runs[0]}' AND position >= 7")
    found = audit(path)
    assert [(problem.run, problem.position) for problem in found.problems] == [(runs[1], ROWS)]


def test_the_last_end_cut_off_is_told_by_a_copy_of_its_head(path: Path, runs: tuple[str, str, str]) -> None:
    with History.open(path) as history:
        seal = history.get(runs[2]).seal
    assert seal is not None
    for table in ("seals", "chain"):
        tamper(path, f"DELETE FROM {table} WHERE run = '{runs[2]}' AND position = {ROWS}")
    assert audit(path).sound  # nothing inside the file can know
    assert audit(path).unsealed == [runs[2]]
    problems = audit(path, expect=seal.head).problems
    assert [(problem.run, problem.position) for problem in problems] == [("", 0)]


def test_a_run_that_was_resumed_keeps_the_head_that_was_printed_first(path: Path) -> None:
    with Store.open(path) as store:
        run = store.begin(RECORD)
        first = store.finish(run, None, "interrupted", at_s=1.0)
        store.reopen(run, (), at_s=1.0)
        assert audit(path).unsealed == [run]
        probe(store, run, 1)
        last = store.finish(run, FOUND, "done", at_s=2.0)
        sealed_run(store)
    for head in (first.head, last.head):
        assert audit(path, expect=head).sound


def test_a_row_after_a_seal_needs_a_resume(path: Path, runs: tuple[str, str, str]) -> None:
    with unguarded(path) as other:
        other.execute("UPDATE seals SET status = 'halted' WHERE run = ?", (runs[2],))
    with closing(sqlite3.connect(path)) as other:
        other.execute(
            "INSERT INTO notes (run, position, at_utc, at_s, level, text, hint) VALUES (?, 9, '', 0, 'info', 'x', '')",
            (runs[2],),
        )
        other.execute("INSERT INTO chain VALUES (?, 9, 'notes', ?)", (runs[2], "0" * 64))
        other.commit()
    forge(path, runs[2], from_position=ROWS)
    problems = audit(path).problems
    assert [(problem.run, problem.position) for problem in problems] == [(runs[2], 9)]
    assert "cannot stand here" in problems[0].what


def test_a_damaged_file_is_no_sound_one(path: Path, runs: tuple[str, str, str]) -> None:
    with closing(sqlite3.connect(path)) as other:
        root = other.execute("SELECT rootpage FROM sqlite_master WHERE name = 'runs_by_time'").fetchone()[0]
    pages = bytearray(path.read_bytes())
    pages[(root - 1) * 4096 + 8 : root * 4096] = bytes(4088)
    path.write_bytes(pages)
    assert "the file is damaged" in audit(path).problems[0].what


def test_anybody_can_compute_a_link_with_a_few_lines(path: Path, runs: tuple[str, str, str]) -> None:
    with closing(sqlite3.connect(path)) as other:
        other.row_factory = sqlite3.Row
        links = other.execute("SELECT * FROM chain WHERE run = ? ORDER BY position", (runs[0],)).fetchall()
        row = other.execute("SELECT * FROM runs WHERE run = ?", (runs[0],)).fetchone()
    text = json.dumps(tuple(row), separators=(",", ":"))
    assert hashlib.sha256(f"\nruns\n{text}".encode()).hexdigest() == links[0]["hash"]

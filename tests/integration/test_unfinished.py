"""What is said of a run that has come to no finding, and is what it names the way on?"""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fuzzer.cli import main
from fuzzer.model import ProbeSpec, Role
from fuzzer.plans.question import BisectQuestion
from fuzzer.store import Intent, RunRecord, Store
from tests.integration.recorded import record


def ctxfuzz(*args: object) -> Result:
    return CliRunner().invoke(main, [str(arg) for arg in args])


@pytest.fixture
def cut_off(tmp_path: Path) -> str:
    """A run whose only probe left, and of which nothing more is on record."""
    record = RunRecord("bisect", (), "http://h", "m", "vllm", "bisect", question=BisectQuestion(lo=10, hi=90).to_json())
    with Store.open(tmp_path / "runs.db") as store:
        run = store.begin(record)
        store.intend(run, Intent(1, ProbeSpec(90, 32, Role.SEARCH, "why"), 0.0, 90, "0" * 64, 10))
    return run


@pytest.mark.parametrize("command", ["show", "recommend"])
def test_a_run_without_a_finding_names_the_line_that_resumes_it(command: str, cut_off: str, tmp_path: Path) -> None:
    db = tmp_path / "runs.db"
    said = ctxfuzz(command, "last", "--db", db)
    assert said.exit_code == (0 if command == "show" else 3)
    assert f"ctxfuzz resume {cut_off} --db {db}" in said.output
    assert ctxfuzz("resume", cut_off, "--db", db, "--help").exit_code == 0


def test_a_probe_that_left_is_shown_although_nothing_is_known_of_it(cut_off: str, tmp_path: Path) -> None:
    said = ctxfuzz("show", cut_off, "--db", tmp_path / "runs.db")
    assert "#1   search              90 +32   sent; its outcome is not on record yet" in said.output


def test_what_cannot_be_resumed_is_not_said_to_be(tmp_path: Path) -> None:
    with Store.open(tmp_path / "runs.db") as store:
        store.begin(RunRecord("capacity", (), "http://h", "m", "vllm", "capacity"))
    assert "resume" not in ctxfuzz("show", "last", "--db", tmp_path / "runs.db").output


def test_show_does_not_name_itself_as_what_is_next(tmp_path: Path) -> None:
    record(tmp_path / "runs.db")
    said = ctxfuzz("show", "last", "--db", tmp_path / "runs.db").output
    assert "ctxfuzz show" not in said

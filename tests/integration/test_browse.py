"""Does Datasette show the record with its titles, units, facets and links?"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

from fuzzer.cli import browsing, main
from fuzzer.store import History
from tests.integration.recorded import HOSTILE, record

ROOT = Path(__file__).parent.parent.parent


def begun(db: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "fuzzer.cli", "browse", "--db", str(db), "--port", "0"]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=env, start_new_session=True)


def serves_at(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    return next(found[0] for line in process.stderr if (found := re.search(r"http://127\.0\.0\.1:\d+", line)))


@contextmanager
def browsed(db: Path) -> Iterator[httpx.Client]:
    """A client of `ctxfuzz browse`, which ends with Ctrl-C."""
    with begun(db) as process:
        try:
            with httpx.Client(base_url=serves_at(process), trust_env=False) as client:
                yield client
        finally:
            os.killpg(process.pid, signal.SIGINT)
            process.communicate(timeout=30)
    assert process.returncode == 0


def test_the_record_is_shown_with_units_facets_and_links(tmp_path: Path) -> None:
    run = record(tmp_path / "runs.db")
    with browsed(tmp_path / "runs.db") as client:
        for start in (client.get("/").text, client.get("/runs").text):
            assert '<a href="runs/run_states">How did each run go?</a>' in start
        states = client.get("/runs/run_states").text
        assert "How did each run go?" in states
        assert f'<a href="/runs/run?run={run}">{run}</a>' in states
        decisions = client.get(f"/runs/decisions?run={run}").text
        assert f'<a href="/runs/decisions?run={run}&amp;seq=3">3</a>' in decisions
        assert "facet" in decisions
        deaths = client.get("/runs/deaths").text
        assert "3.600&nbsp;s" in deaths
        assert "<summary>" in client.get("/runs/outcomes").text, "JSON is folded"
        told = client.get(f"/runs/run.json?run={run}&_shape=objects").json()
        assert (told["rows"][0]["kind"], told["rows"][-1]["kind"]) == ("run", "seal")
        rows = client.get(f"/runs/run?run={run}").text
        assert f'<a href="/runs/decisions?run={run}&amp;seq=3">3</a>' in rows, "each row of a probe leads to it"


def test_what_a_server_says_is_text_and_nothing_else(tmp_path: Path) -> None:
    record(tmp_path / "runs.db", model=HOSTILE)
    with browsed(tmp_path / "runs.db") as client:
        for table in ("run_states", "deaths", "outcomes", "timeline"):
            page = client.get(f"/runs/{table}").text
            rows = page[page.index("<tbody>") : page.index("</tbody>")]
            assert "<script>alert" not in page
            assert "<img" not in page
            assert "\x1b" not in rows
            assert "\u202e" not in rows, "else the rest of the line is written backwards"


def test_it_takes_its_server_along_when_it_is_told_to_end(tmp_path: Path) -> None:
    record(tmp_path / "runs.db")
    with begun(tmp_path / "runs.db") as process:
        url = serves_at(process)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
    assert process.returncode == 130
    with pytest.raises(httpx.ConnectError):
        httpx.get(url, trust_env=False)


def test_a_port_that_is_taken_is_a_usage_fault_as_it_is_everywhere(tmp_path: Path) -> None:
    record(tmp_path / "runs.db")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = CliRunner().invoke(main, ["browse", "--db", str(tmp_path / "runs.db"), "--port", str(port)])
    assert (done.exit_code, done.stdout) == (2, "")
    assert f"127.0.0.1:{port} cannot be listened on: Address already in use" in done.stderr


def test_no_exit_code_of_datasette_is_taken_for_one_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record(tmp_path / "runs.db")
    monkeypatch.setattr(sys, "executable", "/bin/false")
    done = CliRunner().invoke(main, ["browse", "--db", str(tmp_path / "runs.db"), "--port", "0"])
    assert done.exit_code == 2
    assert "Datasette did not serve (it left with 1)" in done.stderr


def test_every_table_is_described(tmp_path: Path) -> None:
    record(tmp_path / "runs.db")
    with History.open(tmp_path / "runs.db") as history:
        columns = history.columns()
    tables = browsing.metadata("runs", columns)["databases"]["runs"]["tables"]
    assert columns.keys() - tables.keys() <= {"resumes", "notes", "standing_seals", "_sqlite_migrations"}
    for name, (_, facets, sort) in browsing.TABLES.items():
        assert {*facets, sort} <= set(columns[name]), name


def test_what_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record(tmp_path / "runs.db")
    monkeypatch.setattr(browsing, "find_spec", lambda _: None)
    done = CliRunner().invoke(main, ["browse", "--db", str(tmp_path / "runs.db")])
    assert done.exit_code == 2
    assert "pip install 'ctxfuzz[browse]'" in done.stderr

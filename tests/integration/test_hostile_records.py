"""Is a record of a stranger's shown without its teeth, whatever stands in whichever text of it?

Every hash of it fits: it is what a colleague sends whose machine is another's.
"""

from __future__ import annotations

import json
import shlex
import shutil
import sqlite3
import unicodedata
from contextlib import closing
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner, Result
from sqlite_utils import Database

from fuzzer.cli import main
from fuzzer.report.plain import HIDDEN
from fuzzer.store import Store, StoreError, audit
from fuzzer.store.tables import LINKED, stored_columns
from tests.integration.recorded import record
from tests.integration.tampering import forged
from tests.integration.test_report import Page, is_inert_markdown

TEETH = (
    "\x1b]0;own\x07\x9b2J\u202e\u2028a$(touch PWNED)`id`'\"\n\n# head\n- <img src=x onerror=alert(1)> **bold** "
    "![i](http://e.example/i) | www.e.example @m closes #1\n\n    code\n<!-- x\r\n=HYPERLINK(1)"
)
COMMANDS = (
    *("runs", "runs --csv", "runs --json", "show RUN", "show RUN --json", "show RUN --why", "diff RUN RUN"),
    *("report RUN", *(f"report RUN --format {kind}" for kind in ("md", "junit", "json"))),
    *(f"recommend RUN --format {kind}" for kind in ("flags", "env", "helm", "litellm", "json")),
    *("verify --url http://127.0.0.1:9 --from-run RUN --dry-run", "audit", "export RUN", "export RUN --format csv"),
)
Cell = tuple[str, str, str | None]  # a table, its column, and a place in its JSON


def ctxfuzz(command: str, run: str, db: Path) -> Result:
    done = CliRunner().invoke(main, [run if word == "RUN" else word for word in [*command.split(), "--db", str(db)]])
    assert isinstance(done.exception, SystemExit | None), (command, done.exception)
    return done


def texts(path: Path) -> list[Cell]:
    """Every text of a record, but for the hashes of it and the names that bind its rows."""
    found: list[Cell] = []
    with closing(sqlite3.connect(path)) as other:
        for table in LINKED:
            for column in stored_columns(Database(other), table):
                if column.endswith("_json"):
                    leaves = "SELECT DISTINCT fullkey FROM {0}, json_tree({1}) WHERE json_tree.type = 'text'"
                    found += [(table, column, key) for (key,) in other.execute(leaves.format(table, column))]
                elif column != "run" and other.execute(f"SELECT typeof({column}) FROM {table}").fetchone() == ("text",):
                    found.append((table, column, None))
    return [cell for cell in found if cell[:2] not in {("seals", "status"), ("seals", "previous_heads_json")}]


def inert(command: str, done: Result, cell: object = None) -> None:
    """Nothing moves a cursor, no line of a shell does what it does not say, and each format is what it is."""
    for text in (done.stdout.replace("\r\n", "\n"), done.stderr):
        moving = {char for char in text if char != "\n" and ((char.isspace() and char != " ") or hidden(char))}
        assert not moving, (command, cell)
        for line in text.splitlines():
            if line.strip().startswith("ctxfuzz "):
                assert not any("$(touch" in word and "PWNED)" not in word for word in shlex.split(line, comments=True))
    if done.stdout:
        FORMATS.get(command.partition("RUN")[2].strip() if command.startswith("report") else command, len)(done.stdout)


def hidden(char: str) -> bool:
    return not char.isspace() and unicodedata.category(char) in HIDDEN


def is_page(text: str) -> None:
    page = Page(text)
    assert not {tag for tag, _ in page.elements} & {"script", "img", "iframe", "object", "link", "a", "form"}
    assert not any(name.startswith("on") for _, has in page.elements for name in has)


FORMATS: dict[str, Any] = {
    "": is_page,
    "--format md": is_inert_markdown,
    "--format junit": ET.fromstring,
    "--format json": json.loads,
}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A record with a row in every table, and its run."""
    path = tmp_path_factory.mktemp("told") / "runs.db"
    run = record(path, ending="halted", words="CUDA error")
    with Store.open(path) as store:
        found = store.get(run).finding
        store.reopen(run, ("ctxfuzz", "resume"), at_s=7.0)
        store.finish(run, found, "done", at_s=8.0)
    return path, run


@pytest.fixture(scope="module")
def planted(told: tuple[Path, str]) -> tuple[Path, set[Cell]]:
    """The record with teeth in each text with which it can still be read, and which ones these are. Of the others the
    sentence is looked at that says so.
    """
    path, run = told
    db, found = Path(shutil.copy(path, path.with_name("planted.db"))), set()
    for cell in texts(path):
        table, column, key = cell
        with closing(sqlite3.connect(db)) as other:
            before = other.execute(f"SELECT rowid, {column} FROM {table}").fetchall()
        with forged(db) as other:
            new = "?" if key is None else f"json_set({column}, '{key}', ?)"
            other.execute(f"UPDATE {table} SET {column} = {new}", (TEETH,))
        done = ctxfuzz("show RUN", run, db)
        inert("show RUN", done, cell)
        if done.exit_code == 0:
            found.add(cell)
            continue
        with forged(db) as other:
            other.executemany(f"UPDATE {table} SET {column} = ?2 WHERE rowid = ?1", before)
    assert audit(db).sound
    return db, found


def test_teeth_are_in_all_that_is_shown(planted: tuple[Path, set[Cell]]) -> None:
    assert {(table, column) for table, column, _ in planted[1]} >= {
        *(("runs", column) for column in ("at_utc", "command", "argv_json", "url", "model", "engine", "user", "host")),
        *(("deaths", "last_words"), ("deaths", "signature"), ("notes", "text"), ("seals", "finding_json")),
        *(("probes", "spec_json"), ("outcomes", "observation_json"), ("health_events", "detail")),
    }


@pytest.mark.parametrize("plan", [None, "bisect"])
@pytest.mark.parametrize("command", COMMANDS)
def test_no_text_of_a_record_does_anything_in_any_form_of_output(
    told: tuple[Path, str], planted: tuple[Path, set[Cell]], tmp_path: Path, command: str, plan: str | None
) -> None:
    db = Path(shutil.copy(planted[0], tmp_path / "runs.db"))
    if plan is not None:
        with forged(db) as other:
            other.execute("UPDATE runs SET plan = ?", (plan,))
    done = ctxfuzz(command, told[1], db)
    inert(command, done)
    assert done.exit_code == 0 or not command.startswith(("runs", "report", "audit", "export")), done.stderr


@pytest.mark.parametrize(
    "name", ["a$(touch${IFS}PWNED)b", "a\n\n# head", "\x1b[2J", "../up", "1m8mcp0qyxwb\n", "-o", "last"]
)
def test_a_run_is_named_as_ctxfuzz_names_runs_or_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    db = tmp_path / "runs.db"
    with monkeypatch.context() as patched:
        patched.setattr("fuzzer.store.store.new_run_id", lambda: name)
        record(db)
    [problem] = audit(db).problems
    assert (problem.run, problem.what) == (name, "ctxfuzz names no run so")
    assert ctxfuzz("audit", name, db).exit_code == 1
    with Store.open(tmp_path / "ours.db") as ours, pytest.raises(StoreError, match="ctxfuzz names no run so"):
        ours.merge(db, ())
    for command in COMMANDS:
        done = ctxfuzz(command.replace("RUN", "last"), name, db)
        inert(command, done) if not command.startswith("export") else None
        if command.startswith(("show", "report", "recommend", "verify", "diff")):
            assert (done.exit_code, done.stdout) == (2, ""), command
            assert "ctxfuzz names no run so" in done.stderr
        assert not any(f"ctxfuzz {word} {name}" in done.output for word in ("audit", "export", "show", "replay"))
    listed = ctxfuzz("runs --json", name, db)
    assert json.loads(listed.stdout) == []
    assert "warning: Run " in listed.stderr

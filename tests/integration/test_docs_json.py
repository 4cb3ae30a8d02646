"""Does the page on JSON name every key that is printed, and those of the finding in their order?"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from fuzzer.before.inspection import Beyond, Facts, conclude
from fuzzer.before.preflight import Company
from fuzzer.cli import main, results
from fuzzer.cli.replaying import replay_object
from fuzzer.model import Outcome, ProbeSpec, Role
from fuzzer.plans.again import AgainQuestion
from fuzzer.plans.forecast import Forecast
from fuzzer.report.inspection import inspection_object
from fuzzer.store import History
from targets.base import Survey
from tests.integration.recorded import record

PAGE = (Path(__file__).parents[2] / "docs" / "json.md").read_text(encoding="utf-8")
TABLE, REST = PAGE.split("## No finding")
FREE = {"conditions", "probes", "limits", "adds", "argv"}  # what is in these is told elsewhere, or is anybody's


def keys(value: Any) -> Iterator[str]:
    """Every key in it, but for those that are free."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            if key not in FREE:
                yield from keys(item)
    elif isinstance(value, list):
        for item in value:
            yield from keys(item)


def told(*marks: str) -> set[str]:
    """What stands in backticks in the paragraphs with one of these in them."""
    found = [paragraph for paragraph in REST.split("\n\n") if any(mark in paragraph for mark in marks)]
    assert found, marks
    return {word for text in found for span in re.findall(r"`([^`]+)`", text) for word in re.findall(r"\w+", span)}


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("json") / "runs.db"
    record(path)
    record(path)
    return path


def printed(*args: object) -> Any:
    return json.loads(CliRunner().invoke(main, [str(arg) for arg in args]).stdout)


def test_the_finding_has_these_keys_in_this_order(db: Path) -> None:
    named = [key for row in re.findall(r"^\| (`[^|]+) \|", TABLE, re.MULTILINE) for key in re.findall(r"`(\w+)`", row)]
    assert named == list(printed("show", "last", "--json", "--db", db)["finding"])


def test_runs_and_one_run(db: Path) -> None:
    assert set(keys(printed("runs", "--json", "--db", db))) <= told("`ctxfuzz runs --json`")
    shown = printed("show", "last", "--json", "--db", db)
    assert shown["last_words"]
    del shown["finding"]
    assert set(keys(shown)) - {"schema"} <= told("`ctxfuzz.run/1`", "`ctxfuzz runs --json`")
    seen = ("seq", "spec", "outcome", "length", "length_source", "reason")
    assert set(seen) <= told("`ctxfuzz.run/1`") & shown["probes"][0].keys()


def test_what_is_read_from_the_record(db: Path, tmp_path: Path) -> None:
    with History.open(db) as history:
        first, last = (run.run for run in reversed(history.runs()))
        seal = history.get(last).seal
    assert seal is not None
    copy = tmp_path / "runs.db"
    copy.write_bytes(db.read_bytes())
    audited = printed("audit", "--json", "--expect", seal.head, "--db", copy)
    refused = printed("audit", "--json", "--expect", "0" * 64, "--db", copy)
    assert set(keys([audited, refused])) - {"schema"} <= told("`ctxfuzz.audit/1`")
    recommended = printed("recommend", last, "--format", "json", "--db", db)
    assert recommended.keys() - {"schema"} <= told("`ctxfuzz.recommendation/1`")
    differs = printed("diff", first, last, "--json", "--db", db)
    assert set(keys(differs)) - {"schema"} <= told("`ctxfuzz.diff/1`")


def test_what_is_expected_and_what_holds(capsys: pytest.CaptureFixture[str]) -> None:
    results.emit_forecast(Forecast(9, 1, None), 12, as_json=True)
    ahead = json.loads(capsys.readouterr().out)
    assert set(keys(ahead)) - {"schema"} <= told("`ctxfuzz.forecast/1`")
    planned = printed("plan", "--lo", "100", "--hi", "4000", "--suspect", "2048", "--json")
    assert set(keys(planned)) - {"schema"} <= told("`ctxfuzz.forecast/1`", "`ctxfuzz.plan/1`")
    assert set(keys(printed("config", "--json", "runs"))) - {"schema"} <= told("`ctxfuzz.config/1`")
    results.emit_fault("words", 4)
    assert set(keys(json.loads(capsys.readouterr().out))) <= told("an interrupt")


def test_what_an_inspection_and_a_replay_tell() -> None:
    facts = Facts("http://h:1", Survey("vllm"), Company(1), beyond=Beyond(4097, "rejected", "400", 4096))
    assert set(keys(inspection_object(conclude(facts)))) - {"schema"} <= told("`ctxfuzz.inspection/1`")
    again = AgainQuestion("1m8abc", 3, ProbeSpec(300, 32, Role.SEARCH, ""), Outcome.DEATH)
    assert set(keys(replay_object(again, Outcome.PASS))) <= told("`ctxfuzz replay RUN:NUMBER --json`")


def test_flags_that_cannot_be_taken_leave_stdout_empty() -> None:
    for wrong in (["--lo", "400", "--hi", "100"], ["--lo", "100"], ["--lo", "100", "--hi", "x"]):
        done = CliRunner().invoke(main, ["bisect", "--url", "http://127.0.0.1:9", "--json", *wrong])
        assert (done.exit_code, done.stdout) == (2, "")

"""Do the steps of a release gate work as real commands against simulated engines that really die?"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import anyio
import pytest
from click.testing import CliRunner

from fuzzer.cli import concluding, main, opening, questions
from fuzzer.cli.common import CommonFlags
from fuzzer.cli.exits import Exit
from fuzzer.cli.verify import Fix, asked_of
from fuzzer.errors import RunStopped, UsageFault
from fuzzer.finding import Finding, FindingKind
from fuzzer.model import Role
from fuzzer.plans.verify import VerifyQuestion, checks
from fuzzer.store import History, RunRecord, Store
from targets.sim import running
from targets.sim.world import World
from tests import forked
from tests.integration.playing import QUICK

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]
DRAFTER = {"draft": {"k": 3, "acceptance_length": 1.45}, "restart": {"delay_s": 0.1}}
DIES = {"rules": [{"when": "SPEC and P > 300", "symptom": "death", "last_words": "CUDA error"}]}
OPEN = World.from_dict({"limit": {"tokens": 4096}, **DRAFTER, **DIES})
CAPPED = World.from_dict({"limit": {"tokens": 288}, **DRAFTER, **DIES})
WITHOUT_DRAFTER = World.from_dict({"limit": {"tokens": 4096}})


async def ctxfuzz(folder: Path, *args: str) -> subprocess.CompletedProcess[bytes]:
    kept = {name: value for name, value in os.environ.items() if name != "OPENAI_API_KEY"}
    command = [sys.executable, "-m", "fuzzer.cli", *args]
    return await forked.run_process(command, cwd=folder, env={**kept, "PYTHONPATH": str(ROOT)})


async def verified(world: World, folder: Path, cap: int, first_bad: int | None = None) -> tuple[Finding, int]:
    """What comes of a verification, and how many engines died of it."""
    async with running(world) as simulation:
        flags = CommonFlags(url=simulation.url, db=folder / "runs.db", mode="ids")
        async with opening.opened(flags, pace=QUICK, sample_s=0.1) as opened:
            asked = questions.to_verify(opened, cap, first_bad)
            result = await opened.run("verify", questions.Asked("verify", asked), (), anyio.Event())
        return result.finding, simulation.deaths


async def test_a_sweep_prints_its_table_and_spends_one_death(tmp_path: Path) -> None:
    async with running(OPEN) as simulation:
        ended = await ctxfuzz(
            tmp_path, "sweep", "--url", simulation.url, "--lengths", "100,250,400,4000", "--content", "copy,words",
            "--json", "-q",
        )  # fmt: skip
        assert simulation.deaths == 1
    assert ended.returncode == 0, ended.stderr.decode()
    made = json.loads(ended.stdout)
    assert made["schema"] == "ctxfuzz.sweep/1"
    assert [(row["length"], row["content"], row["outcome"]) for row in made["rows"]] == [
        (100, "copy", "pass"), (100, "words", "pass"), (250, "copy", "pass"), (250, "words", "pass"),
        (400, "copy", "death"),
    ]  # fmt: skip
    assert all(1 < row["mean_acceptance_length"] < 4 for row in made["rows"][:4])
    assert (made["last_good"], made["first_bad"]) == (250, 400)


@pytest.mark.timeout(240)
async def test_from_the_edge_to_its_cause_its_cap_and_the_gate(tmp_path: Path) -> None:
    async with running(OPEN) as simulation, running(WITHOUT_DRAFTER) as control:
        found = await ctxfuzz(
            tmp_path, "bisect", "--url", simulation.url, "--lo", "200", "--hi", "400", "--suspect", "300",
            "--confidence", "0.5", "--control", f"plain={control.url}", "--json", "-q",
        )  # fmt: skip
        assert control.deaths == 0
    edge = json.loads(found.stdout)
    assert (edge["last_good"], edge["first_bad"], edge["recommended_max_model_len"]) == (300, 301, 288)
    assert edge["attribution"]["blame"] == "drafter"
    assert edge["attribution"]["controls"][0]["finding"] == "none"

    shown = await ctxfuzz(tmp_path, "show", edge["run"], "--json")
    assert json.loads(shown.stdout)["attribution"] == edge["attribution"]

    flags = await ctxfuzz(tmp_path, "recommend", edge["run"])
    assert b"--speculative-config names a max_model_len, lower it too" in flags.stderr
    assert flags.stdout.decode() == "--max-model-len 288\n"
    split = await ctxfuzz(tmp_path, "recommend", edge["run"], "--format", "litellm")
    assert f'api_base: "{control.url}/v1"'.encode() in split.stdout

    async with running(CAPPED) as capped:
        gate = await ctxfuzz(
            tmp_path, "verify", "--url", capped.url, "--from-run", edge["run"], "--mode", "ids", "--junit", "gate.xml",
        )  # fmt: skip
        assert capped.deaths == 0
        assert max(record.prompt_tokens for record in capped.log) == 2 * 301
    assert gate.returncode == 0, gate.stdout.decode()
    assert gate.stdout.decode().splitlines()[-1].startswith("the cap holds")
    assert ET.fromstring((tmp_path / "gate.xml").read_text()).get("failures") == "0"


async def test_a_cap_is_verified_under_the_conditions_that_it_was_found_under(tmp_path: Path) -> None:
    conditions = {"output_tokens": 16, "content": "repeat", "cache": "mixed", "companions": 1, "companion_length": 48}
    with Store.open(tmp_path / "runs.db") as store:
        record = RunRecord("bisect", ("ctxfuzz",), "http://host", "sim", "vllm", "bisect", question=conditions)
        run = store.begin(record)
        store.finish(run, Finding(FindingKind.DEATH, "why", last_good=300, first_bad=301, cap=288), "done", at_s=1.0)
    async with running(CAPPED) as capped:
        verify = ("verify", "--url", capped.url, "--from-run", run, "--mode", "ids", "-q", "--json")
        as_found = json.loads((await ctxfuzz(tmp_path, *verify)).stdout)
        as_told = json.loads((await ctxfuzz(tmp_path, *verify, "--content", "words", "--cache", "cold")).stdout)
    assert as_found["holds"]
    names = ("output_tokens", "content", "cache", "concurrency")
    assert [as_found["conditions"][name] for name in names] == [16, "repeat", "warm", 2]
    assert [as_told["conditions"][name] for name in names] == [16, "words", "cold", 2]
    assert "ids: 272 + 16, into the cache" in {check["name"] for check in as_found["checks"]}


async def test_an_open_window_fails_the_gate_before_anything_is_sent(tmp_path: Path) -> None:
    async with running(OPEN) as simulation:
        ended = await ctxfuzz(tmp_path, "verify", "--url", simulation.url, "--cap", "288", "-q")
        assert simulation.log == []
        assert simulation.deaths == 0
    assert ended.returncode == 1
    assert "the cap is not in force" in ended.stdout.decode()


async def test_a_gate_that_came_to_no_end_leaves_no_older_result_behind(tmp_path: Path) -> None:
    gate = tmp_path / "gate.xml"
    gate.write_text('<testsuites tests="1" failures="0" errors="0"/>')
    nobody = "http://127.0.0.1:1"
    ended = await ctxfuzz(tmp_path, "verify", "--url", nobody, "--cap", "288", "--junit", "gate.xml", "-q")
    assert ended.returncode == 4
    assert ET.fromstring(gate.read_text()).get("errors") == "1"
    assert "Nobody listens at http://127.0.0.1:1" in why_of(gate)


def why_of(gate: Path) -> str:
    """Why no result stands in a JUnit file."""
    (error,) = ET.fromstring(gate.read_text()).iter("error")
    return error.get("message", "")


GREEN = '<testsuites tests="1" failures="0" errors="0"/>'


@pytest.mark.parametrize(
    ("args", "variables"),
    [
        (["--from-run", "nope"], {}),
        (["--cap", "288", "--from-run", "last"], {}),
        (["--cap", "many"], {}),
        (["--cap", "288", "--frist-bad", "301"], {}),
        (["--cap", "288", "--companions"], {}),
        (["--target", "nowhere"], {}),
        ([], {"CTXFUZZ_CAP": "many"}),
        (["--db", "gate.xml", "--from-run", "last"], {}),
    ],
)
@pytest.mark.parametrize("told", [["--junit", "gate.xml"], ["--junit=gate.xml"], []])
def test_a_gate_that_was_not_asked_properly_leaves_no_older_result_behind(
    args: list[str], variables: dict[str, str], told: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    gate = Path("gate.xml")
    gate.write_text(GREEN)
    url = ["--url", "http://127.0.0.1:1"]
    env = variables if told else {**variables, "CTXFUZZ_JUNIT": "gate.xml"}
    ended = CliRunner().invoke(main, ["verify", *told, *url, *args], env=env)
    assert ended.exit_code == 2, ended.output
    assert ET.fromstring(gate.read_text()).get("errors") == "1"
    said = " ".join(ended.stderr.split())
    assert " ".join(why_of(gate).split()) in said
    assert "has not come to an end" not in why_of(gate)


@pytest.mark.parametrize("args", [["--cap", "5"], ["--url", "http://h", "--cap", "many"], ["--target", "nowhere"]])
def test_a_gate_that_has_no_file_is_not_asked_properly_either(
    args: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It left with 1, which says that the cap does not hold."""
    monkeypatch.chdir(tmp_path)
    ended = CliRunner().invoke(main, ["verify", *args])
    assert (ended.exit_code, list(tmp_path.iterdir())) == (2, [])
    assert "Error: " in ended.stderr


def test_a_gate_whose_profile_names_its_file_leaves_no_older_result_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ctxfuzz.toml").write_text('[targets.t]\njunit = "gate.xml"\nurl = "http://127.0.0.1:1"\n')
    assert CliRunner().invoke(main, ["verify", "--target", "t", "--cap", "many"]).exit_code == 2
    assert ET.fromstring(Path("gate.xml").read_text()).get("errors") == "1"


def test_only_a_gate_that_is_asked_touches_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    gate, database = Path("gate.xml"), Path("runs.db")
    gate.write_text(GREEN)
    assert CliRunner().invoke(main, ["verify", "--junit", "gate.xml", "--help"]).exit_code == 0
    assert gate.read_text() == GREEN
    database.write_bytes(b"SQLite format 3\0")
    assert CliRunner().invoke(main, ["verify", "--junit", "runs.db", "--cap", "many"]).exit_code == 2
    assert database.read_bytes() == b"SQLite format 3\0"


async def test_a_gate_that_was_interrupted_writes_its_file_when_it_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gate = tmp_path / "gate.xml"
    gate.write_text(GREEN)
    async with running(CAPPED) as simulation:
        command = [sys.executable, "-m", "fuzzer.cli", "verify", "--url", simulation.url, "--cap", "288"]
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        options = ["--mode", "ids", "--junit", "gate.xml"]
        async with await anyio.open_process([*command, *options], cwd=tmp_path, env=env) as process:
            assert process.stderr is not None
            with anyio.fail_after(60):
                while b"#1 " not in await process.stderr.receive():
                    pass
            process.send_signal(signal.SIGTERM)
            assert await process.wait() == 130
        assert ET.fromstring(gate.read_text()).get("errors") == "1"
        with History.open(tmp_path / "runs.db") as history:
            run = history.get("last")
        flags = CommonFlags(url=simulation.url, db=tmp_path / "runs.db", quiet=True).restored(run.record.settings)
        async with opening.opened(flags, pace=QUICK, sample_s=0.1) as opened:
            result = await opened.resume(run, questions.recorded(run), (), anyio.Event())
    assert concluding.conclude(flags, result, None, next_=(), junit=None) == Exit.ANSWERED
    suites = ET.fromstring(written := gate.read_text())
    assert (suites.get("failures"), suites.get("errors")) == ("0", "0")
    gate.write_bytes(b"SQLite format 3\0")  # on this host the name is another's
    with pytest.raises(UsageFault, match="would be lost"):
        concluding.conclude(flags, result, None, next_=(), junit=None)
    assert gate.read_bytes() == b"SQLite format 3\0"
    gate.unlink()
    gate.mkdir()  # the file cannot be written any more
    capsys.readouterr()
    with pytest.raises(UsageFault, match="ctxfuzz report RUN -o FILE"):
        concluding.conclude(flags, result, None, next_=(), junit=None)
    assert "the cap holds" in capsys.readouterr().out
    reported = await ctxfuzz(tmp_path, "report", "last", "--format", "junit")
    assert reported.stdout.decode().strip() == written.strip()


@pytest.mark.parametrize(
    ("found_by", "words"),
    [
        ({}, ""),
        ({"engine_version": "0.31.0"}, "version was 0.31.0 and is 0.32.0"),
        ({"engine_version": None}, "version was not told and is 0.32.0"),
        ({"engine": "sglang"}, "engine was sglang and is vllm"),
    ],
)
async def test_a_cap_of_another_build_may_be_verified_and_one_of_another_model_may_not(
    found_by: dict[str, Any], words: str, tmp_path: Path
) -> None:
    cap = Finding(FindingKind.DEATH, "why", last_good=300, first_bad=301, cap=288)
    record = RunRecord("bisect", ("ctxfuzz",), "http://host", "sim", "vllm", "bisect", "0.32.0")
    with Store.open(tmp_path / "runs.db") as store:
        run = store.begin(replace(record, **found_by))
        store.finish(run, cap, "done", at_s=1.0)
        others = store.begin(replace(record, model="llama"))
        store.finish(others, cap, "done", at_s=1.0)
        found, others_found = store.get(run), store.get(others)
    async with running(CAPPED) as simulation:
        flags = CommonFlags(url=simulation.url, db=tmp_path / "runs.db", mode="ids")
        async with opening.opened(flags, pace=QUICK, sample_s=0.1) as opened:
            assert asked_of(Fix(288, 301, flags, found), opened).another_build == words
            with pytest.raises(RunStopped, match="for the model llama, and this is sim"):
                asked_of(Fix(288, 301, flags, others_found), opened)


async def test_a_length_that_the_cap_admits_is_not_where_it_used_to_fail(tmp_path: Path) -> None:
    ended = await ctxfuzz(tmp_path, "verify", "--url", "http://127.0.0.1:1", "--cap", "288", "--first-bad", "250")
    assert ended.returncode == 2
    assert b"--first-bad 250 is a length that --cap 288 admits" in ended.stderr


@pytest.mark.parametrize("cap", [288, 300])
async def test_an_open_window_that_nobody_advertises_fails_the_gate_without_a_death(tmp_path: Path, cap: int) -> None:
    world = World.from_dict({"limit": {"tokens": 4096, "advertised": 0}, **DRAFTER, **DIES})
    finding, deaths = await verified(world, tmp_path, cap, 301)
    assert deaths == 0
    assert finding.cap is None
    assert "the cap is not in force" in finding.reason


async def test_a_cap_above_the_edge_fails_the_gate_at_the_first_death(tmp_path: Path) -> None:
    world = World.from_dict({"limit": {"tokens": 400}, **DRAFTER, **DIES})
    finding, deaths = await verified(world, tmp_path, 400)
    assert deaths == 1
    assert (finding.kind, finding.first_bad) == (FindingKind.DEATH, 400 - 32)


@pytest.mark.parametrize("sum_over", ["clamp", "refuse"])
async def test_chat_and_text_are_asked_at_their_exact_lengths(tmp_path: Path, sum_over: str) -> None:
    """The template's overhead is learnt in each mode, so that no refusal of our own making fails the gate."""
    world = World.from_dict({"limit": {"tokens": 288, "sum_over": sum_over}, **DRAFTER})
    async with running(world) as simulation:
        flags = CommonFlags(url=simulation.url, db=tmp_path / "runs.db")
        async with opening.opened(flags, pace=QUICK, sample_s=0.1) as opened:
            asked = questions.to_verify(opened, 288, None)
            result = await opened.run("verify", questions.Asked("verify", asked), (), anyio.Event())
    assert asked.modes == ("ids", "text", "chat")
    assert result.finding.cap == 288, result.finding.reason
    fits = [seen for seen in result.observations if seen.spec.role is Role.FIT and seen.outcome == "pass"]
    assert {(seen.spec.mode, seen.length) for seen in fits} >= {("text", 287), ("chat", 287), ("ids", 287)}
    question = VerifyQuestion.from_json(result.run_row.record.question)
    assert all(check.result == "ok" for check in checks(question, result.observations))


@pytest.mark.parametrize("also", [["--from", "3"], ["--to", "9"], ["--from", "3", "--to", "9"]])
def test_lengths_that_are_told_twice_are_refused_before_anybody_is_asked(also: list[str]) -> None:
    ended = CliRunner().invoke(main, ["sweep", "--url", "http://127.0.0.1:1", "--lengths", "5", *also])
    assert ended.exit_code == 2
    assert "either it, or --from and --to" in ended.stderr

"""Do the steps of a release gate work as real commands against simulated engines that really die?"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import anyio
import pytest

from fuzzer.cli import questions, session
from fuzzer.cli.flags import CommonFlags
from fuzzer.finding import Finding, FindingKind
from fuzzer.model import Role
from fuzzer.plans.verify import VerifyQuestion, checks
from fuzzer.store import RunRecord, Store
from targets.sim import running
from targets.sim.world import World
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
    return await anyio.run_process(command, cwd=folder, env={**kept, "PYTHONPATH": str(ROOT)}, check=False)


async def verified(world: World, folder: Path, cap: int, first_bad: int | None = None) -> tuple[Finding, int]:
    """What comes of a verification, and how many engines died of it."""
    async with running(world) as simulation:
        flags = CommonFlags(url=simulation.url, db=folder / "runs.db", mode="ids")
        async with session.opened(flags, pace=QUICK, sample_s=0.1) as opened:
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
        async with session.opened(flags, pace=QUICK, sample_s=0.1) as opened:
            asked = questions.to_verify(opened, 288, None)
            result = await opened.run("verify", questions.Asked("verify", asked), (), anyio.Event())
    assert asked.modes == ("ids", "text", "chat")
    assert result.finding.cap == 288, result.finding.reason
    fits = [seen for seen in result.observations if seen.spec.role is Role.FIT and seen.outcome == "pass"]
    assert {(seen.spec.mode, seen.length) for seen in fits} >= {("text", 287), ("chat", 287), ("ids", 287)}
    question = VerifyQuestion.from_json(result.run_row.record.question)
    assert all(check.result == "ok" for check in checks(question, result.observations))

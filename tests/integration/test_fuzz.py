"""Does `fuzz` find what a bisect does not walk past, on a real server whose engine really dies?"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import pytest
from click.testing import CliRunner

import targets.sim
from fuzzer.cli import main, memory, opening, questions, session
from fuzzer.cli.common import CommonFlags
from fuzzer.finding import FindingKind, Reproducer
from fuzzer.model import Role, Settings
from fuzzer.plans.assumed import not_tried
from fuzzer.plans.coverage import coverage
from fuzzer.plans.fuzz import FuzzQuestion
from fuzzer.report.fuzz import fuzz_object, paragraph
from fuzzer.store import History
from targets.sim.world import World, shipped

pytestmark = pytest.mark.anyio

CTXFUZZ = (sys.executable, "-m", "fuzzer.cli")
BRISK = Settings(grace_failure_s=0.4, grace_pass_s=0.01)


async def hunted(
    world: World, folder: Path, seed: int = 1, **asked: Any
) -> tuple[session.Result, targets.sim.Simulation]:
    """Fuzz a world, with somebody who restarts what does not come back by itself."""
    async with targets.sim.running(world) as sim:
        help_back = f"curl -s -X POST {sim.control_url}/sim/restart"
        flags = CommonFlags(
            url=sim.url, db=folder / "runs.db", seed=seed, on_death=help_back, timeout_s=2.0, health_interval_s=0.5
        )
        async with opening.opened(flags, pace=BRISK, sample_s=0.1) as opened:
            question = questions.to_fuzz(opened, **{"most_samples": 400, **asked})
            result = await opened.run("fuzz", questions.Asked("fuzz", question), [], anyio.Event())
            assert result.run_row.deaths == sim.deaths
        return result, sim


async def least(name: str, folder: Path, **asked: Any) -> Reproducer:
    result, _ = await hunted(World.load(shipped()[name]), folder, **asked)
    assert len(result.finding.reproducers) == 1, result.finding.reason
    return result.finding.reproducers[0]


async def test_an_island_of_exactly_one_chunk(tmp_path: Path) -> None:
    shown = await least("vllm-28776", tmp_path, cap=100_000)
    assert (shown.spec.length, shown.shorter_passes, shown.longer_passes) == (8192, True, True)


async def test_a_batch_of_four(tmp_path: Path) -> None:
    shown = await least("vllm-41125", tmp_path, cap=90_000, seed=6)
    assert len(shown.spec.companions) == 3
    assert shown.spec.length == 65_537
    assert shown.outcome == "hang"


async def test_a_number_that_was_only_asked_for(tmp_path: Path) -> None:
    shown = await least("asked-too-much", tmp_path, cap=60_000)
    assert shown.spec.length + shown.spec.output_tokens == 32_769


async def test_what_only_an_answer_in_one_piece_shows(tmp_path: Path) -> None:
    world = World.from_dict({"rules": [{"when": "not STREAM and P > 500"}]})
    result, _ = await hunted(world, tmp_path, cap=20_000)
    shown = result.finding.reproducers[0].spec
    assert (shown.length, shown.stream, shown.companions) == (501, False, ())


async def test_wear_is_no_length(tmp_path: Path) -> None:
    result, _ = await hunted(World.load(shipped()["dflash2-cumulative-72"]), tmp_path, cap=60_000)
    assert result.finding.kind is FindingKind.NOT_LENGTH
    assert result.finding.reproducers[0].every is not None


async def test_what_was_found_is_read_again_from_the_record(tmp_path: Path) -> None:
    result, _ = await hunted(World.load(shipped()["vllm-28776"]), tmp_path, cap=9_000)
    run = result.run_row.run
    with History.open(tmp_path / "runs.db") as history:
        assert history.get(run).finding == result.finding
        sampled = [seen for seen in history.observations(run) if seen.spec.role is Role.FUZZ]
    with closing(sqlite3.connect(tmp_path / "runs.db")) as conn:
        rows = dict(conn.execute("SELECT value, passes FROM coverage WHERE condition = 'content' AND passes > 0"))
    told = coverage(FuzzQuestion.from_json(result.run_row.record.question), sampled)
    assert rows == told.passes["content"]
    shown = CliRunner().invoke(main, ["show", run, "--db", str(tmp_path / "runs.db")])
    assert shown.exit_code == 0
    assert "1 failure under the cap of 9,000" in shown.output
    assert f"ctxfuzz replay {run}:{result.finding.reproducers[0].seq}" in shown.output
    assert f"{len(sampled) - 1} of {len(sampled)} samples" in shown.output


async def test_a_bisect_after_it_says_what_was_sampled(tmp_path: Path) -> None:
    world = World.from_dict({"rules": [{"when": "P > 3000"}], "limit": {"tokens": 8192}})
    async with targets.sim.running(world) as sim:
        flags = CommonFlags(url=sim.url, db=tmp_path / "runs.db", seed=1, health_interval_s=0.5)
        async with opening.opened(flags, pace=BRISK, sample_s=0.1) as opened:
            before = memory.remembered(opened, questions.to_bisect(opened, {"lo": 100, "hi": 4000}, ()))[0]
            asked = questions.to_fuzz(opened, cap=2_990, most_samples=40)
            await opened.run("fuzz", questions.Asked("fuzz", asked), [], anyio.Event())
            question = memory.remembered(opened, questions.to_bisect(opened, {"lo": 100, "hi": 4000}, ()))[0]
    assert not_tried(before, 2_980).startswith("companions, other contents, a warm prefix, other outputs, text and ")
    assert question.fuzzed_cap == 2_990
    assert "sampled by `ctxfuzz fuzz`" in not_tried(question, 2_980)
    assert not_tried(question, 3_000) == not_tried(before, 3_000)


async def test_a_script_that_curl_sends_and_a_replay(tmp_path: Path) -> None:
    rule = {"when": "C >= 3 and P > 200", "symptom": "error", "message": "too many"}
    world = World.from_dict({"rules": [rule], "speed": {"decode_s": 0.0006}})
    db = ("--db", str(tmp_path / "runs.db"))
    async with targets.sim.running(world) as sim:
        flags = CommonFlags(url=sim.url, db=tmp_path / "runs.db", seed=2, health_interval_s=0.5)
        async with opening.opened(flags, pace=BRISK, sample_s=0.1) as opened:
            question = questions.to_fuzz(opened, cap=2_000, most_samples=300)
            result = await opened.run("fuzz", questions.Asked("fuzz", question), [], anyio.Event())
        one = result.finding.reproducers[0]
        assert (one.outcome, one.spec.length, len(one.spec.companions)) == ("error", 201, 2)
        [told] = fuzz_object(result.run_row, result.finding, result.observations, 0.0, "my runs.db")["failures"]
        assert told["replay"] == f"ctxfuzz replay {result.run_row.run}:{one.seq} --db 'my runs.db'"
        assert told["script"].count(" --db 'my runs.db' || exit") == 3
        [told] = fuzz_object(result.run_row, result.finding, result.observations, 0.0, "runs.db")["failures"]
        script = told["script"]
        assert script.count("--companion") == 2
        assert "beside 2 requests of 64 tokens" in paragraph(result.run_row, question, one)
        (tmp_path / "ctxfuzz").write_text(f'#!/bin/sh\nexec {sys.executable} -m fuzzer.cli "$@"\n')
        (tmp_path / "ctxfuzz").chmod(0o755)
        path = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(Path.cwd())}
        sent = await anyio.run_process(["sh", "-c", script], cwd=tmp_path, env={**os.environ, **path}, check=False)
        assert b"too many" in sent.stdout, sent.stderr
        body = f"{result.run_row.run}:{one.seq}"
        again = await anyio.run_process([*CTXFUZZ, "replay", body, "--json", "-q", *db], check=False)
        assert json.loads(again.stdout)["replay"]["repeats"], again.stderr


async def test_the_command_leaves_with_1_where_something_was_found(tmp_path: Path) -> None:
    world = World.from_dict({"rules": [{"when": "P > 100"}]})
    async with targets.sim.running(world) as sim:
        asked = ("fuzz", "--url", sim.url, "--cap", "2000", "--samples", "20", "--seed", "2", "--shrink-deaths", "1")
        done = await anyio.run_process(
            [*CTXFUZZ, *asked, "--json", "-q", "--db", str(tmp_path / "runs.db")], check=False
        )
        found = json.loads(done.stdout)
        assert (done.returncode, found["schema"], found["finding"]) == (1, "ctxfuzz.fuzz/1", "death"), done.stderr
        assert found["deaths"] == sim.deaths == 2
        assert found["failures"][0]["unfinished"] == "no death is left to spend on it"

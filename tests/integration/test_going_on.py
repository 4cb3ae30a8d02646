"""Does a run go on as it was begun: with its controls, its URLs and its secrets, its requirement and its number?"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from fuzzer.cli import attribution, opening, questions
from fuzzer.cli.common import CommonFlags
from fuzzer.errors import Interrupted
from fuzzer.model import Settings
from fuzzer.plans.question import BisectQuestion
from fuzzer.store import History
from targets.sim import Simulation, running
from targets.sim.world import World
from tests import forked
from tests.integration.raw import Reader, Writer, request_of, serving

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]

ROOT = Path(__file__).parents[2]
QUICK = Settings(grace_failure_s=0.4, grace_pass_s=0.05)
CALM: dict[str, Any] = {"limit": {"tokens": 4096}, "restart": {"delay_s": 0.1}}
DEADLY = {**CALM, "rules": [{"when": "P > 300", "symptom": "death"}]}
CTXFUZZ = [sys.executable, "-m", "fuzzer.cli"]


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "OPENAI_API_KEY": "", **more}


async def ctxfuzz(folder: Path, *args: str, **more: str) -> subprocess.CompletedProcess[bytes]:
    return await forked.run_process([*CTXFUZZ, *args], cwd=folder, env=environment(**more))


async def edge_of(target: Simulation, folder: Path, controls: list[list[str]], *, stopped: bool = False) -> str:
    """A bisect that ended, or was stopped at once, before any of its controls was asked."""
    question = BisectQuestion(lo=290, hi=310, limit=4096, require=1_000, confidence=0.5, attribute_axis=False)
    stop = anyio.Event()
    async with opening.opened(CommonFlags(url=target.url, db=folder / "runs.db"), pace=QUICK, sample_s=0.1) as opened:
        if stopped:
            stop.set()
        notes = {attribution.CONTROLS: controls}
        try:
            ended = await opened.run("bisect", questions.Asked("bisect", question), (), stop, notes=notes)
        except Interrupted as interrupted:
            return interrupted.run
        return ended.run_row.run


async def test_controls_that_are_left_are_asked_and_the_runs_own_requirement_decides(tmp_path: Path) -> None:
    async with running(World.from_dict(DEADLY)) as target, running(World.from_dict(CALM)) as plain:
        run = await edge_of(target, tmp_path, [["plain", plain.url]])
        ended = await ctxfuzz(tmp_path, "resume", "last", "--json")
        again = await ctxfuzz(tmp_path, "resume", "last")
    told = json.loads(ended.stdout)
    assert (ended.returncode, told["run"], told["finding"], told["last_good"]) == (1, run, "death", 300)
    (control,) = told["attribution"]["controls"]
    assert (control["name"], control["finding"]) == ("plain", "none")
    assert (again.returncode, b"there is nothing to go on with" in again.stderr) == (2, True)


async def test_a_control_that_nobody_can_ask_is_said_and_the_run_stands(tmp_path: Path) -> None:
    async with running(World.from_dict(DEADLY)) as target:
        await edge_of(target, tmp_path, [["plain", "http://127.0.0.1:9"]])
        ended = await ctxfuzz(tmp_path, "resume", "last")
    assert (ended.returncode, b"the control plain could not be asked" in ended.stderr) == (1, True), ended.stderr


async def test_an_interruption_before_it_goes_on_names_the_run(tmp_path: Path) -> None:
    asked = anyio.Event()

    async def silent(reader: Reader, _writer: Writer) -> None:
        await request_of(reader)
        asked.set()
        await anyio.sleep_forever()

    async with running(World.from_dict(CALM)) as target:
        run = await edge_of(target, tmp_path, [], stopped=True)
        port = int(target.url.rsplit(":", 1)[1])
    async with serving(silent, port=port):
        words = [*CTXFUZZ, "resume", run, "--json"]
        async with await anyio.open_process(words, cwd=tmp_path, env=environment()) as child:
            await asked.wait()
            child.send_signal(signal.SIGTERM)
            with anyio.fail_after(20):
                assert child.stdout is not None
                said = b"".join([chunk async for chunk in child.stdout])
                await child.wait()
    assert (child.returncode, f"ctxfuzz resume {run}" in json.loads(said)["error"]) == (130, True)


async def test_a_url_that_held_a_secret_is_given_again_and_no_mask_is_ever_sent(tmp_path: Path) -> None:
    db = tmp_path / "runs.db"
    async with running(World.from_dict(CALM)) as target:
        secret, other = f"{target.url}/metrics?token=planted-1", f"{target.url}/metrics?kind=planted-2"
        asked = ("bisect", "--url", target.url, "--lo", "100", "--hi", "120", "--metrics-url", secret)
        begun = await ctxfuzz(tmp_path, *asked, "--max-time", "0s")
        with History.open(db) as history:
            assert history.get("last").record.settings["metrics_url"] == f"{target.url}/metrics?token=***", begun.stderr
        without = await ctxfuzz(tmp_path, "resume", "last")
        another = await ctxfuzz(tmp_path, "resume", "last", "--metrics-url", other)
        again = await ctxfuzz(tmp_path, "resume", "last", "--metrics-url", secret)
    assert (without.returncode, b"add --metrics-url to this command" in without.stderr) == (2, True), without.stderr
    assert (another.returncode, b"another --metrics-url" in another.stderr) == (2, True), another.stderr
    assert b"another --metrics-url" not in again.stderr


async def test_a_probe_is_replayed_where_it_was_whatever_the_environment_names(tmp_path: Path) -> None:
    async with running(World.from_dict(CALM)) as target, running(World.from_dict(CALM)) as other:
        await ctxfuzz(tmp_path, "probe", "100", "--url", target.url)
        with History.open(tmp_path / "runs.db") as history:
            probe = f"{history.get('last').run}:2"
        before = len(other.log)
        (tmp_path / "ctxfuzz.toml").write_text(f'[defaults]\nurl = "{other.url}"\n')
        by_file = await ctxfuzz(tmp_path, "replay", probe)
        by_environment = await ctxfuzz(tmp_path, "replay", probe, CTXFUZZ_URL=other.url)
        assert len(other.log) == before
    assert (by_file.returncode, by_environment.returncode) == (0, 0), by_file.stderr + by_environment.stderr

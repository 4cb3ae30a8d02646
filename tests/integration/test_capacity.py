"""Is a capacity read off the engine alone, recorded like any run, and refused where the engine does not tell it?"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from fuzzer.cli import main
from fuzzer.store import History
from targets.sim import Simulation, running
from targets.sim.world import World
from tests import forked

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]
LIMIT = 1_000_000


@asynccontextmanager
async def world(**more: Any) -> AsyncIterator[Simulation]:
    async with running(World.from_dict({"limit": {"tokens": LIMIT}, **more})) as simulation:
        yield simulation


async def capacity(folder: Path, url: str, *flags: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "fuzzer.cli", "capacity", "--url", url, *flags]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = await forked.run_process(command, cwd=folder, env=environment)
    return done.returncode, done.stdout.decode() + done.stderr.decode()


def shown(folder: Path, *args: str) -> str:
    done = CliRunner().invoke(main, [*args, "--db", str(folder / "runs.db")])
    assert done.exit_code == 0, done.output
    return done.stdout


async def test_the_incident_is_read_without_a_generation_and_recorded(tmp_path: Path) -> None:
    pools = ({"kv_tokens": 1_354_786, "blocks": 200_000}, {"kv_tokens": 1_808_112})
    async with world(cache=pools[0], draft={"k": 7}) as target, world(cache=pools[1]) as control:
        code, said = await capacity(tmp_path, target.url, "--control", f"plain={control.url}", "--json")
        assert target.log == control.log == []
    told = json.loads(said)
    assert code == 0
    assert told["schema"] == "ctxfuzz.capacity/1"
    assert told["requests"][-1] == {"length": LIMIT, "requests": 1.3548, "at_least": 1.3548}
    assert (told["controls"][0]["tokens"], told["controls"][0]["share"]) == (-453_326, -0.250718)
    assert "blocks x block size would be 3,200,000" in told["warnings"][0]
    with History.open(tmp_path / "runs.db") as history:
        run = history.get("last")
    assert (run.record.command, run.status, run.probes) == ("capacity", "done", 0)
    line = "against plain: 1,808,112 -> 1,354,786 tokens (-453,326, -25.1%); 1.81 -> 1.35 requests of the limit"
    assert line in shown(tmp_path, "show", "last")
    assert json.loads(shown(tmp_path, "show", "last", "--json"))["capacity"]["controls"] == told["controls"]
    assert line.replace(">", "&gt;") in shown(tmp_path, "report", "last")
    assert line in shown(tmp_path, "report", "last", "--format", "md")
    assert json.loads(shown(tmp_path, "runs", "--json"))[0]["command"] == "capacity"


async def test_llama_cpp_tells_it_by_its_slots(tmp_path: Path) -> None:
    async with world(dialect="llamacpp", slots=4, limit={"tokens": 16_384}) as target:
        code, said = await capacity(tmp_path, target.url)
    assert code == 0
    assert "KV pool  65,536 tokens (slots x n_ctx)" in said


async def test_an_engine_that_tells_no_pool_is_inconclusive(tmp_path: Path) -> None:
    async with world(dialect="openai") as target:
        code, said = await capacity(tmp_path, target.url)
    assert code == 3
    assert "the target tells no KV pool" in said
    assert "Inconclusive" in shown(tmp_path, "show", "last")


async def test_a_control_that_is_not_there_ends_it_before_anything_is_recorded(tmp_path: Path) -> None:
    async with world() as target:
        code, _ = await capacity(tmp_path, target.url, "--control", "plain=http://127.0.0.1:9")
    assert code == 4
    assert not (tmp_path / "runs.db").exists()

"""Does `ctxfuzz inspect` say what is behind a URL, send nothing long, and go over the limit only when it is told to?"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fuzzer.store import History
from targets.sim import running
from targets.sim.world import World
from tests import forked

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]
LIMIT = 4096
DRAFTING = {"limit": {"tokens": LIMIT}, "draft": {"k": 7, "acceptance_length": 1.45}}


async def inspected(url: str, db: Path, *flags: str) -> str:
    command = [sys.executable, "-m", "fuzzer.cli", "inspect", "--url", url, "--db", str(db), "-q", *flags]
    done = await forked.run_process(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


async def as_json(url: str, db: Path, *flags: str) -> dict[str, Any]:
    seen: dict[str, Any] = json.loads(await inspected(url, db, "--json", *flags))
    return seen


@pytest.fixture
def world() -> Callable[..., World]:
    return lambda **more: World.from_dict({**DRAFTING, **more})


async def test_it_says_what_is_there_and_sends_nothing_long(world: Callable[..., World], tmp_path: Path) -> None:
    async with running(world()) as simulation:
        seen = await as_json(simulation.url, tmp_path / "runs.db")
        longest = max(record.prompt_tokens or 0 for record in simulation.log)
    assert seen["engine"]["name"] == "vllm"
    assert (seen["limit"], seen["disagreements"]) == (LIMIT, [])
    assert (seen["drafter"]["method"], seen["drafter"]["tokens"]) == ("learned", 7)
    assert (seen["replicas"], seen["traffic"], seen["beyond"]) == (1, None, None)
    assert seen["process_start"].endswith("Z")
    assert set(seen["takes"]) == {"ids", "text", "chat"}
    assert longest < 512
    assert not (tmp_path / "runs.db").exists()


async def test_the_request_over_the_limit_is_sent_once_and_recorded(
    world: Callable[..., World], tmp_path: Path
) -> None:
    db = tmp_path / "runs.db"
    async with running(world()) as simulation:
        seen = await as_json(simulation.url, db, "--probe-limit")
        over = [record for record in simulation.log if (record.prompt_tokens or 0) > LIMIT]
    assert (seen["beyond"]["length"], seen["beyond"]["outcome"]) == (LIMIT + 1, "rejected")
    assert len(over) == 1
    with History.open(db) as history:
        assert [probe.spec.length for probe in history.observations(history.get("last").run)][-1] == LIMIT + 1


async def test_a_dry_run_generates_nothing(world: Callable[..., World], tmp_path: Path) -> None:
    async with running(world()) as simulation:
        seen = await inspected(simulation.url, tmp_path / "runs.db", "--dry-run")
        assert simulation.log == []
    assert "nothing was generated" in seen


async def test_a_fault_is_told_to_programs_too(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "fuzzer.cli", "inspect", "--url", "http://127.0.0.1:9", "--json"]
    done = await forked.run_process(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert (done.returncode, json.loads(done.stdout)["exit_code"]) == (4, 4), done.stderr

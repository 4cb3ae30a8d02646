"""Does the command do what it promises, as a real process against a simulated engine that really dies?"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.abc
import pytest

from fuzzer.store import History
from targets.sim import Simulation, running
from targets.sim.world import World
from tests import forked

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parent.parent.parent
QUICK = ("--lo", "200", "--hi", "400", "--resolution", "32", "--confidence", "0.5")  # two passes make a claim
SMALL = {
    "limit": {"tokens": 4096},
    "restart": {"delay_s": 0.1},
    "rules": [{"when": "P > 300", "symptom": "death", "last_words": "CUDA error"}],
}


def environment(**extra: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in {"OPENAI_API_KEY", "NO_COLOR"}}
    return {**kept, "PYTHONPATH": str(ROOT), **extra}


async def ctxfuzz(folder: Path, *args: str, **env: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "fuzzer.cli", *args]
    return await forked.run_process(command, cwd=folder, env=environment(**env))


@asynccontextmanager
async def started(folder: Path, *args: str) -> AsyncIterator[anyio.abc.Process]:
    command = [sys.executable, "-m", "fuzzer.cli", *args]
    async with await anyio.open_process(command, cwd=folder, env=environment()) as process:
        yield process


async def said(stream: anyio.abc.ByteReceiveStream | None, pattern: str) -> str:
    """What the stream says, up to the first match of `pattern`."""
    assert stream is not None
    text = ""
    with anyio.fail_after(60):
        async for chunk in stream:
            text += chunk.decode()
            if re.search(pattern, text):
                return text
    raise AssertionError(f"{pattern!r} was never said: {text}")


@pytest.fixture
async def simulation() -> AsyncIterator[Simulation]:
    async with running(World.from_dict(SMALL)) as simulation:
        yield simulation


async def test_bisect_prints_one_object_and_everything_else_goes_to_stderr(
    simulation: Simulation, tmp_path: Path
) -> None:
    ended = await ctxfuzz(tmp_path, "bisect", "--url", simulation.url, *QUICK, "--require", "1k", "--json")
    finding = json.loads(ended.stdout)
    assert ended.stdout.count(b"\n") == 1
    assert finding["schema"] == "ctxfuzz.finding/1"
    assert finding["finding"] == "death"
    assert 200 < finding["last_good"] <= 300 < finding["first_bad"] <= finding["last_good"] + 32
    assert finding["deaths"] == simulation.deaths > 0
    assert ended.returncode == 1, "the cap is below what was required"
    lines = ended.stderr.decode().splitlines()
    assert lines[0].startswith(f"run {finding['run']}: bisect on {simulation.url}")
    assert len([line for line in lines if line.startswith("#")]) == finding["probes"]
    assert "\x1b" not in ended.stderr.decode()


async def test_a_reader_that_leaves_ends_neither_the_run_nor_its_record(simulation: Simulation, tmp_path: Path) -> None:
    ours = f"{sys.executable} -m fuzzer.cli probe 250 --url {simulation.url} -v"
    command = ["bash", "-c", f"{ours} 2>&1 | head -1; echo ${{PIPESTATUS[0]}}"]
    ended = await anyio.run_process(command, cwd=tmp_path, env=environment())
    first, status = ended.stdout.decode().splitlines()
    assert first.startswith("run ")
    assert status == "0"
    assert ended.stderr == b""
    with History.open(tmp_path / "runs.db") as history:
        run = history.get("last")
        assert run.status == "done"
        assert [seen.spec.length for seen in history.observations(run.run)][-1] == 250


async def test_a_signal_ends_it_with_the_line_that_resumes_and_nothing_is_asked_twice(
    simulation: Simulation, tmp_path: Path
) -> None:
    async with started(tmp_path, "bisect", "--url", simulation.url, *QUICK, "--db", "my runs.db") as process:
        await said(process.stderr, r"#2 .*\n")
        process.send_signal(signal.SIGTERM)
        text = await said(process.stderr, r"Go on with: .*\n")
        assert await process.wait() == 130
    (run,) = re.findall(r"Go on with: ctxfuzz resume (\w+) --db 'my runs.db'", text)
    before = len(simulation.log)
    ended = await ctxfuzz(tmp_path, "resume", run, "--db", "my runs.db", "--json")
    assert ended.returncode == 0, ended.stderr.decode()
    finding = json.loads(ended.stdout)
    assert finding["run"] == run
    assert finding["deaths"] == simulation.deaths
    with History.open(tmp_path / "my runs.db") as history:
        assert history.get(run).status == "done"
        answered = [seen for seen in history.observations(run) if seen.outcome.is_evidence]
    baseline, lo = answered[0].spec.length, answered[1].spec.length
    assert not {baseline, lo} & {record.prompt_tokens for record in simulation.log[before:] if record.max_tokens == 32}
    assert ended.stderr.decode().count("(recorded)") >= 2


async def test_two_signals_leave_at_once(tmp_path: Path) -> None:
    script = """
import anyio, sys
from fuzzer.cli.signals import stop_on_signals

async def main():
    async with stop_on_signals(lambda text: print(text, flush=True)) as stop:
        print("ready", flush=True)
        await stop.wait()
        await anyio.sleep_forever()

anyio.run(main)
"""
    command = [sys.executable, "-c", script]
    async with await anyio.open_process(command, cwd=tmp_path, env=environment()) as process:
        await said(process.stdout, "ready")
        process.send_signal(signal.SIGTERM)
        assert "once more leaves at once" in await said(process.stdout, "\\.\n")
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 130


async def test_a_dry_run_says_what_to_expect_and_sends_no_probe(simulation: Simulation, tmp_path: Path) -> None:
    ended = await ctxfuzz(tmp_path, "bisect", "--url", simulation.url, *QUICK, "--dry-run")
    assert ended.returncode == 0
    assert re.match(r"Expect about \d+\.\d engine deaths \(at most 12\) in about \d+ probes", ended.stdout.decode())
    assert simulation.log == []
    assert not (tmp_path / "runs.db").exists()


@pytest.mark.timeout(120)
async def test_the_demo_finds_the_incidents_edge(tmp_path: Path) -> None:
    ended = await ctxfuzz(tmp_path, "demo", "--json", "-q")
    assert ended.returncode == 0
    finding = json.loads(ended.stdout)
    assert (finding["last_good"], finding["first_bad"]) == (262_144, 262_145)
    assert finding["recommended_max_model_len"] == 262_144
    assert ended.stderr == b""


async def test_the_simulator_says_where_it_is_and_ends_on_a_signal(tmp_path: Path) -> None:
    async with started(tmp_path, "sim", "incident", "--port", "0") as process:
        url = (await said(process.stdout, r"\n")).strip()
        shown = await said(process.stderr, "sim/deaths")
        assert f"ctxfuzz bisect --url {url} --lo 244689 --hi 300000" in shown
        process.send_signal(signal.SIGINT)
        assert await process.wait() == 0


async def test_help_imports_nothing_heavy(tmp_path: Path) -> None:
    script = """
import sys
from fuzzer.cli import main
try:
    main(["--help"])
except SystemExit:
    print(" ".join(sys.modules))
"""
    ended = await anyio.run_process([sys.executable, "-c", script], cwd=tmp_path, env=environment())
    loaded = set(ended.stdout.split())
    assert b"click" in loaded
    for heavy in (b"transformers", b"rich", b"httpx", b"anyio", b"sqlite_utils", b"starlette", b"tenacity"):
        assert heavy not in loaded

"""Is a fork of the program what a process of its own would be?"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import anyio
import pytest

from tests import forked
from tests.integration.raw import Reader, Writer, serving

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "fuzzer.cli"]


def environment(**there: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), **there}


@pytest.mark.parametrize("there", [{}, {"CTXFUZZ_DB": "named.db"}, {"LC_ALL": "C"}], ids=["plain", "named", "locale"])
@pytest.mark.parametrize(
    "args",
    [("--version",), ("runs", "--json"), ("show", "none"), ("bisect", "--url", "http://127.0.0.1:9", "--lo", "x")],
)
async def test_it_says_and_leaves_with_the_same(args: tuple[str, ...], there: dict[str, str], tmp_path: Path) -> None:
    command, env = [*COMMAND, *args], environment(**there)
    real = await anyio.run_process(command, cwd=tmp_path, env=env, check=False)
    for fork in (forked.run(command, cwd=tmp_path, env=env), await forked.run_process(command, cwd=tmp_path, env=env)):
        assert (fork.returncode, fork.stdout, fork.stderr) == (real.returncode, real.stdout, real.stderr)


async def test_whoever_waits_no_longer_leaves_no_process_behind(tmp_path: Path) -> None:
    met, left = anyio.Event(), anyio.Event()

    async def mute(reader: Reader, writer: Writer) -> None:
        met.set()
        await reader.read()
        left.set()

    async with serving(mute) as port, anyio.create_task_group() as group:
        command = [*COMMAND, "probe", "300", "--url", f"http://127.0.0.1:{port}", "--db", str(tmp_path / "runs.db")]
        async with anyio.create_task_group() as waiting:

            async def wait() -> None:
                await forked.run_process(command, cwd=tmp_path, env=environment())

            waiting.start_soon(wait)
            with anyio.fail_after(60):
                await met.wait()
            waiting.cancel_scope.cancel()
        with anyio.fail_after(60):
            await left.wait()
        group.cancel_scope.cancel()


def test_no_fork_that_a_test_left_behind_holds_up_the_end() -> None:
    ours = forked._Server()
    ours.control()
    left = os.fork()  # has all that is open here
    if left == 0:
        signal.alarm(20)
        signal.pause()
    try:
        began = time.monotonic()
        ours.stop()
        assert time.monotonic() - began < 10
    finally:
        os.kill(left, signal.SIGKILL)
        os.waitpid(left, 0)

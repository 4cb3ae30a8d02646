"""Is a command of the user's waited for as long as it should be, and no longer: `--on-death`, `--engine-log-cmd`?"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import anyio
import pytest

from fuzzer import enginelog
from fuzzer.cli import opening, questions, session
from fuzzer.cli.common import CommonFlags
from fuzzer.command import Ended, run
from fuzzer.enginelog import LogCommand
from fuzzer.events import Event, Note
from fuzzer.finding import FindingKind
from targets.sim import running
from targets.sim.world import World
from tests.integration.playing import QUICK

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]

ROOT = Path(__file__).parents[2]
DIES = {"limit": {"tokens": 4096}, "rules": [{"when": "P > 300", "symptom": "death"}]}
BACK_AT_ONCE = World.from_dict({**DIES, "restart": {"delay_s": 0.1}})
NEVER_BACK = World.from_dict({**DIES, "restart": {"policy": "by-hand"}})


async def there(path: Path) -> str:
    """What the file holds, once it holds something."""
    with anyio.fail_after(20):
        while not (words := held_by(path)):  # noqa: ASYNC110  (a file tells no event)
            await anyio.sleep(0.01)
    return words


def held_by(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def is_alive(pid: int) -> bool:
    """A process that has ended and that nobody has waited for yet is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def test_what_it_leaves_behind_is_not_waited_for_and_goes_on_speaking(tmp_path: Path) -> None:
    """An engine that was started with `&` writes its log to where the command did."""
    go, spoken = tmp_path / "go", tmp_path / "spoken"
    engine = f"(until [ -e '{go}' ]; do sleep 0.05; done; echo serving; echo $? > '{spoken}')"
    with anyio.fail_after(20):
        ended = await run(f"echo starting; {engine} & exit 3", within_s=60, tail_bytes=100)
    assert ended == Ended(3, "starting\n")
    go.touch()
    assert await there(spoken) == "0\n"


async def test_it_is_let_be_when_we_are_interrupted_and_ended_where_it_only_reads(tmp_path: Path) -> None:
    stop = anyio.Event()
    command = f"echo words; echo $$ > '{tmp_path}/pid'; sleep 60"
    async with anyio.create_task_group() as tasks:

        async def interrupt() -> None:
            await there(tmp_path / "pid")
            stop.set()

        tasks.start_soon(interrupt)
        ended = await run(command, within_s=60, tail_bytes=100, stop=stop)
    pid = int(await there(tmp_path / "pid"))
    assert (ended.code, ended.said, is_alive(pid), os.getpgid(pid)) == (None, "words\n", True, pid)
    os.killpg(pid, signal.SIGKILL)
    (tmp_path / "pid").unlink()
    late = await run(command, within_s=1.0, tail_bytes=100, kill=True)
    assert late == Ended(None, "words\n")
    pid = int(await there(tmp_path / "pid"))
    with anyio.fail_after(20):
        while is_alive(pid):  # noqa: ASYNC110  (nobody's child tells us)
            await anyio.sleep(0.01)


async def test_of_much_that_is_printed_only_the_end_is_read_and_no_secret_of_the_command() -> None:
    ended = await run("cat; head -c 9000000 /dev/zero; echo; echo last >&2; exit 1", within_s=60, tail_bytes=6)
    assert ended == Ended(1, "\nlast\n")
    told = await run("set -x; true --password planted-71 -u ops:planted-72", within_s=60, tail_bytes=1000)
    assert "true --password ***" in told.said
    assert "planted" not in told.said


async def test_of_what_it_prints_only_the_end_is_kept_and_nothing_blocks(tmp_path: Path) -> None:
    """Neither the shell, nor what it leaves behind: that is read on, into nothing, and never into a file."""
    go, spoken = tmp_path / "go", tmp_path / "spoken"
    engine = f"(until [ -e '{go}' ]; do sleep 0.05; done; head -c 9000000 /dev/zero; echo $? > '{spoken}')"
    with anyio.fail_after(20):
        ended = await run(
            f"head -c 9000000 /dev/zero; readlink /proc/self/fd/1; {engine} &", within_s=60, tail_bytes=20
        )
        go.touch()
        assert await there(spoken) == "0\n"
    assert ended.said.strip("\0").startswith("pipe:")


async def test_an_engine_left_behind_outlives_us(tmp_path: Path) -> None:
    """It goes on printing after the process that ran the command has gone."""
    go, spoken = tmp_path / "go", tmp_path / "spoken"
    engine = f"(until [ -e '{go}' ]; do sleep 0.05; done; head -c 200000 /dev/zero && echo ok > '{spoken}') &"
    script = (
        f"import anyio; from fuzzer.command import run; anyio.run(lambda: run({engine!r}, within_s=9, tail_bytes=9))"
    )
    await anyio.run_process([sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": str(ROOT)})
    go.touch()
    assert await there(spoken) == "ok\n"


async def test_a_shell_that_cannot_be_started_raises_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    long = await run(f": {'x' * 200_000}", within_s=1, tail_bytes=100)
    assert long == Ended(127, "Argument list too long")
    monkeypatch.setattr("sys.executable", "/nowhere")
    assert await run("true", within_s=1, tail_bytes=100) == Ended(127, "No such file or directory")


async def test_a_log_command_that_never_ends_is_read_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(enginelog, "COMMAND_S", 0.5)
    words = await LogCommand("echo 'IndexError: index out of range in self'; sleep 60").last_words()
    assert words.signature == "IndexError: index out of range in self"


async def probed(world: World, folder: Path, **more: object) -> tuple[session.Result, list[str]]:
    """What a probe of a deadly length found, and the warnings meanwhile."""
    heard: list[Event] = []
    async with running(world) as simulation:
        given: dict[str, object] = {"url": simulation.url, "db": folder / "runs.db", "output_tokens": 8, **more}
        flags = CommonFlags(**given)  # type: ignore[arg-type]
        async with opening.opened(flags, pace=QUICK, sample_s=0.05) as opened:
            asked = questions.to_probe(opened, 400)
            result = await opened.run("probe", asked, [heard.append], anyio.Event())
    return result, [event.text for event in heard if isinstance(event, Note) and event.level == "warning"]


async def test_after_the_death_of_a_single_probe_the_engine_is_helped_back_too(tmp_path: Path) -> None:
    result, warnings = await probed(BACK_AT_ONCE, tmp_path, on_death=f"touch '{tmp_path}/helped'")
    last = result.observations[-1]
    assert (tmp_path / "helped").exists()
    assert (result.finding.kind, result.finding.halt, last.revived, warnings) == (FindingKind.DEATH, None, True, [])
    assert last.revival_s is not None


async def test_a_probe_has_its_answer_although_no_help_brought_the_engine_back(tmp_path: Path) -> None:
    result, warnings = await probed(
        NEVER_BACK, tmp_path, on_death="echo no such unit >&2; exit 5", revival_timeout_s=1.0
    )
    assert (result.finding.kind, result.finding.halt, result.finding.first_bad) == (FindingKind.DEATH, None, 400)
    assert result.observations[-1].revived is False
    assert warnings == ["--on-death exited with 5: no such unit"]


async def test_without_a_helper_nobody_waits_after_the_last_probe(tmp_path: Path) -> None:
    result, _ = await probed(NEVER_BACK, tmp_path, revival_timeout_s=60.0)
    assert (result.finding.kind, result.observations[-1].revival_s) == (FindingKind.DEATH, None)


async def test_a_signal_is_heard_while_the_helper_is_at_work(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "fuzzer.cli", "sweep", "--lengths", "400,100", "--output-tokens", "8"]
    async with running(NEVER_BACK) as simulation:
        words = [*command, "--url", simulation.url, "--on-death", f"echo $$ > '{tmp_path}/pid'; sleep 60"]
        async with await anyio.open_process(
            words,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.DEVNULL,
        ) as process:
            pid = int(await there(tmp_path / "pid"))
            process.send_signal(signal.SIGTERM)  # a SIGINT is ignored where whoever started us ignores it
            began = time.monotonic()
            assert process.stderr is not None
            said = b"".join([chunk async for chunk in process.stderr]).decode()
            await process.wait()
    assert process.returncode == 130, said
    assert time.monotonic() - began < 20
    assert "ctxfuzz resume " in said
    assert is_alive(pid)
    os.killpg(pid, signal.SIGKILL)

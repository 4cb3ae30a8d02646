"""Does a command leave as it promises when its streams are closed, or signals come when it is not looking?"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from fuzzer.cli.signals import LEFT
from fuzzer.store import History
from tests.integration.staging import staged, well

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]

ROOT = Path(__file__).parents[2]
CTXFUZZ = [sys.executable, "-m", "fuzzer.cli"]
STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "OPENAI_API_KEY": ""}


async def shell(folder: Path, *words: str, closed: str) -> subprocess.CompletedProcess[bytes]:
    command = f"{shlex.join([*CTXFUZZ, *words])} {closed}"
    return await anyio.run_process(["bash", "-c", command], cwd=folder, env=environment(), check=False)


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
async def test_a_closed_stream_ends_no_run_and_changes_no_exit_code(closed: str, tmp_path: Path) -> None:
    """Nor is what is said written into the database, which would else be the next file that is opened."""
    async with staged(well) as stage:
        asked = await shell(tmp_path, "probe", "300", "--url", stage.url, "--json", "-v", closed=closed)
    assert asked.returncode == 0, asked.stderr.decode()
    with History.open(tmp_path / "runs.db") as history:
        assert history.get("last").status == "done"
    assert (await shell(tmp_path, "show", "last", closed=closed)).returncode == 0
    assert (await shell(tmp_path, "audit", closed=closed)).returncode == 0
    assert (await shell(tmp_path, "show", "nobody", closed=closed)).returncode == 2


async def test_the_other_stream_says_what_it_always_says(tmp_path: Path) -> None:
    async with staged(well) as stage:
        asked = await shell(tmp_path, "probe", "300", "--url", stage.url, "--json", closed="2>&-")
    assert json.loads(asked.stdout)["finding"] == "none"
    refused = await shell(tmp_path, "show", "nobody", closed=">&-")
    assert refused.stderr.startswith(b"Error: ")


FULL = "Error: The result cannot be written to stdout (No space left on device): send it elsewhere."


async def test_a_result_that_finds_no_room_is_told_and_costs_the_record_nothing(tmp_path: Path) -> None:
    """Like `-o /dev/full`: exit code 2, and one line."""
    async with staged(well) as stage:
        target = ("--url", stage.url)
        search = ("bisect", *target, "--lo", "100", "--hi", "101", "--tolerate", "0.9", "--json", "-q")
        asked = await shell(tmp_path, *search, closed="> /dev/full")
        body = await shell(tmp_path, "body", "last:1", closed="> /dev/full")
        gone = await shell(tmp_path, "body", "last:1", closed="| true; exit ${PIPESTATUS[0]}")
    assert (asked.returncode, asked.stderr.decode()) == (2, f"{FULL}\n")
    with History.open(tmp_path / "runs.db") as history:
        run = history.get("last")
    assert run.status == "done"
    assert run.finding is not None
    assert (body.returncode, body.stderr.decode()) == (2, f"{FULL}\n")
    assert (gone.returncode, gone.stderr[:5]) == (0, b"curl ")
    for command in ("runs", "runs --json", "show last", "report last", "export last", "audit --json", "config", "plan"):
        more = ("--lo", "100", "--hi", "200") if command == "plan" else ()
        ended = await shell(tmp_path, *command.split(), *more, closed="> /dev/full")
        assert (ended.returncode, ended.stderr.decode()) == (2, f"{FULL}\n"), command


@pytest.mark.parametrize("asked", ["--help", "-V", "bisect --help", "config -h"])
async def test_help_is_a_result_like_any_other(asked: str, tmp_path: Path) -> None:
    full = await shell(tmp_path, *asked.split(), closed="> /dev/full")
    assert (full.returncode, full.stderr.decode()) == (2, f"{FULL}\n")
    gone = await shell(tmp_path, *asked.split(), closed="| true; exit ${PIPESTATUS[0]}")
    assert (gone.returncode, gone.stderr) == (0, b"")


async def test_a_fault_comes_before_the_room_that_is_missing_to_tell_it(tmp_path: Path) -> None:
    ended = await shell(tmp_path, "probe", "9", "--url", "http://127.0.0.1:9", "--json", closed="> /dev/full")
    room, fault = ended.stderr.decode().splitlines()
    assert (ended.returncode, room) == (4, FULL)
    assert fault.startswith("Error: Nobody listens at ")


SCRIPT = """
import os, signal, sys
import anyio, click
from fuzzer.cli.exits import Exit
from fuzzer.cli.grouping import LazyGroup
from fuzzer.cli.signals import stop_on_signals

me = os.getpid()
for number, usual in ((1, signal.SIG_DFL), (2, signal.default_int_handler), (15, signal.SIG_DFL)):
    signal.signal(number, usual)  # whatever these tests themselves were started with

async def run(while_it_runs):
    async with stop_on_signals(lambda text: print(text, flush=True)) as stop:
        for number in while_it_runs:
            os.kill(me, number)
            await stop.wait()

@click.group(cls=LazyGroup, entries={}, examples="", invoke_without_command=True)
def main():
    before, during, after = eval(os.environ["SIGNALS"])
    for number in before:
        os.kill(me, number)
    anyio.run(run, during)
    for number in after:
        os.kill(me, number)
    print("sealed", flush=True)
    raise click.exceptions.Exit(7)

try:
    main(args=[], prog_name="x")
finally:
    for number in (1, 2, 15):
        os.kill(me, number)
"""


@pytest.mark.parametrize("number", STOPPING)
@pytest.mark.parametrize(
    ("signals", "code", "said"),
    [
        ("[[n], [], []]", 130, "{n}: ended; no run was under way.\n"),
        ("[[], [n], []]", 7, "{n}: breaking this probe off; once more leaves at once.\nsealed\n"),
        ("[[], [n, n], []]", 130, "{n}: breaking this probe off; once more leaves at once.\n" + LEFT.decode()),
        ("[[], [n], [n]]", 130, "{n}: breaking this probe off; once more leaves at once.\n"),
        ("[[], [], [n]]", 7, "sealed\n"),
        ("[[], [], [n, n]]", 130, ""),
    ],
)
async def test_a_signal_is_heard_from_the_begin_of_a_command_to_its_end(
    number: signal.Signals, signals: str, code: int, said: str
) -> None:
    """Real signals at known points of a real process; all three come once more as the interpreter ends."""
    signals = signals.replace("n", str(int(number)))
    ended = await anyio.run_process(
        [sys.executable, "-c", SCRIPT], env={**environment(), "SIGNALS": signals}, stderr=subprocess.STDOUT, check=False
    )
    assert (ended.returncode, ended.stdout.decode()) == (code, said.replace("{n}", number.name))


async def test_leaving_that_takes_too_long_after_a_signal_is_cut_short() -> None:
    script = SCRIPT.replace('    print("sealed", flush=True)', "    import time; time.sleep(60)").replace(
        "me = os.getpid()", "me = os.getpid()\nimport fuzzer.cli.signals as ours\nours.LONGEST_LEAVING_S = 0.2"
    )
    with anyio.fail_after(30):
        ended = await anyio.run_process(
            [sys.executable, "-c", script], env={**environment(), "SIGNALS": "[[], [], [15]]"}, check=False
        )
    assert ended.returncode == 130

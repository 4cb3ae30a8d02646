"""Is every error a sentence that says what to do next, with the promised exit code and no traceback?"""

from __future__ import annotations

import json
import os
import pty
import re
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest
from anyio.abc import SocketAttribute, SocketStream

from fuzzer.finding import Finding, FindingKind
from fuzzer.model import Outcome, ProbeSpec, Role
from fuzzer.observation import Observation
from fuzzer.plans.question import BisectQuestion
from fuzzer.store import Intent, RunRecord, Store
from targets.sim import Simulation, running
from targets.sim.world import World
from tests import forked

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parent.parent.parent
BRACKET = ("--lo", "10", "--hi", "90")


def environment(**extra: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "OPENAI_API_KEY": "", **extra}


async def refused(folder: Path, *args: str) -> tuple[int, str]:
    """The exit code, and stderr, which must hold no traceback; stdout must stay empty."""
    command = [sys.executable, "-m", "fuzzer.cli", *args]
    ended = await forked.run_process(command, cwd=folder, env=environment())
    text = ended.stderr.decode()
    assert ended.stdout == b""
    assert "Traceback" not in text
    return ended.returncode, text


@pytest.fixture
async def simulation() -> AsyncIterator[Simulation]:
    async with running(World.from_dict({"metrics": False, "limit": {"tokens": 4096}, "model": "tiny"})) as simulation:
        yield simulation


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (("bisect", "--url", "localhost:8000", *BRACKET), 2, r"'--url': .*say http://localhost:8000"),
        (("bisect", "--url", "http://h", "--lo", "90", "--hi", "10"), 2, r"--hi \(10\) is not above --lo \(90\): swap"),
        (
            ("bisect", "--url", "http://h", "--lo", "1,000", "--hi", "2k"),
            2,
            r"'--lo': '1,000' is no length; write tokens",
        ),
        (("bisect", "--url", "http://h", "--lo", "10"), 2, r"Missing option '--hi'"),
        (
            ("bisect", "--url", "http://h", *BRACKET, "--health-interval", "0.1"),
            2,
            r"'--health-interval': .*write 0\.5 or more",
        ),
        (("runs",), 2, r"runs\.db .* --db"),
        (("show", "last", "--db", "/nowhere/runs.db"), 2, r"/nowhere/runs\.db .* --db"),
        (("sim", "nowhere"), 2, r"no world 'nowhere': .* `ctxfuzz sim --list`"),
        (("completion", "tcsh"), 2, r"'tcsh' is not one of 'bash', 'zsh', 'fish'"),
    ],
)
async def test_what_needs_no_target(args: tuple[str, ...], code: int, words: str, tmp_path: Path) -> None:
    status, text = await refused(tmp_path, *args)
    assert re.search(words, text), text
    assert status == code


async def test_nobody_listens(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    status, text = await refused(tmp_path, "probe", "10", "--url", f"http://127.0.0.1:{port}")
    assert f"Nobody listens at http://127.0.0.1:{port}" in text
    assert "is the server up" in text
    assert status == 4


async def test_unauthorised(tmp_path: Path) -> None:
    async def deny(stream: SocketStream) -> None:
        async with stream:
            await stream.receive()
            await stream.send(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0)
    port = listener.extra(SocketAttribute.local_port)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, deny)
        status, text = await refused(
            tmp_path, "probe", "10", "--url", f"http://127.0.0.1:{port}", "--api-key", "sk-very-secret"
        )
        tasks.cancel_scope.cancel()
    await listener.aclose()
    assert "401" in text
    assert "--api-key" in text
    assert "sk-very-secret" not in text
    assert status == 4


async def test_a_wrong_model_is_told_those_that_exist(simulation: Simulation, tmp_path: Path) -> None:
    status, text = await refused(tmp_path, "probe", "10", "--url", simulation.url, "--model", "gpt-9")
    assert "gpt-9" in text
    assert "tiny" in text
    assert "--model" in text
    assert status == 4


async def test_an_unreadable_tokenizer(simulation: Simulation, tmp_path: Path) -> None:
    status, text = await refused(tmp_path, "probe", "10", "--url", simulation.url, "--tokenizer", str(tmp_path))
    assert re.search(rf"tokenizer at {tmp_path} cannot be read .*: pass the model's directory", text)
    assert status == 2


async def test_a_target_that_another_run_is_at(simulation: Simulation, tmp_path: Path) -> None:
    with Store.open(tmp_path / "runs.db") as store, store.lock(simulation.url):
        status, text = await refused(tmp_path, "probe", "10", "--url", simulation.url)
    assert str(os.getpid()) in text
    assert status == 3


async def test_a_folder_where_nothing_can_be_written(simulation: Simulation, tmp_path: Path) -> None:
    status, text = await refused(tmp_path, "probe", "10", "--url", simulation.url, "--db", "/proc/runs.db")
    assert "/proc/runs.db" in text
    assert "--db" in text
    assert status == 2


async def test_a_port_that_is_taken(simulation: Simulation, tmp_path: Path) -> None:
    port = simulation.url.rpartition(":")[2]
    status, text = await refused(tmp_path, "sim", "--port", port)
    assert f"127.0.0.1:{port} cannot be listened on" in text
    assert "--port" in text
    assert status == 2


@pytest.mark.parametrize(
    ("flag", "words"),
    [
        (("--api-key", "sk-h\u00fcnter2"), r"'--api-key'.*: a key is plain ASCII in one line"),
        (("--header", "X-Key: h\u00fcnter2"), r"'--header': a header is written 'Name: value', in plain ASCII"),
        (("--cacert", "no.pem"), r"'--cacert': no\.pem holds no certificate in PEM form"),
    ],
)
async def test_credentials_that_cannot_be_used(flag: tuple[str, str], words: str, tmp_path: Path) -> None:
    (tmp_path / "no.pem").write_text("no certificate")
    for command in (("probe", "10", "--url", "https://127.0.0.1:9"), ("resume", "last")):
        status, text = await refused(tmp_path, *command, *flag)
        assert re.search(words, text), text
        assert "nter2" not in text
        assert status == 2


async def test_a_run_is_not_gone_on_with_without_the_command_that_its_record_does_not_keep(tmp_path: Path) -> None:
    kept = {"on_death": "mend --password planted", "engine_log_cmd": "TOKEN=planted logs"}
    question = BisectQuestion(lo=10, hi=11).to_json()
    with Store.open(tmp_path / "runs.db") as store:
        began = RunRecord("probe", (), "http://127.0.0.1:9", "m", "vllm", "probe", question=question, settings=kept)
        run = store.begin(began)
        store.finish(run, None, "interrupted", at_s=1.0)
    both = await refused(tmp_path, "resume", "last")
    one = await refused(tmp_path, "resume", "last", "--on-death", "mend")
    none = await refused(tmp_path, "resume", "last", "--on-death", "mend", "--engine-log-cmd", "logs")
    begun = f"Error: Run {run} was begun with a secret in"
    said = "--on-death and --engine-log-cmd"
    assert both == (2, f"{begun} {said}, and the record keeps none: add {said} to this command.\n")
    assert one == (2, f"{begun} --engine-log-cmd, and the record keeps none: add --engine-log-cmd to this command.\n")
    assert none[0] == 4
    assert "Nobody listens" in none[1]


async def test_a_run_goes_on_with_its_url_also_where_an_older_version_masked_more_of_it(tmp_path: Path) -> None:
    url = "http://127.0.0.1:9/v1?tokenizer"
    question = BisectQuestion(lo=10, hi=11).to_json()
    with Store.open(tmp_path / "runs.db") as store:
        began = RunRecord("probe", (), url, "m", "vllm", "probe", question=question, settings={"url": f"{url}=***"})
        store.finish(store.begin(began), None, "interrupted", at_s=1.0)
    same = await refused(tmp_path, "resume", "last", "--url", f"{url}=mistral")
    other = await refused(tmp_path, "resume", "last", "--url", f"{url}=mistral&backend=canary")
    assert (same[0], other[0]) == (4, 2)
    assert "was begun with another --url" in other[1]


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """A database with one finished run; its engine's last words are not fit to be shown."""
    spec = ProbeSpec(300, 32, Role.SEARCH, "why")
    with Store.open(tmp_path / "runs.db") as store:
        run = store.begin(RunRecord("bisect", ("ctxfuzz",), "http://host", "tiny", "vllm", "bisect"))
        store.intend(run, Intent(1, spec, 0.0, 300, "0" * 64, 10))
        died = Observation(1, spec, Outcome.DEATH, 300, "usage", deaths=1, signature="[red]CUDA\x1b[2J error[/red]")
        store.complete(run, died, {})
        store.finish(run, Finding(FindingKind.DEATH, "why", first_bad=300), "done", at_s=1.0)
    return tmp_path


def on_a_terminal(folder: Path, *args: str, **env: str) -> str:
    """What a command writes to a terminal of its own."""
    code, text = left_a_terminal(folder, *args, **env)
    assert code == 0
    return text


def left_a_terminal(folder: Path, *args: str, **env: str) -> tuple[int, str]:
    """The exit code of a command, and what it wrote to a terminal of its own."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "fuzzer.cli", *args]
    with subprocess.Popen(
        command, cwd=folder, env=environment(**{"TERM": "xterm-256color"} | env), stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        text = b""
        try:
            while chunk := os.read(ours, 65536):
                text += chunk
        except OSError:
            pass  # how Linux says that the last writer has left
        os.close(ours)
    return process.returncode, text.decode()


def test_a_terminal_is_not_filled_with_a_page(recorded: Path) -> None:
    code, text = left_a_terminal(recorded, "report", "last")
    assert (code, "report last -o report.html" in text) == (2, True)
    assert on_a_terminal(recorded, "report", "last", "--format", "md").startswith("# ")


@pytest.mark.parametrize("command", [("runs",), ("show", "last")])
def test_a_terminal_gets_colours_unless_told_otherwise(command: tuple[str, ...], recorded: Path) -> None:
    coloured, plain = (on_a_terminal(recorded, *command, **env) for env in ({}, {"NO_COLOR": "1"}))
    dumb = on_a_terminal(recorded, *command, TERM="dumb")
    assert "death" in coloured
    assert not re.search(r"\x1b\[[0-9;]*3\dm", plain)
    assert "\x1b" not in dumb
    if command == ("show", "last"):
        assert re.search(r"\x1b\[[0-9;]*3\dm", coloured)
        for text in (coloured, plain, dumb):
            assert "[red]CUDA[2J error[/red]" in text
            assert "\x1b[2J" not in text


def test_a_terminal_of_no_width_is_as_wide_as_it_is(recorded: Path) -> None:
    assert "tiny" in on_a_terminal(recorded, "runs", COLUMNS="0")
    assert on_a_terminal(recorded, "runs", COLUMNS="0") == on_a_terminal(recorded, "runs", COLUMNS="80")


async def test_a_list_that_nobody_reads_to_its_end_is_no_error(recorded: Path) -> None:
    command = ["bash", "-c", f"{sys.executable} -m fuzzer.cli runs | true; echo ${{PIPESTATUS[0]}}"]
    ended = await anyio.run_process(command, cwd=recorded, env=environment())
    assert ended.stdout == b"0\n"
    assert ended.stderr == b""


async def test_a_program_that_reads_json_is_told_of_a_fault_too(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "fuzzer.cli", "bisect", "--url", "http://127.0.0.1:9", *BRACKET, "--json"]
    ended = await forked.run_process(command, cwd=tmp_path, env=environment())
    told = json.loads(ended.stdout)
    assert (told["schema"], told["exit_code"], ended.returncode) == ("ctxfuzz.error/1", 4, 4)
    assert told["error"] in ended.stderr.decode()


@pytest.mark.parametrize(
    "command",
    [
        ("export", "last", "-o", "runs.db"),
        ("report", "last", "-o", "./sub/../runs.db"),
        ("report", "last", "--format", "json", "-o", "runs.db-wal"),
        ("body", "last:1", "-o", "runs.db"),
        ("verify", "--url", "http://127.0.0.1:9", "--cap", "100", "--junit", "runs.db"),
    ],
)
async def test_no_result_is_ever_written_over_a_record(command: tuple[str, ...], recorded: Path) -> None:
    (recorded / "sub").mkdir(exist_ok=True)
    wal = recorded / "runs.db-wal"
    if not wal.exists():
        wal.write_bytes(bytes.fromhex("377f0682") + bytes(28))
    before = (recorded / "runs.db").read_bytes(), wal.read_bytes()
    code, text = await refused(recorded, *command)
    assert (code, "is a database, and would be lost" in text) == (2, True), text
    assert ((recorded / "runs.db").read_bytes(), wal.read_bytes()) == before

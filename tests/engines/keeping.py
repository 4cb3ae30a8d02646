"""Who keeps a real engine running while a test kills it? A supervisor that counts every exit and ends with the test."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

ROOT = Path(__file__).parents[2]
PAUSE_S = 0.3


@dataclass(frozen=True, slots=True)
class Engine:
    """A real engine under a supervisor that tells of it in `folder`."""

    url: str
    folder: Path

    @property
    def log(self) -> Path:
        return self.folder / "engine.log"

    @property
    def pid(self) -> int:
        """The process that listens."""
        return int((self.folder / "engine.pid").read_text())

    @property
    def exits(self) -> list[int]:
        """The return codes of its lives that ended, negative for a signal."""
        told = self.folder / "exits"
        return [int(line) for line in told.read_text().split()] if told.exists() else []

    @property
    def deaths(self) -> int:
        return len(self.exits)


class Keeper(threading.Thread):
    """A supervisor in our own process: starts `command` again whenever it exits, until it is told to end."""

    def __init__(self, command: Sequence[str], engine: Engine, env: Mapping[str, str]) -> None:
        super().__init__(name="keeper")
        self.engine = engine
        self.command = command
        self.env = {**os.environ, **env}
        self.ended = threading.Event()

    def run(self) -> None:
        with self.engine.log.open("ab") as log, (self.engine.folder / "exits").open("a") as exits:
            while not self.ended.is_set():
                process = subprocess.Popen(
                    self.command, stdout=log, stderr=subprocess.STDOUT, env=self.env, start_new_session=True
                )
                (self.engine.folder / "engine.pid").write_text(str(process.pid))
                code = process.wait()
                end_group(process.pid)  # what it leaves behind
                exits.write(f"{code}\n")
                exits.flush()
                self.ended.wait(PAUSE_S)

    def end(self) -> None:
        self.ended.set()
        while self.is_alive():
            end_group(self.engine.pid)
            self.join(timeout=0.2)


@contextmanager
def kept(
    command: Sequence[str],
    url: str,
    folder: Path,
    *,
    within_s: float,
    env: Mapping[str, str] | None = None,
    health: str = "/health",
) -> Iterator[Engine]:
    """The engine, serving. Raises AssertionError with the end of its log where it does not serve in time."""
    engine = Engine(url, folder)
    keeper = Keeper(command, engine, env or {})
    keeper.start()
    try:
        serving(engine, within_s, health)
        yield engine
    finally:
        keeper.end()


@contextmanager
def warm(
    home: Path, arguments: Sequence[str], url: str, folder: Path, *, within_s: float, env: Mapping[str, str]
) -> Iterator[Engine]:
    """vLLM from the environment `home`, under the supervisor that keeps its imports warm."""
    engine = Engine(url, folder)
    command = (str(home / "bin" / "python"), str(Path(__file__).with_name("warm_vllm.py")), str(folder), *arguments)
    with engine.log.open("ab") as log:
        process = subprocess.Popen(
            command, stdout=log, stderr=subprocess.STDOUT, env={**os.environ, **env}, cwd=folder, start_new_session=True
        )
        try:
            serving(engine, within_s)
            yield engine
        finally:
            process.terminate()
            process.wait(timeout=30)


def end_group(leader: int) -> None:
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        return


def serving(engine: Engine, within_s: float, health: str = "/health") -> None:
    """Return when `health` says 200. Raises AssertionError where it does not in time."""
    until = time.monotonic() + within_s
    with httpx.Client(trust_env=False, timeout=5) as client:
        while True:
            try:
                if client.get(f"{engine.url}{health}").status_code == 200:
                    return
            except httpx.TransportError:
                pass
            assert time.monotonic() < until, f"not serving after {within_s:g} s: {engine.exits} {tail(engine.log)}"
            time.sleep(0.1)


def free_port() -> int:
    """A port that was free a moment ago: an engine that comes back must come back to the same one."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def tail(path: Path, characters: int = 2_000) -> str:
    return path.read_text(errors="replace")[-characters:] if path.exists() else ""


def ctxfuzz(folder: Path, *args: str, within_s: float = 900) -> tuple[int, dict[str, Any], str]:
    """Exit code, JSON and stderr of one command of the CLI, run as a user runs it.

    Always the same prompts: a model of random weights answers some of them with what is no text.
    """
    done = subprocess.run(
        [sys.executable, "-m", "fuzzer.cli", *args, "--json"],
        cwd=folder,
        env={"CTXFUZZ_SEED": "0", **os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=within_s,
        check=False,
    )
    return done.returncode, json.loads(done.stdout or "{}"), done.stderr


def post(url: str, body: Mapping[str, object], path: str = "/v1/completions") -> httpx.Response:
    """One plain request that owes nothing to ctxfuzz. Raises httpx's errors."""
    with httpx.Client(trust_env=False, timeout=120) as client:
        return client.post(f"{url}{path}", json=dict(body))

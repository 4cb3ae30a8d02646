"""How is the program run a hundred times without being loaded a hundred times? By forks of one process that has it.

`python -m MODULE ...` is then a fork of a process that has imported the command line: a process of its own, with its
own streams, folder and environment, and nothing to read. What only a new interpreter reads starts a new one. So do
tests about starting, about terminals, signals and streams that are shut, which use `subprocess` itself.
"""

from __future__ import annotations

import gc
import json
import os
import pkgutil
import runpy
import selectors
import signal
import socket
import struct
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).parents[1]
READ_AT_START = ("PYTHON", "LC_", "LANG", "TZ")  # how the names of such variables begin
LONGEST_S = 240.0
NUMBER = struct.Struct("i")

Done = subprocess.CompletedProcess[bytes]


def run(command: list[str], *, cwd: Path, env: Mapping[str, str], timeout_s: float = LONGEST_S) -> Done:
    """As `subprocess.run`, with both outputs kept; also what fails comes back."""
    if _needs_an_interpreter(env):
        return subprocess.run(command, cwd=cwd, env=env, capture_output=True, timeout=timeout_s, check=False)
    return _Fork(command, cwd, env).ended(timeout_s)


async def run_process(command: list[str], *, cwd: Path, env: Mapping[str, str]) -> Done:
    """As `anyio.run_process`; also what fails comes back."""
    if _needs_an_interpreter(env):
        return await anyio.run_process(command, cwd=cwd, env=env, check=False)
    fork = _Fork(command, cwd, env)
    try:
        return await anyio.to_thread.run_sync(fork.ended, LONGEST_S, abandon_on_cancel=True)
    finally:
        fork.kill()


class _Fork:
    """One run of the program. `ended` waits for it, in any thread; `kill` is for whoever waits no longer."""

    def __init__(self, command: list[str], cwd: Path, env: Mapping[str, str]) -> None:
        assert command[:2] == [sys.executable, "-m"], command
        self._command, self._is_over = command, False
        asked = json.dumps({"argv": command[2:], "cwd": str(cwd), "env": dict(env)}).encode()
        self._reply, theirs = socket.socketpair()
        (self._out, out), (self._err, err) = os.pipe(), os.pipe()
        with theirs, Path(os.devnull).open() as nothing:
            socket.send_fds(_server.control(), [NUMBER.pack(len(asked))], [nothing.fileno(), out, err, theirs.fileno()])
            _server.control().sendall(asked)
        os.close(out)
        os.close(err)
        (self._pid,) = NUMBER.unpack(self._reply.recv(NUMBER.size))

    def ended(self, timeout_s: float) -> Done:
        heard = {self._out: b"", self._err: b""}
        until = time.monotonic() + timeout_s
        with self._reply, selectors.DefaultSelector() as open_yet:
            for stream in heard:
                open_yet.register(stream, selectors.EVENT_READ)
            while open_yet.get_map():
                ready = open_yet.select(max(until - time.monotonic(), 0.0))
                if not ready and time.monotonic() > until:
                    self.kill()
                    raise subprocess.TimeoutExpired(self._command, timeout_s)
                for key, _ in ready:
                    piece = os.read(key.fd, 1 << 16)
                    heard[key.fd] += piece
                    if not piece:
                        open_yet.unregister(key.fd)
                        os.close(key.fd)
            (code,) = NUMBER.unpack(self._reply.recv(NUMBER.size))
        self._is_over = True
        return subprocess.CompletedProcess(self._command, code, heard[self._out], heard[self._err])

    def kill(self) -> None:
        if not self._is_over:
            with suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)


class _Server:
    """The process that is forked, started by the first who needs it."""

    def __init__(self) -> None:
        self._control: socket.socket | None = None
        self._held = ExitStack()
        self.env: dict[str, str] = {}

    def control(self) -> socket.socket:
        if self._control is None:
            self.env = {**os.environ, "PYTHONPATH": str(ROOT)}
            self._control, theirs = socket.socketpair()
            with theirs:
                command = [sys.executable, "-m", "tests.forked", str(theirs.fileno())]
                silent: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
                served = subprocess.Popen(command, cwd=ROOT, env=self.env, pass_fds=[theirs.fileno()], **silent)
            self._held.enter_context(served)
            self._held.enter_context(self._control)
            self._held.callback(self._control.shutdown, socket.SHUT_RDWR)  # ends it, whoever else still has the socket
        return self._control

    def stop(self) -> None:
        self._held.close()
        self._control = None


_server = _Server()
stop = _server.stop


def _needs_an_interpreter(env: Mapping[str, str]) -> bool:
    _server.control()
    theirs, ours = (
        {name: value for name, value in each.items() if name.startswith(READ_AT_START)} for each in (env, _server.env)
    )
    return theirs != ours


def _serve(control: socket.socket) -> list[str]:
    """Fork for each request. Returns in the forks alone, with the arguments that are theirs."""
    while True:
        head, fds, _, _ = socket.recv_fds(control, NUMBER.size, 4)
        if not head:
            while _reaped(0):
                pass
            sys.exit()
        (size,) = NUMBER.unpack(head)
        asked = json.loads(control.recv(size, socket.MSG_WAITALL))
        if os.fork() == 0:
            control.close()
            return _kept(asked, fds[:3], socket.socket(fileno=fds[3]))
        for fd in fds:
            os.close(fd)
        while _reaped(os.WNOHANG):
            pass


def _kept(asked: Any, streams: list[int], reply: socket.socket) -> list[str]:
    """Fork once more, tell who that is and how it ends. Returns in that fork alone."""
    if pid := os.fork():
        for stream in streams:
            os.close(stream)
        reply.sendall(NUMBER.pack(pid))
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        with suppress(BrokenPipeError):
            reply.sendall(NUMBER.pack(code))
        os._exit(0)
    reply.close()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["env"])
    argv: list[str] = asked["argv"]
    return argv


def _reaped(how: int) -> bool:
    try:
        return os.waitpid(-1, how)[0] != 0
    except ChildProcessError:
        return False


def _load() -> None:
    package = import_module("fuzzer.cli")
    for module in pkgutil.iter_modules(package.__path__, "fuzzer.cli."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    gc.freeze()


if __name__ == "__main__":
    _load()
    sys.argv = _serve(socket.socket(fileno=int(sys.argv[1])))
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)

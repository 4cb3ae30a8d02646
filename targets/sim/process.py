"""What runs as the engine's own process? One socket to the API server, one engine, and a death that is real.

Started by `targets.sim.child` with the world as its first frame. It imports the standard library only, so that it is up
in some 50 ms. It never outlives its parent: the socket ends, and on Linux the kernel kills it, stopped or not.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import select
import signal
import socket
import sys
import time
from array import array
from pathlib import Path
from typing import Any, NoReturn

from targets.sim.engine import Engine
from targets.sim.failing import Rule
from targets.sim.flight import Request
from targets.sim.frames import Head, Unpacker, pack
from targets.sim.world import World

READ = 1 << 20
PR_SET_PDEATHSIG = 1


def main() -> None:
    """Serve until the parent goes away, or until a rule of the world kills this process."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the host, which then ends this process
    wire = socket.socket(fileno=0)
    unpacker = Unpacker()
    frames = unpacker.feed(wire.recv(READ))
    while (first := next(frames, None)) is None:
        frames = unpacker.feed(_read(wire))
    engine = _born(first[0], wire)
    for head, body in frames:
        _obey(engine, head, body)
    _serve(engine, wire, unpacker)


def _born(head: Head, wire: socket.socket) -> Engine:
    words = json.loads((Path(__file__).parent / "tokenizer" / "words.json").read_text(encoding="utf-8"))

    def emit(event: dict[str, Any]) -> None:
        wire.sendall(pack(event))

    world = World.from_dict(head["world"])
    engine = Engine(world, words, life=head["life"], born=time.monotonic(), emit=emit, die=_die)
    emit({"event": "ready", "pid": os.getpid()})
    return engine


def _serve(engine: Engine, wire: socket.socket, unpacker: Unpacker) -> NoReturn:
    told: dict[str, float] = {}
    while True:
        due = engine.run(time.monotonic())
        if engine.counters != told:
            told = dict(engine.counters)
            wire.sendall(pack({"event": "counters", "counters": told, "accepted_at": engine.accepted_at}))
        wait = None if due is None else max(due - time.monotonic(), 0)
        if select.select([wire], [], [], wait)[0]:
            for head, body in unpacker.feed(_read(wire)):
                _obey(engine, head, body)


def _obey(engine: Engine, head: Head, body: bytes) -> None:
    now = time.monotonic()
    match head.pop("op"):
        case "generate":
            ids = array("I")
            ids.frombytes(body)
            engine.admit(Request(ids=ids, **head), now)
        case "abort":
            engine.abort(head["id"])
        case "refused":
            engine.refused(head["prompt"], head["asked"], now)
        case other:
            raise ValueError(f"unknown message {other!r}")


def _read(wire: socket.socket) -> bytes:
    data = wire.recv(READ)
    if not data:
        os._exit(0)
    return data


def _die(rule: Rule) -> NoReturn:
    print(f"(EngineCore pid={os.getpid()}) ERROR {rule.last_words}", file=sys.stderr, flush=True)  # noqa: T201
    os.abort()

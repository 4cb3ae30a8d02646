"""How does the host hold one engine process? Start it, talk to it, see it die, end it. One object a life."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

from targets.sim.frames import Head, Unpacker, pack
from targets.sim.world import World

ROOT = Path(__file__).parent.parent.parent
BOOT = "import sys; sys.path.insert(0, sys.argv[1]); from targets.sim.process import main; main()"
READ = 1 << 16
DEAD: Head = {"event": "dead"}


@dataclass(slots=True)
class Child:
    """One life of one engine. `dead` is set once its process is gone and reaped; `status` is then its exit status."""

    process: subprocess.Popen[bytes]
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    counters: Mapping[str, float] = field(default_factory=dict)
    accepted_at: list[float] = field(default_factory=list)
    dead: asyncio.Event = field(default_factory=asyncio.Event)
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    status: int | None = None
    _queues: dict[int, asyncio.Queue[Head]] = field(default_factory=dict)
    _next_id: int = 0
    _listener: asyncio.Task[None] | None = None

    @classmethod
    async def start(cls, world: World, life: int, log: Path | None) -> Self:
        """Start a process for this life and wait until it is ready. Its last words are appended to `log`."""
        ours, theirs = socket.socketpair()
        with theirs, (log or Path(os.devnull)).open("ab") as last_words:
            process = subprocess.Popen(  # noqa: ASYNC220, S603  (a fork, not a wait; our own interpreter)
                [sys.executable, "-S", "-E", "-c", BOOT, str(ROOT)],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=last_words,
                cwd="/",
            )
        reader, writer = await asyncio.open_connection(sock=ours)
        child = cls(process, reader, writer)
        child._listener = asyncio.create_task(child._listen())
        try:
            settings = {name: value for name, value in asdict(world).items() if name != "expect"}
            writer.write(pack({"world": settings, "life": life}))
            await either(child.ready, child.dead)
        except asyncio.CancelledError:
            await child.end()
            raise
        return child

    @property
    def pid(self) -> int:
        return self.process.pid

    @contextlib.contextmanager
    def exchange(self, head: Head, ids: array[int]) -> Iterator[asyncio.Queue[Head]]:
        """Send one request; its events come through the queue, `dead` where the process dies. Leaving aborts it."""
        self._next_id += 1
        number = self._next_id
        queue: asyncio.Queue[Head] = asyncio.Queue()
        self._queues[number] = queue
        self._send({"op": "generate", "id": number, **head}, ids.tobytes())
        if self.dead.is_set():
            queue.put_nowait(DEAD)
        try:
            yield queue
        finally:
            del self._queues[number]
            self._send({"op": "abort", "id": number})

    def refused(self, prompt: int, asked: int) -> None:
        """Tell the engine that a request was refused: some builds do not survive that."""
        self._send({"op": "refused", "prompt": prompt, "asked": asked})

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the engine process, if it still lives."""
        if self.process.poll() is None:
            os.kill(self.pid, number)

    async def end(self) -> None:
        """Kill and reap. Does nothing to the dead."""
        self.signal(signal.SIGKILL)
        await self.dead.wait()

    def _send(self, head: Head, body: bytes = b"") -> None:
        if not self.dead.is_set():
            self.writer.write(pack(head, body))

    async def _listen(self) -> None:
        unpacker = Unpacker()
        try:
            while data := await self.reader.read(READ):
                for head, _ in unpacker.feed(data):
                    self._heard(head)
        except ConnectionError:
            pass  # it died with our frames unread
        self.writer.close()
        self.status = await asyncio.to_thread(self.process.wait)
        self.dead.set()
        for queue in self._queues.values():
            queue.put_nowait(DEAD)

    def _heard(self, head: dict[str, Any]) -> None:
        match head["event"]:
            case "ready":
                self.ready.set()
            case "counters":
                self.counters, self.accepted_at = head["counters"], head["accepted_at"]
            case _:
                if queue := self._queues.get(head["id"]):  # its client may have left in the meantime
                    queue.put_nowait(head)


async def either(*events: asyncio.Event) -> None:
    """Wait until one of the events is set."""
    waits = [asyncio.create_task(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()

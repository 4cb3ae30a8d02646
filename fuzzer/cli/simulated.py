"""How are the simulator's worlds found, served, and bisected for show?"""

from __future__ import annotations

import logging
import os
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Never

import anyio

from fuzzer.cli import conduct
from fuzzer.cli.common import CommonFlags
from fuzzer.cli.listening import listening_at
from fuzzer.cli.streams import emit, say
from fuzzer.errors import UsageFault
from targets.sim import running
from targets.sim import serve as serve_world
from targets.sim.strict import BadWorld
from targets.sim.world import World, shipped

if TYPE_CHECKING:
    from targets.sim import Simulation

INCIDENT = "incident"
AFTER_DEMO = (
    "ctxfuzz show last",
    "ctxfuzz bisect --url http://HOST:8000 --lo 8k --hi 300k --dry-run   # your own",
)


def list_worlds() -> None:
    """Each world that is shipped: its name and all that it says of itself."""
    known = shipped()
    width = max(map(len, known))
    emit("\n".join(f"{name:<{width}}  {_described(path)}" for name, path in known.items()))


def load(world: str) -> World:
    """A shipped world by its name, or one from a file. Raises UsageFault."""
    known = shipped()
    path = known.get(world, Path(world))
    if world not in known and not os.path.isfile(path):  # noqa: PTH113  (Path's own may raise)
        raise UsageFault(
            f"There is no world {world!r}: name a TOML or JSON file, or one that `ctxfuzz sim --list` lists."
        )
    try:
        return World.load(path)
    except (BadWorld, OSError) as error:
        raise UsageFault(f"The world cannot be used: {error}. Mend it, or try one of `ctxfuzz sim --list`.") from None


def serve(world: str, host: str, port: int) -> None:
    """Serve until a signal. Raises UsageFault where the port cannot be had."""
    loaded = load(world)

    def introduce(simulation: Simulation) -> None:
        lo, hi = _asked(loaded)
        emit(simulation.url)
        say(f"{loaded.name}: {loaded.model}, a simulated {loaded.dialect} that dies as its world says. Ctrl-C ends it.")
        say(f"  ctxfuzz bisect --url {simulation.url} --lo {lo} --hi {hi}")
        say(f"  ctxfuzz probe {lo} --url {simulation.url}")
        say(f"  curl {simulation.control_url}/sim/deaths")

    _expect_clients_to_leave()
    with listening_at(host, port):
        serve_world(loaded, host, port, started=introduce)


def demo(*, db: Path, json: bool, verbose: bool, quiet: bool) -> Never:
    """Bisect the incident's world over HTTP, and leave with the finding's exit code."""
    world = load(INCIDENT)
    lo, hi = _asked(world)

    async def played() -> conduct.Ending:
        _expect_clients_to_leave()
        with TemporaryDirectory() as folder:
            log = Path(folder) / "engine.log"
            async with running(world, log=log) as simulation:
                flags = CommonFlags(
                    url=simulation.url, db=db, json=json, verbose=verbose, quiet=quiet, engine_log=str(log)
                )
                return await conduct.watched(flags, conduct.bisecting({"lo": lo, "hi": hi}))

    conduct.conclude(CommonFlags(url="", db=db, json=json), anyio.run(played), next_=AFTER_DEMO)


def _expect_clients_to_leave() -> None:
    """asyncio warns of a client that leaves in mid-stream. Probes do so on purpose: here it is no news."""
    logging.getLogger("asyncio").setLevel(logging.ERROR)


def _asked(world: World) -> tuple[int, int]:
    """A bracket that is worth asking in this world."""
    expect = world.expect
    if expect is None:
        return 1, world.limit.tokens
    return expect.lo, expect.hi


def _described(path: Path) -> str:
    """The comment that the file begins with, in one line."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return " ".join(line.removeprefix("#").strip() for line in takewhile(lambda line: line.startswith("#"), lines))

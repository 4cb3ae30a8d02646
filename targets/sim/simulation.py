"""How is a world brought to life? Listener, supervisor, control port and proxy, put together and taken down again."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path

from starlette.applications import Starlette

from targets.sim.api import application
from targets.sim.control import routes
from targets.sim.listener import Listener
from targets.sim.proxy import ReverseProxy
from targets.sim.site import Site
from targets.sim.supervisor import Record, Supervisor
from targets.sim.world import World


class Simulation:
    """A running world. `url` is what a client is given, `engine_url` the API server behind any proxy."""

    def __init__(self, supervisor: Supervisor, site: Listener, front: Listener, control: Listener) -> None:
        self._supervisor = supervisor
        self.url = _url(front)
        self.engine_url = _url(site)
        self.control_url = _url(control)

    @property
    def deaths(self) -> int:
        """Deaths of engine processes that nobody asked for."""
        return len(self._supervisor.deaths)

    @property
    def log(self) -> list[Record]:
        """Every generation request that reached the API server, canaries too, in order of arrival."""
        return self._supervisor.records

    def pids(self) -> list[int]:
        """The engine processes of now."""
        return [seat.child.pid for seat in self._supervisor.seats if seat.child and not seat.child.dead.is_set()]

    def kill(self, engine: int = 0) -> None:
        """SIGKILL to an engine: a death like any other."""
        self._signal(engine, signal.SIGKILL)

    def stop(self, engine: int = 0) -> None:
        """SIGSTOP: everything hangs, health stays green."""
        self._signal(engine, signal.SIGSTOP)

    def cont(self, engine: int = 0) -> None:
        """SIGCONT."""
        self._signal(engine, signal.SIGCONT)

    def restart(self) -> None:
        """What `POST /sim/restart` does."""
        self._supervisor.restart()

    async def down(self) -> None:
        """Wait until nobody listens any more."""
        await self._supervisor.down()

    async def listening(self) -> None:
        """Wait until somebody listens, be it only to say that it is loading."""
        await self._supervisor.listening()

    async def up(self) -> None:
        """Wait until every engine serves."""
        await self._supervisor.all_up()

    def _signal(self, engine: int, number: signal.Signals) -> None:
        child = self._supervisor.seats[engine].child
        assert child is not None
        child.signal(number)


@contextlib.asynccontextmanager
async def running(
    world: World, *, host: str = "127.0.0.1", port: int = 0, control_port: int = 0, log: Path | None = None
) -> AsyncIterator[Simulation]:
    """Bring a world to life; it serves when this yields. `log`: a file that the engines' last words are appended to.

    Raises OSError where a port is taken.
    """
    async with contextlib.AsyncExitStack() as stack:
        supervisor = Supervisor(world, log)
        site = Site(world, supervisor)
        back_port = 0 if world.proxy else port
        site.listener = _listener(stack, Listener(application(site), host, back_port, site.dialect.server))
        supervisor.listener = site.listener
        control = _listener(stack, Listener(Starlette(routes=routes(supervisor)), host, control_port))
        control.open()
        front = site.listener
        if world.proxy:
            proxy = ReverseProxy(world.proxy, _url(site.listener))
            stack.push_async_callback(proxy.aclose)
            front = _listener(stack, Listener(proxy, host, port, proxy.server))
            front.open()
        lives = asyncio.create_task(supervisor.run())
        stack.push_async_callback(_cancel, lives)
        await _before(lives, supervisor.all_up())
        yield Simulation(supervisor, site.listener, front, control)


def serve(
    world: World,
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    control_port: int = 0,
    log: Path | None = None,
    started: Callable[[Simulation], None] = lambda _: None,
) -> None:
    """Serve a world until SIGINT or SIGTERM. `started` is told once it serves. Raises OSError where a port is taken."""

    async def until_signal() -> None:
        stop = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        async with running(world, host=host, port=port, control_port=control_port, log=log) as simulation:
            started(simulation)
            await stop.wait()

    asyncio.run(until_signal())


async def _before(lives: asyncio.Task[None], goal: Coroutine[None, None, None]) -> None:
    """Wait for the goal. Raises what the supervisor raises, should it fail first."""
    reaching = asyncio.create_task(goal)
    try:
        await asyncio.wait({lives, reaching}, return_when=asyncio.FIRST_COMPLETED)
        if lives.done():
            lives.result()
    finally:
        reaching.cancel()


def _listener(stack: contextlib.AsyncExitStack, listener: Listener) -> Listener:
    stack.callback(listener.release)
    return listener


async def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


def _url(listener: Listener) -> str:
    host = f"[{listener.host}]" if ":" in listener.host else listener.host
    return f"http://{host}:{listener.port}"

"""How does one get an endpoint that really dies? `running(world)` for tests, `serve(world)` for the command line.

Light on purpose: the engine process imports this package too, and has to be up in some 50 ms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from targets.sim.simulation import Simulation, running, serve

__all__ = ["Simulation", "running", "serve"]


def __getattr__(name: str) -> object:
    if name in __all__:
        from targets.sim import simulation  # noqa: PLC0415

        found: object = getattr(simulation, name)
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""How do tests and `--on-death` reach behind the endpoint? `/sim/log`, `/sim/deaths` and `/sim/restart`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from starlette.responses import JSONResponse, Response
from starlette.routing import Route

if TYPE_CHECKING:
    from starlette.requests import Request

    from targets.sim.supervisor import Supervisor


def routes(supervisor: Supervisor) -> list[Route]:
    async def log(_: Request) -> Response:
        return JSONResponse({"records": [asdict(record) for record in supervisor.records]})

    async def deaths(_: Request) -> Response:
        records = [asdict(death) for death in supervisor.deaths]
        return JSONResponse({"deaths": len(records), "records": records})

    async def restart(_: Request) -> Response:
        supervisor.restart()
        return JSONResponse({"restarting": len(supervisor.seats)}, 202)

    async def engines(_: Request) -> Response:
        seats = [
            {
                "engine": seat.index,
                "phase": seat.phase,
                "incarnation": seat.incarnation,
                "pid": seat.child.pid if seat.child else None,
            }
            for seat in supervisor.seats
        ]
        return JSONResponse({"engines": seats})

    return [
        Route("/sim/log", log),
        Route("/sim/deaths", deaths),
        Route("/sim/engines", engines),
        Route("/sim/restart", restart, methods=["POST"]),
    ]

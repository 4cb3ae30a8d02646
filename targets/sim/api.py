"""Which paths does the simulated API server serve? Routes in the dialect of the world."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from targets.sim import control
from targets.sim.admission import admit
from targets.sim.exposition import Gauges, exposition
from targets.sim.prompt import BOS, encode, rendered, tokenizer
from targets.sim.supervisor import Phase

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send

    from targets.sim.site import Site


def application(site: Site) -> ASGIApp:
    """The ASGI application, behind the gate that plays a blocked event loop."""
    router = Starlette(routes=_routes(site))

    async def gated(scope: Scope, receive: Receive, send: Send) -> None:
        await site.unblocked()
        await router(scope, receive, send)

    return gated


def _routes(site: Site) -> list[Route]:
    offered = site.dialect.paths
    if not site.world.metrics:
        offered -= {"/metrics"}
    if not site.world.tokenize:
        offered -= {"/tokenize", "/detokenize"}
    reads: dict[str, Callable[[Site, Request], Awaitable[Response]]] = {
        "/health": _health,
        "/health_generate": _health,
        "/ping": _health,
        "/version": _version,
        "/load": _load,
        "/props": _props,
        "/server_info": _server_info,
        "/metrics": _metrics,
    }
    writes: dict[str, Callable[[Site, Request], Awaitable[Response]]] = {
        "/tokenize": _tokenize,
        "/detokenize": _detokenize,
    }
    return [
        Route("/v1/completions", partial(_generate, site, chat=False), methods=["POST"]),
        Route("/v1/chat/completions", partial(_generate, site, chat=True), methods=["POST"]),
        Route("/v1/models", partial(_models, site)),
        *[Route(path, partial(handler, site)) for path, handler in reads.items() if path in offered],
        *[Route(path, partial(handler, site), methods=["POST"]) for path, handler in writes.items() if path in offered],
        *control.routes(site.supervisor),
    ]


async def _generate(site: Site, request: Request, *, chat: bool) -> Response:
    return await admit(site, request, chat=chat)


async def _health(site: Site, _: Request) -> Response:
    health = site.world.health
    if health.slow_s:
        await asyncio.sleep(health.slow_s)
    if site.meshed():
        return PlainTextResponse("upstream connect error or disconnect/reset before headers", 503)
    seat = site.supervisor.pick()
    if seat.phase is Phase.LOADING:
        return JSONResponse(site.dialect.loading, 503)
    red = health.red_after_s is not None and site.prefilling.longest() > health.red_after_s
    if red or seat.phase is not Phase.UP:
        return Response(status_code=503)
    return JSONResponse(site.dialect.health) if site.dialect.health else Response()


async def _version(site: Site, _: Request) -> Response:
    return JSONResponse({"version": site.world.version})


async def _load(site: Site, _: Request) -> Response:
    return JSONResponse({"server_load": sum(record.outcome == "open" for record in site.supervisor.records)})


async def _models(site: Site, request: Request) -> Response:
    if refused := site.unauthorised(request):
        return refused
    world = site.world
    model: dict[str, Any] = {"id": world.model, "object": "model", "created": int(time.time())}
    if world.dialect == "llamacpp":
        meta = {"n_vocab": world.vocabulary, "n_ctx": world.limit.shown, "n_ctx_train": world.limit.shown}
        model |= {"owned_by": "llamacpp", "meta": meta}
    else:
        model |= {"owned_by": world.dialect, "root": world.model, "max_model_len": world.limit.shown}
    return JSONResponse({"object": "list", "data": [model]})


async def _props(site: Site, _: Request) -> Response:
    settings = {"n_ctx": site.world.limit.shown}
    body = {"default_generation_settings": settings, "total_slots": site.world.slots, "build_info": site.world.version}
    return JSONResponse(body)


async def _server_info(site: Site, _: Request) -> Response:
    return JSONResponse({"version": site.world.version, "max_total_num_tokens": site.world.cache.kv_tokens})


async def _metrics(site: Site, _: Request) -> Response:
    seat = site.supervisor.pick()
    gauges = [
        Gauges(one.index % site.world.data_parallel, one.born, one.child.counters, one.child.accepted_at)
        for one in site.supervisor.engines_of(seat)
        if one.child and one.phase is not Phase.DOWN
    ]
    born = site.supervisor.api_born(seat)
    headers = {"process-start-time-unix": f"{born:.0f}"} if site.world.dialect == "llamacpp" else {}
    return PlainTextResponse(exposition(site.world, born, gauges), headers=headers)


async def _tokenize(site: Site, request: Request) -> Response:
    body = await request.json()
    if site.world.dialect == "llamacpp":
        ids = list(await encode(body["content"]))
        pieces = [{"id": one, "piece": tokenizer().decode([one])} for one in ids] if body.get("with_pieces") else ids
        return JSONResponse({"tokens": pieces})
    if "messages" in body:
        ids = list(await encode(rendered(body["messages"], generate=body.get("add_generation_prompt", True))))
        ids = [BOS] * (site.world.chat_extra + site.world.bos) + ids
    else:
        bos = site.world.bos and body.get("add_special_tokens", True)
        ids = [BOS] * bos + list(await encode(body["prompt"]))
    strings = [tokenizer().id_to_token(one) for one in ids] if body.get("return_token_strs") else None
    return JSONResponse(
        {"count": len(ids), "max_model_len": site.world.limit.shown, "tokens": ids, "token_strs": strings}
    )


async def _detokenize(site: Site, request: Request) -> Response:
    text = tokenizer().decode((await request.json())["tokens"], skip_special_tokens=False)
    return JSONResponse({"content" if site.world.dialect == "llamacpp" else "prompt": text})

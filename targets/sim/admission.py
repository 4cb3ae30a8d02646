"""Is this request let through to the engine? Parsed, held against the limit, then refused, cut, clamped or admitted."""

from __future__ import annotations

import json
from array import array
from typing import TYPE_CHECKING, Any

from starlette.responses import JSONResponse, Response

from targets.sim.dialects import ENGINE_DEAD, Asked, prompt_refused, sum_refused
from targets.sim.generation import Answer, Plan
from targets.sim.prompt import BadPrompt, chat_ids, completion_ids
from targets.sim.supervisor import Phase, Seat
from targets.sim.world import World

if TYPE_CHECKING:
    from starlette.requests import Request

    from targets.sim.site import Site

COMPLETION_TOKENS = 16  # where a completion leaves max_tokens out
SALT_CHARS = 128
SALT_NEVER = frozenset("@/\\\0")
BAD_SALT = (
    "Parameter 'cache_salt' must be at most 128 characters and must not contain '@', '/', '\\', or NUL. "
    "(parameter=cache_salt)"
)


async def admit(site: Site, request: Request, *, chat: bool) -> Response:
    """The response to one generation request: a refusal, or an Answer that is still to come."""
    raw = await request.body()
    if refused := site.unauthorised(request):
        return refused
    try:
        body = json.loads(raw)
    except ValueError:
        return site.error("JSON decode error", "Bad Request", 500 if site.world.dialect == "llamacpp" else 400)
    if site.dialect.checks_model and body.get("model", site.world.model) != site.world.model:
        message = f"The model `{body['model']}` does not exist. Valid aliases: {site.world.model}."
        return site.error(message, "NotFoundError", 404, "model")
    seat = site.supervisor.pick()
    if seat.phase is not Phase.UP:
        return _not_up(site, seat)
    try:
        ids = await _ids(body, site.world, chat=chat)
    except BadPrompt as error:
        return site.error(str(error), "BadRequestError", 400)
    site.block()
    return _against_limit(site, seat, body, ids, chat=chat)


def _not_up(site: Site, seat: Seat) -> Response:
    if seat.phase is Phase.LOADING:
        return JSONResponse(site.dialect.loading, 503)
    return site.error(ENGINE_DEAD, "InternalServerError", 500)


async def _ids(body: dict[str, Any], world: World, *, chat: bool) -> array[int]:
    salt = str(body.get("cache_salt") or "")
    if world.dialect == "vllm" and (len(salt) > SALT_CHARS or set(salt) & SALT_NEVER):
        raise BadPrompt(BAD_SALT)
    return await (chat_ids(body.get("messages"), world) if chat else completion_ids(body.get("prompt"), world))


def _against_limit(site: Site, seat: Seat, body: dict[str, Any], ids: array[int], *, chat: bool) -> Response:
    assert seat.child is not None
    named = next((body[key] for key in ("max_tokens", "max_completion_tokens") if body.get(key) is not None), None)
    asked = named if named is not None else site.world.limit.tokens if chat else COMPLETION_TOKENS
    if site.world.dialect == "llamacpp":
        asked = max(asked, 1)
    record = site.supervisor.record(seat, len(ids), asked)
    refusal = _refusal(site, len(ids), asked, named=named is not None)
    if refusal is not None:
        record.outcome, record.status = "refused", refusal.status_code
        seat.child.refused(len(ids), asked)
        return refusal
    seat.ordinal += 1
    return Answer(site, seat, record, _plan(site.world, body, ids, asked, chat=chat))


def _refusal(site: Site, prompt: int, asked: int, *, named: bool) -> Response | None:
    limit, numbers = site.world.limit, Asked(site.world.limit.tokens, prompt, asked)
    if asked < 1:
        message = f"max_tokens must be at least 1, got {asked}. (parameter=max_tokens, value={asked})"
        return site.error(message, "BadRequestError", 400, "max_tokens")
    if limit.over == "refuse" and prompt > limit.tokens - limit.prompt_room:
        status, body = prompt_refused(site.world, numbers)
        return JSONResponse(body, status)
    if not named or site.world.dialect == "llamacpp":
        return None
    if limit.sum_over == "refuse" and prompt + asked > limit.room:
        status, body = sum_refused(numbers)
        return JSONResponse(body, status)
    if asked > limit.tokens:
        message = (
            f"max_tokens={asked} cannot be greater than max_model_len={limit.tokens}. Please request fewer output "
            f"tokens. (parameter=max_tokens, value={asked})"
        )
        return site.error(message, "BadRequestError", 400, "max_tokens")
    return None


def _plan(world: World, body: dict[str, Any], ids: array[int], asked: int, *, chat: bool) -> Plan:
    if world.limit.over == "truncate":
        ids = ids[: world.limit.keep]
    output, finish = max(min(asked, world.limit.room - len(ids)), 1), "length"
    if world.eos_after is not None and world.eos_after < output and not body.get("ignore_eos"):
        output, finish = world.eos_after, "stop"
    return Plan(
        ids=ids,
        output=output,
        asked=asked,
        stream=bool(body.get("stream")),
        chat=chat,
        salt=str(body.get("cache_salt") or ""),
        finish=finish,
        usage=bool((body.get("stream_options") or {}).get("include_usage")),
        token_ids=bool(body.get("return_token_ids")),
    )

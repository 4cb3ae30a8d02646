"""Who is behind this URL? Connects to a target and finds its dialect, unless told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from targets.address import parse
from targets.bodies import at, string
from targets.errors import TargetUnusable
from targets.http import Http
from targets.openai import OpenAITarget
from targets.scout import MODELS, Scout, entries
from targets.table import DIALECTS, OPENAI

if TYPE_CHECKING:
    from collections.abc import Iterable

    from targets.base import Survey
    from targets.target import Target
    from targets.traits import Traits


async def connect(
    url: str,
    *,
    engine: str = "auto",
    model: str | None = None,
    api_key: str | None = None,
    headers: Iterable[tuple[str, str]] = (),
    cacert: str | None = None,
    insecure: bool = False,
    health_url: str | None = None,
    metrics_url: str | None = None,
    trust_env: bool = True,
) -> tuple[Target, Survey]:
    """A target that can be asked, and what it says of itself. The caller closes it.

    Raises TargetUnusable, a sentence with a next step, where it cannot be used; no secret is ever in it.
    """
    address = parse(url)
    if engine != "auto" and engine not in DIALECTS:
        raise TargetUnusable(f"There is no dialect {engine!r}: --engine takes auto, {', '.join(sorted(DIALECTS))}.")
    health, metrics = (None if one is None else parse(one, api=False) for one in (health_url, metrics_url))
    http = Http(
        address,
        api_key=api_key,
        headers=headers,
        cacert=cacert,
        insecure=insecure,
        trust_env=trust_env,
        elsewhere=[one for one in (health, metrics) if one is not None],
    )
    try:
        scout = Scout(http, address)
        traits = DIALECTS[engine] if engine != "auto" else await detect(scout)
        target = OpenAITarget(
            http,
            address,
            traits,
            model=model,
            health_url=None if health is None else health.at(""),
            metrics_url=None if metrics is None else metrics.at(""),
        )
        return target, await target.survey(scout)
    except BaseException:
        await http.aclose()
        raise


async def detect(scout: Scout) -> Traits:
    """The dialect, by who owns the models, else by marks; plain OpenAI where nothing betrays it."""
    listing = await scout.get(MODELS)
    if listing.fault is not None or listing.status in {401, 403, 407} or 300 <= (listing.status or 0) < 400:
        return OPENAI  # the survey says what is wrong
    owners = {(string(at(entry, "owned_by")) or "").lower() for entry in entries(await scout.json(MODELS))}
    for traits in DIALECTS.values():
        if owners & set(traits.owners):
            return traits
    for traits in DIALECTS.values():
        for mark in traits.marks:
            if await scout.betrays(mark):
                return traits
    return OPENAI

"""How much of a prompt came out of a prefix cache? PURE: by the usage, else by the engine's counters.

Counters do not tell whose prompt it was: whoever is to be held to a figure asks for one that can be nobody else's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzzer.vitals import contended

if TYPE_CHECKING:
    from collections.abc import Callable

    from fuzzer.evidence import Evidence
    from targets.scrape import Scrape


def cached_tokens(e: Evidence) -> int | None:
    """Prompt tokens out of a cache, of the probe and of whoever else was there; None where nothing tells."""
    told = e.reply.usage.cached_tokens
    return told if told is not None else _moved(e, lambda scrape: scrape.prefix_hits)


def certainly_cached(e: Evidence) -> int | None:
    """Those of the probe alone; None where others may have been read meanwhile."""
    if e.reply.usage.cached_tokens is not None:
        return e.reply.usage.cached_tokens
    hits = cached_tokens(e)
    if hits is None or e.companions or e.replicas or e.others_seen or contended(e):
        return None
    prompt = e.reply.usage.prompt_tokens or e.sent_tokens + (e.offset or 0)
    queried = _moved(e, lambda scrape: scrape.prefix_queries)
    if queried is None:  # then it counts as prompt tokens those that it read anew
        queried = hits + (_moved(e, lambda scrape: scrape.prompt_tokens) or 0)
    return hits if hits <= queried <= prompt else None


def _moved(e: Evidence, counter: Callable[[Scrape], float | None]) -> int | None:
    """What a counter rose by while the probe was open; None where it is not told, or fell."""
    old, new = (None if scrape is None else counter(scrape) for scrape in (e.before, e.after))
    return int(new - old) if old is not None and new is not None and new >= old else None

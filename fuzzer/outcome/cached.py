"""How much of a prompt came out of a prefix cache? PURE: by the usage, else by the engine's counters.

Counters do not tell whose prompt it was: whoever is to be held to a figure asks for one that can be nobody else's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fuzzer.outcome.vitals import contended

if TYPE_CHECKING:
    from collections.abc import Callable

    from fuzzer.evidence import Evidence
    from targets.scrape import Scrape


BLOCK_TOKENS: Final = 16  # of an engine that does not tell its own


def cached_tokens(e: Evidence) -> int | None:
    """Prompt tokens out of a cache, of the probe and of whoever else was there; None where nothing tells."""
    told = e.reply.usage.cached_tokens
    return told if told is not None else _moved(e, lambda scrape: scrape.prefix_hits)


def certainly_cached(e: Evidence) -> int | None:
    """Those of the probe alone; None where others may have been read meanwhile.

    What was looked up is the probe's own prompt only where it is as long, to a block.
    """
    if e.reply.usage.cached_tokens is not None:
        return e.reply.usage.cached_tokens
    hits = cached_tokens(e)
    queried = _moved(e, lambda scrape: scrape.prefix_queries)
    if hits is None or queried is None or e.companions or e.replicas or e.others_seen or contended(e):
        return None
    prompt = e.reply.usage.prompt_tokens or e.sent_tokens + (e.offset or 0)
    block = (e.after.block_size if e.after is not None else None) or BLOCK_TOKENS
    return hits if hits <= queried and abs(queried - prompt) <= block else None


def _moved(e: Evidence, counter: Callable[[Scrape], float | None]) -> int | None:
    """What a counter rose by while the probe was open; None where it is not told, or fell."""
    old, new = (None if scrape is None else counter(scrape) for scrape in (e.before, e.after))
    return int(new - old) if old is not None and new is not None and new >= old else None

"""How much context does an engine hold at once, and what does a drafter take of it? PURE: from its own figures.

Nothing long is sent for it: an engine that tells its pool tells more than any number of requests could show.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from targets.base import Survey
    from targets.scrape import Scrape

SHORTEST: Final = 8_000


@dataclass(frozen=True, slots=True)
class Pool:
    """What one engine tells of its memory for context. Tokens; None: it does not tell.

    `tokens` is the pool by the engine's own figure, or, where `reckoned`, blocks x block size; `slots` are the
    requests that it serves at once where each has a context of its own, and None where all share the pool.
    """

    url: str
    limit: int | None = None
    tokens: int | None = None
    source: str | None = None
    block_size: int | None = None
    blocks: int | None = None
    slots: int | None = None
    reckoned: bool = False

    @property
    def by_blocks(self) -> int | None:
        """Blocks x block size."""
        return None if self.blocks is None or self.block_size is None else self.blocks * self.block_size

    @property
    def uneven(self) -> bool:
        """True where not every token takes as much of a block: then `tokens` is that of the full window alone."""
        return self.tokens is not None and self.by_blocks not in {None, self.tokens}

    def at_least(self, length: int) -> float | None:
        """How many it certainly holds: a shorter request takes no more than one of the full window."""
        return self.requests(self.limit or length) if self.uneven else self.requests(length)

    def requests(self, length: int) -> float | None:
        """How many requests of so many tokens, prompt and output, it holds at once."""
        if self.tokens is None:
            return None
        share = self.tokens / length
        return share if self.slots is None else min(share, float(self.slots))


@dataclass(frozen=True, slots=True)
class Price:
    """What the drafter takes, against one control. `tokens` and `share` are negative where the target holds less."""

    name: str
    control: Pool
    tokens: int | None = None
    share: float | None = None


@dataclass(frozen=True, slots=True)
class Capacity:
    """The target's pool, how many requests it holds at each length, and the price of the drafter by each control."""

    target: Pool
    rows: tuple[tuple[int, float], ...]  # (length, requests at once)
    prices: tuple[Price, ...] = ()

    @property
    def missing(self) -> str | None:
        """Which figure the target does not tell; None where the question is answered."""
        if self.target.tokens is not None:
            return None
        return "the target tells no KV pool: neither its metrics nor what it says of itself name one"

    @property
    def words(self) -> str:
        """The answer in one sentence."""
        pool = self.target
        if pool.tokens is None:
            return str(self.missing)
        told = [f"{pool.tokens:,} tokens of KV pool"]
        if pool.limit is not None:
            told.append(f"{self.target.requests(pool.limit):.2f} requests of the full window of {pool.limit:,}")
        told += [f"{price.share:+.1%} against {price.name}" for price in self.prices if price.share is not None]
        return "; ".join(told)

    def warnings(self) -> Iterator[str]:
        """What must not be concluded from these figures, a sentence each."""
        pools = [("the target", self.target), *((price.name, price.control) for price in self.prices)]
        for name, pool in pools:
            yield from _warnings(name, pool)


def pool_of(url: str, survey: Survey, scrape: Scrape | None) -> Pool:
    """What one engine tells: by its metrics, else (llama.cpp) by its slots, each of which has the whole limit."""
    if scrape is not None and scrape.kv_tokens is not None:
        source = "blocks x block size" if scrape.kv_reckoned else "metrics"
        blocks = (scrape.block_size, scrape.blocks)
        return Pool(url, survey.limit, scrape.kv_tokens, source, *blocks, reckoned=scrape.kv_reckoned)
    if survey.slots and survey.limit is not None:
        return Pool(url, survey.limit, survey.limit * survey.slots, "slots x n_ctx", slots=survey.slots)
    return Pool(url, survey.limit)


def capacity(target: Pool, controls: tuple[tuple[str, Pool], ...] = ()) -> Capacity:
    """The answer. Lengths are 8k, 16k, 32k, ... and the limit."""
    rows = tuple((length, held) for length in _lengths(target) if (held := target.requests(length)) is not None)
    return Capacity(target, rows, tuple(_price(name, target, pool) for name, pool in controls))


def _lengths(pool: Pool) -> Iterator[int]:
    end = pool.limit or pool.tokens or 0
    length = SHORTEST
    while length < end:
        yield length
        length *= 2
    if end:
        yield end


def _price(name: str, target: Pool, control: Pool) -> Price:
    if target.tokens is None or not control.tokens:
        return Price(name, control)
    taken = target.tokens - control.tokens
    return Price(name, control, taken, taken / control.tokens)


def _warnings(name: str, pool: Pool) -> Iterator[str]:
    if pool.reckoned:
        yield (
            f"{name} does not tell its pool in tokens: {pool.tokens:,} is blocks x block size, which is too much where "
            "layers share blocks (hybrid models) or keep only a window"
        )
    elif pool.uneven:
        yield (
            f"{name}: blocks x block size would be {pool.by_blocks:,}. That is not the pool: the layers of a hybrid "
            "model, and of a sliding window, take different numbers of blocks for the same tokens. The engine's own "
            "figure is that of requests of the full window; of shorter ones only so many are certain"
        )
    if pool.slots is not None and pool.slots > 1:
        yield (
            f"{name}: {pool.tokens:,} is what its slots hold if each has a context of its own. Where they share one "
            f"(kv_unified, llama.cpp's default without -np) the pool is {pool.limit:,} tokens; its log says which"
        )
    if pool.tokens is not None and pool.limit is not None and pool.tokens < pool.limit:
        yield f"{name}: the pool of {pool.tokens:,} tokens holds no request of the full window of {pool.limit:,}"

"""How does a capacity read, to a person and to a machine? PURE: a table, and `ctxfuzz.capacity/1`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from fuzzer.report.plain import plain
from fuzzer.report.tables import aligned
from fuzzer.report.words import tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fuzzer.measure.capacity import Capacity, Pool, Price

SCHEMA: Final = "ctxfuzz.capacity/1"
UNTOLD: Final = "not told"


def capacity_object(told: Capacity) -> dict[str, Any]:
    """The capacity as plain JSON types; null is "not told". It holds no key of a run's: the CLI adds them."""
    return {
        "words": told.words,
        "missing": told.missing,
        "pool": asdict(told.target),
        "requests": [_row_object(length, held, told.target) for length, held in told.rows],
        "controls": [_price_object(price, told.target) for price in told.prices],
        "warnings": list(told.warnings()),
    }


def capacity_text(told: Capacity) -> str:
    """The figures, the table, the price of the drafter, and what must not be concluded."""
    return "\n".join(_lines(told))


def _lines(told: Capacity) -> Iterator[str]:
    pool = told.target
    yield f"KV pool  {_pool(pool)}"
    if pool.blocks is not None and pool.block_size is not None:
        yield f"blocks   {tokens(pool.blocks)} x {tokens(pool.block_size)} tokens"
    yield f"limit    {UNTOLD if pool.limit is None else tokens(pool.limit) + ' tokens'}"
    if pool.slots is not None:
        yield f"slots    {tokens(pool.slots)}: no more requests at once, however short"
    if told.missing is not None:
        yield told.missing
    if told.rows:
        names = [price.name for price in told.prices]
        rows = [(tokens(length), *(_held(pool, length) for pool in _pools(told))) for length, _ in told.rows]
        yield aligned([("length", "requests at once", *(f"on {plain(name, 30)}" for name in names)), *rows])
    for price in told.prices:
        yield from _priced(price, pool)
    for warning in told.warnings():
        yield f"note: {plain(warning, 400)}"


def _pool(pool: Pool) -> str:
    return UNTOLD if pool.tokens is None else f"{tokens(pool.tokens)} tokens ({pool.source})"


def _pools(told: Capacity) -> Iterator[Pool]:
    yield told.target
    yield from (price.control for price in told.prices)


def _held(pool: Pool, length: int) -> str:
    held, least = pool.requests(length), pool.at_least(length)
    if held is None or least is None:
        return "-"
    return f"{held:.2f}" if least == held else f"{least:.2f} to {held:.2f}"


def _priced(price: Price, target: Pool) -> Iterator[str]:
    name = plain(price.name, 30)
    if price.tokens is None or price.share is None:
        yield f"against {name}: not known; its pool is {_pool(price.control)}"
        return
    change = f"{tokens(price.control.tokens)} -> {tokens(target.tokens)} tokens"
    window = target.limit
    full = (
        "" if window is None else f"; {_full(price.control, window)} -> {_full(target, window)} requests of the limit"
    )
    yield f"against {name}: {change} ({price.tokens:+,}, {price.share:+.1%}){full}"


def _full(pool: Pool, window: int) -> str:
    held = pool.requests(window)
    return "-" if held is None else f"{held:.2f}"


def _price_object(price: Price, target: Pool) -> dict[str, Any]:
    window = target.limit
    return {
        "name": price.name,
        "pool": asdict(price.control),
        "tokens": price.tokens,
        "share": None if price.share is None else round(price.share, 6),
        "requests_of_the_limit": None if window is None else _rounded(price.control.requests(window)),
    }


def _row_object(length: int, held: float, pool: Pool) -> dict[str, Any]:
    return {"length": length, "requests": round(held, 4), "at_least": _rounded(pool.at_least(length))}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)

"""Is the island that the search met one of many? PURE.

Engines fail by multiples: of a block, a chunk, the size of a graph. Then no cap right below it holds, however often
what lies there passes. A shorter length that is as round tells.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzzer.model import ProbeSpec, Role

if TYPE_CHECKING:
    from fuzzer.plans.ledger import Ledger

ROUND = 16  # tokens; what is no multiple of that is hardly one of many


def as_round(ledger: Ledger, island: int) -> ProbeSpec | None:
    """The shorter length, where it was not asked and a death is left for it."""
    length = _shorter(ledger, island)
    if length is None or ledger.at_place(length).passes or ledger.at_place(length).all_failures:
        return None
    if ledger.deaths >= ledger.question.max_deaths or ledger.missed(length):
        return None
    return ledger.question.spec(length, Role.SEARCH, f"{island} fails, alone: do multiples fail?")


def is_one_of_many(ledger: Ledger, island: int) -> bool:
    """Did another one fail too, or is it not known whether one does?"""
    length = _shorter(ledger, island)
    if len(ledger.islands) > 1:
        return True
    return length is not None and not (ledger.at_place(length).passes and not ledger.at_place(length).all_failures)


def _shorter(ledger: Ledger, island: int) -> int | None:
    """A multiple of all that the island may be one of; None where it is not round, or no prompt to speak of is left."""
    step = island & -island
    length = island - step or island // 2
    return length if step >= ROUND and length > ledger.question.baseline else None

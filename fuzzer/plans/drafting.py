"""How many tokens does an engine draft at once, and does another one draft more? PURE.

More drafts reach further past the prompt, so what passed with fewer of them says nothing of what passes with more.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fuzzer.observation import Observation

Drafts = int | None  # tokens; 0: nobody told of a drafter; None: it drafts, and how many varies or was never seen


def drafted_at_once(seen: Iterable[Observation], told: int | None = None, *, counts_drafters: bool = False) -> Drafts:
    """k, as most of these have it; where none tells of a drafted token, as the user `told` it.

    `counts_drafters`: only an engine that has a drafter counts drafts, and be it none; llama.cpp counts them without.
    A lookup drafter drafts what it finds, and some engines leave k to be reckoned: such averages are no k.
    """
    counts = [one.draft for one in seen if one.draft is not None]
    each = [k for count in counts if (k := count.tokens_per_draft)]
    if not each:
        return told or (None if counts and counts_drafters else 0)
    k, times = Counter(each).most_common(1)[0]
    return round(k) if k.is_integer() and 2 * times > len(each) else None


def drafts_more(now: Drafts, then: Drafts) -> bool:
    """Does an engine draft more at once than one did? Where k is not known of both, only whether they draft tells."""
    if then is None:
        return False
    return then == 0 if now is None else now > then

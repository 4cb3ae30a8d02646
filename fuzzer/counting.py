"""Does the server count prompts in our tokens, or in those of another tokenizer? PURE.

What a server adds to a prompt (a BOS, a template) is the same for every length, and a prompt that is shortened is one
above a limit. A gateway's own tokenizer is in proportion from the shortest prompt on: only that is told here.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fuzzer.evidence import Evidence
    from targets.base import Mode

# Tokens, of the prompts whose counts tell: under any limit that would shorten one, and not what people ask for.
SHORT_LENGTHS = (120, 500)
DRIFT = 1  # tokens by which the engine's own count of a text may differ from ours
SCATTER = 0.08  # share by which the counts of another tokenizer may depart from its own proportion
LEAST_GROWTH = 0.25  # tokens counted for each one sent: no tokenizer makes less of them
ASK_THE_ENGINE = "ask the engine itself, by its own --url"


def looks_odd(e: Evidence) -> bool:
    """True where the count of an answered prompt is neither ours nor what the server is known to make of it."""
    counted = e.reply.usage.prompt_tokens
    if counted is None or not e.reply.complete or (e.estimated and e.offset is None):
        return False
    surplus = counted - e.sent_tokens - (e.offset or 0)
    adds_its_own = e.offset is None and e.spec.mode != "ids"  # a template: how much is not known yet
    return is_odd(surplus) and not (adds_its_own and surplus > 0)


def is_odd(surplus: int) -> bool:
    """True for so many tokens counted above what was expected, of ids or of a text."""
    return not 0 <= surplus <= DRIFT


def adds_up(counts: Mapping[int, int]) -> bool:
    """True where the server adds the same to each of the short prompts: counts are tokens sent -> counted."""
    if not counts.keys() >= set(SHORT_LENGTHS):
        return False
    surplus = [counts[length] - length for length in SHORT_LENGTHS]
    return max(surplus) - min(surplus) <= DRIFT


def counts_otherwise(counts: Mapping[int, int]) -> bool:
    """True where counts (tokens sent -> counted) grow in another proportion than ours, and evenly so.

    Tells nothing without the short ones among them: those show it before anything could be shortened.
    """
    if not counts.keys() > set(SHORT_LENGTHS) or adds_up(counts):
        return False
    points = sorted(counts.items())
    slopes = [((d - c) / (b - a), 1 / (b - a)) for (a, c), (b, d) in pairwise(points)]
    return all(
        min(one, other) >= LEAST_GROWTH and abs(one - other) <= SCATTER * max(one, other) + rounded + too
        for (one, rounded), (other, too) in pairwise(slopes)
    )


def of_another_tokenizer(e: Evidence) -> str | None:
    """Why the count of this prompt says nothing of its length; None where nothing shows that it does not."""
    counted = e.reply.usage.prompt_tokens
    if counted is None or not e.short_counts or not counts_otherwise({**dict(e.short_counts), e.sent_tokens: counted}):
        return None
    return in_words(counted, e.sent_tokens, e.spec.mode)


def in_words(counted: int, sent: int, mode: Mode) -> str:
    """The sentence for the reader: whose count it is not."""
    unit = "ids" if mode == "ids" else "tokens"
    return f"the server counts {counted} for {sent} {unit} that were sent: another tokenizer counts (a gateway's?)"

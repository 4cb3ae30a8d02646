"""Does the server count prompts in our tokens, in those of another tokenizer, or not at all? PURE.

What a server adds to a prompt (a BOS, a template) is the same for every length, and a prompt that is shortened is one
above a limit. A gateway's own tokenizer is in proportion from the shortest prompt on: only that is told here.
"""

from __future__ import annotations

from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Counts:
    """What the server counted of good prompts: `added` is the least that it adds to one, in tokens, and `shortest` the
    shortest one: sent, and counted. Where it adds more to lo it has not cut what is shorter.
    """

    added: int
    shortest: tuple[int, int]

    @classmethod
    def of(cls, sent: int, counted: int) -> Counts:
        return cls(counted - sent, (sent, counted))

    def also(self, other: Counts) -> Counts:
        return Counts(min(self.added, other.added), min(self.shortest, other.shortest))


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


def expected(e: Evidence) -> int:
    """The least count of a prompt that was read whole: what was sent, and what the server is known to add to that.

    Some do not count what a cache served of the prompt (mlx_lm.server): of each but the first the head that all share,
    be it a BOS or a template. So where less is added to both short prompts than to the first one, less is expected.
    """
    counts, added = dict(e.short_counts), e.offset or 0
    if adds_up(counts):
        added = min(added, max(counts[length] - length for length in SHORT_LENGTHS))
    return e.sent_tokens + added


def tells_nothing(counts: Mapping[int, int]) -> bool:
    """True where the short prompts, a still shorter one and any other count the same: no window is that small."""
    is_told = counts.keys() > set(SHORT_LENGTHS) and min(counts) < min(SHORT_LENGTHS)
    return is_told and len(set(counts.values())) == 1


def counts_otherwise(counts: Mapping[int, int]) -> bool:
    """True where counts (tokens sent -> counted) do not grow, or in another proportion than ours, and evenly so.

    Tells nothing without the short ones among them: those show it before anything could be shortened.
    """
    if tells_nothing(counts):
        return True
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
    if counted is None or not e.short_counts:
        return None
    counts = {**dict(e.short_counts), e.sent_tokens: counted}
    with_shortest = {**counts, **dict([e.shortest] if e.shortest else [])}
    if tells_nothing(with_shortest):
        return in_words(with_shortest, e.sent_tokens, e.spec.mode)
    if tells_nothing(counts):  # but the shortest prompt is counted otherwise: a window, and a small one
        return None
    return in_words(counts, e.sent_tokens, e.spec.mode) if counts_otherwise(counts) else None


def in_words(counts: Mapping[int, int], sent: int, mode: Mode) -> str:
    """The sentence for the reader: whose count it is not."""
    unit = "ids" if mode == "ids" else "tokens"
    if tells_nothing(counts):
        told = f"counts {counts[sent]} for {min(counts)} {unit} as for {max(counts)}"
        return f"the server {told}: its count says nothing of a prompt's length"
    return f"the server counts {counts[sent]} for {sent} {unit} that were sent: another tokenizer counts (a gateway's?)"

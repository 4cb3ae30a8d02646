"""Is the prefix of a warm prompt really in the cache, and did it serve? PURE.

All warm prompts begin alike, so each is served as far as the longest one that this life of the engine has read. A death
empties the cache: what comes next would be read like a cold prompt, unless something fills the cache again first.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING

from fuzzer.model import WELL, ProbeSpec, Role, Side, side_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fuzzer.model import Outcome
    from fuzzer.observation import Observation
    from fuzzer.plans.ledger import Ledger

SERVED = 0.9  # of a prompt that was read before: what is read anew beside it is the rest of a block, or little more
UNPRIMED = frozenset({Role.BASELINE, Role.PRIME, Role.OVER_LIMIT})


def prime(ledger: Ledger, step: ProbeSpec) -> ProbeSpec | None:
    """What has to be read before this warm probe, so that the cache holds it whole.

    The short prompt comes before the long one: then nothing long is read without any hit, as in the life that the
    long one is known from. Last comes the probe itself, for the most that a cache can serve of a prompt is the prompt;
    but not where it is beside the line, or has failed at that already, or where a hint is all that is wanted.
    """
    known = ledger.bounds.last_good
    if step.cache != "warm" or step.role in UNPRIMED or known is None or ledger.question.is_turned:
        return None
    life = list(takewhile(lambda seen: not (seen.deaths or seen.wedged), reversed(ledger.seen)))
    longest = ledger.longest
    tried = {seen.spec.length for seen in life if seen.outcome.is_evidence and seen.spec.cache == "warm"}
    for length in (ledger.question.baseline, min(known, step.length)):
        first = ledger.question.spec(length, Role.PRIME, "so that the prefix is in this engine's cache")
        if longest < length and ledger.to_send(first).length not in tried:
            return first
    on_line = step.output_tokens == ledger.question.output_at(step.length)
    fails_unread = any(seen.spec.role is Role.PRIME for seen in ledger.at(step.length).all_failures)
    is_new = ledger.to_send(step).length not in tried
    if ledger.whole and on_line and longest < step.length and is_new and not fails_unread:
        return replace(step, role=Role.PRIME, reason=f"{step.reason} (first into the cache)")
    return None


def is_served(seen: Observation, longest: int) -> bool:
    """Could the cache serve all of this prompt, if so many tokens were read before? The short one is always new."""
    return seen.spec.cache == "cold" or seen.spec.role is Role.BASELINE or longest >= seen.spec.length


def hits_are_missing(ledger: Ledger) -> bool:
    """Was a long warm prompt answered, and none of them shown to be served by the cache?"""
    served = list(_served(ledger))
    return bool(served) and not any(served)


def proven_length(ledger: Ledger, seen: Observation) -> int:
    """Up to which length no warm prompt can have more of it out of the cache than this one had, which passed. 0: none.

    A cache serves all but the last token at most. Of what it could serve whole it serves all but the rest of a block.
    """
    hit = seen.cached_tokens or 0
    if seen.spec.cache == "cold" or not hit:
        return 0
    is_whole = ledger.could_be_served(seen) and hit >= SERVED * seen.length
    return seen.length if is_whole else min(seen.length, hit + 1)


def hit_words(ledger: Ledger) -> str | None:
    """A sentence on whether warm prompts were served by the prefix cache; None where none was sent."""
    told = [served for served in _served(ledger) if served is not None]
    if not told:
        asked = any(_is_warm(seen) for seen in ledger.seen)
        return (
            "whether the prefix cache served the warm prompts is not known: the target does not tell" if asked else None
        )
    if not any(told):
        return "the prefix cache served no warm prompt: they were read as cold ones are"
    return f"hits are proven: the prefix cache served {sum(told)} of {len(told)} warm prompts{_but_at_the_edge(ledger)}"


def _but_at_the_edge(ledger: Ledger) -> str:
    """A clause on a warm last_good of which the cache served less than it could: more of it was not seen to pass."""
    good = ledger.bounds.last_good
    passes = [] if good is None else ledger.at(good).passes
    if (
        ledger.question.sent_cache == "cold"
        or any(proven_length(ledger, seen) == good for seen in passes)
        or not passes
    ):
        return ""
    hit = max(seen.cached_tokens or 0 for seen in passes)
    return f", but no more than {hit} tokens of {good}: whether more of it holds is not known"


def _served(ledger: Ledger) -> Iterable[bool | None]:
    """Of each warm prompt that was answered: was it served as far as could be? None where nobody tells.

    Only where more than the short prompt was there to be served: that may be less than a block.
    """
    longest = 0
    for seen in ledger.seen:
        if _is_warm(seen) and seen.outcome in WELL and longest > ledger.question.baseline:
            hit = seen.cached_tokens
            yield None if hit is None else min(longest, seen.length) <= 2 * hit
        longest = 0 if seen.deaths or seen.wedged else max(longest, read_of(seen, ledger.question.fail_on))


def _is_warm(seen: Observation) -> bool:
    return seen.spec.cache == "warm" and seen.spec.role not in UNPRIMED


def read_of(seen: Observation, fail_on: frozenset[Outcome]) -> int:
    """How many tokens of warm prompts this one left in the cache: as it was asked or as it was counted. 0: none."""
    is_read = seen.spec.cache == "warm" and side_of(seen.outcome, fail_on) is Side.GOOD
    return max(seen.length, seen.spec.length) if is_read else 0

"""What do failures follow, if not the length: the age of a life, an earlier failure, or that a length is new? PURE."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING

from fuzzer.model import Outcome, Side, side_of
from fuzzer.plans.wear import SORTED, died_alone, ended_alike, kills_the_old, worn

if TYPE_CHECKING:
    from fuzzer.observation import Observation
    from fuzzer.plans.ledger import Ledger
    from fuzzer.plans.tally import Tally

SEVERAL = 3  # failures, or lengths that failed each time: strays hit so many of so few very seldom
IN_ORDER = 200  # so many orders there must be of all tries, of which one alone has come


@dataclass(frozen=True, slots=True)
class OtherCause:
    """Why failures do not follow the length, and which of them say nothing about theirs, by their `seq`."""

    why: str
    discarded: frozenset[int] = frozenset()


def other_cause(ledger: Ledger) -> OtherCause | None:
    """What the failures follow instead of the length, if they do. Only of noisy runs, but for lives that end alone."""
    if (why := died_alone(ledger)) is not None:
        return _of_lives(ledger, why)
    if not ledger.bounds.contradicted:
        return None
    if (poison := _poison(ledger)) is not None:
        return poison
    if (why := worn(ledger) or kills_the_old(ledger) or ended_alike(ledger)) is not None:
        return _of_lives(ledger, why)
    why = _first_tries(ledger) or _short_prompts(ledger)
    return None if why is None else OtherCause(why)


def _of_lives(ledger: Ledger, why: str) -> OtherCause:
    """Where lives end alike, no death, and no wedge, says anything about the length that it came at."""
    return OtherCause(why, frozenset(seen.seq for seen in ledger.seen if seen.toll))


def _poison(ledger: Ledger) -> OtherCause | None:
    """After its first failure this life failed everything, also what had passed before: or all that is as long."""
    evidence, fail_on = ledger.evidence, ledger.question.fail_on
    sides = [side_of(seen.outcome, fail_on) for seen in evidence]
    life = evidence[-1].incarnation
    first = next(
        (at for at, seen in enumerate(evidence) if seen.incarnation == life and sides[at] is Side.BAD), len(evidence)
    )
    before = [seen.length for seen, side in zip(evidence[:first], sides, strict=False) if side is Side.GOOD]
    after = list(zip(evidence[first + 1 :], sides[first + 1 :], strict=True))
    failed = [seen for seen, side in after if side is Side.BAD]
    again = [seen.length for seen in failed if seen.length <= max(before, default=0)]
    if len(again) < 2:
        return None
    if len(failed) < len(after) and not _turned_at_once(before, after, min(again)):
        return None
    length = evidence[first].length
    why = f"after its first failure, at {length} tokens, the engine failed all, also what had passed before"
    if all(seen.outcome is Outcome.ERROR and seen.canaries for seen in failed):
        since = f"since the failure at {length} tokens lengths fail that had passed before"
        why = f"{since}, and short prompts still pass: what serves the long ones is away, or broken by that failure"
    return OtherCause(why, frozenset(seen.seq for seen in failed))


def _short_prompts(ledger: Ledger) -> str | None:
    """A sentence: the short prompt fails too often for chance, though not each time."""
    length = ledger.question.baseline
    failed, passed = len(ledger.at(length).failures), len(ledger.at(length).passes)
    if ledger.bounds.first_bad != length or not passed or failed <= SEVERAL:
        return None
    return f"even {length} tokens fail, {failed} of {failed + passed} times: it takes no long prompt"


def _first_tries(ledger: Ledger) -> str | None:
    """A sentence: from some length on each new one fails at first, and passes ever after."""
    passing = [(length, tally) for length, tally in reversed(ledger.line()) if tally.passes]
    new = list(takewhile(lambda point: failed_at_first(point[1]), passing))
    orders = math.prod(math.comb(len(tally.passes) + len(tally.failures), len(tally.failures)) for _, tally in new)
    if len(new) < 2 or orders < IN_ORDER:
        return None
    longest, shortest = new[0][0], new[-1][0]
    tried = f"{len(new)} lengths from {shortest} to {longest} tokens"
    return f"each new length fails at first: of {tried} all did, and passed ever after"


def failed_at_first(tally: Tally) -> bool:
    """Did it fail, then pass, and never fail again?"""
    return bool(tally.failures and tally.passes) and tally.failures[-1].seq < tally.passes[0].seq


def _turned_at_once(before: list[int], after: list[tuple[Observation, Side]], shortest: int) -> bool:
    """Of prompts from `shortest` on, did all pass before and none since, and so many that chance will not do?"""
    longer = [side for seen, side in after if seen.length >= shortest]
    passed = sum(length >= shortest for length in before)
    is_sorted = all(side is Side.BAD for side in longer)
    return is_sorted and math.comb(passed + len(longer), passed) >= SORTED

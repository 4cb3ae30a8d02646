"""What killed this very build in earlier runs: does it still? PURE.

The search believes that failures are monotone, and need not come by a length that is on record. A cap that admits such
a length rests on more than belief: it is asked once the edge stands, where a death may be spent on it. One failure here
and the one on record make two; passes without any clear it, for an engine may have been mended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzzer.model import ProbeSpec, Role
from fuzzer.plans.line import confidence_in, outweighs
from fuzzer.recommend import passes_needed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fuzzer.plans.ledger import Ledger


def recall(ledger: Ledger) -> ProbeSpec | None:
    """The next length on record that the edge admits, until it fails, or until its passes bear the claim.

    Before the first of them last_good passes as often as it takes for a failure below it to be an island, and no noise.
    """
    question, good = ledger.question, ledger.bounds.last_good
    open_yet = [length for length in unanswered(ledger) if _is_asked_for(ledger, length)]
    if good is None or not open_yet:
        return None
    length, passes = open_yet[0], ledger.at(open_yet[0]).passes
    firm = confidence_in(question, noisy=True)
    if not passes and not outweighs(question, len(ledger.at(good).passes), 0, noisy=True):
        needed = passes_needed(firm, question.tolerate)
        reason = f"last_good passed {len(ledger.at(good).passes)} of {needed} times, before {length} is asked"
        return question.spec(good, Role.CONFIRM_GOOD, reason)
    reason = f"an earlier run recorded that it killed this build: does it still? passed {len(passes)} times"
    return question.spec(length, Role.SEARCH, reason)


def _is_asked_for(ledger: Ledger, length: int) -> bool:
    """One failure tells enough. Asking may cost a death, so it is left out where none is left."""
    tally, question = ledger.at_place(length), ledger.question
    if tally.is_bad or tally.all_failures:
        return False
    return bool(tally.passes) or (ledger.deaths < question.max_deaths and not ledger.missed(length))


def unanswered(ledger: Ledger) -> list[int]:
    """Lengths on record that the edge admits, and that did not pass often enough here, shortest first."""
    up_to = ledger.bounds.last_good or 0
    return [at for at in sorted(ledger.question.known_bad) if at <= up_to and not ledger.is_sound(ledger.at_place(at))]


def cleared(ledger: Ledger) -> Iterator[int]:
    """Lengths on record that the edge admits, and that passed often enough here."""
    up_to, left = ledger.bounds.last_good or 0, set(unanswered(ledger))
    yield from (at for at in sorted(ledger.question.known_bad) if at <= up_to and at not in left)

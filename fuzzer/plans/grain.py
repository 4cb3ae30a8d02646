"""Does anything fail under the cap that recurs with the length, as the blocks of a KV cache do? PURE.

What fails of every length that fills its blocks to the last token, or begins one, leaves holes all over good ground,
and a search walks past them. So before a cap is recommended three lengths below it are sent: a multiple of a large
power of two, and so of all smaller ones, one more, and one less. Where one fails, the next is a power of two below it,
which tells all periods that divide that: two such lengths fail by no chance, and the second death is the last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzzer.model import ProbeSpec, Role
from fuzzer.plans.below import asked_below, failing_below, is_failing
from fuzzer.plans.question import BASELINE_LENGTH

if TYPE_CHECKING:
    from fuzzer.plans.ledger import Ledger

BLOCK = 256  # tokens: the largest block, or page, that engines are usually run with
BESIDE = (0, 1, -1)
ORDINARY = 37  # tokens off a power of two: at the end of no block


def grain(ledger: Ledger, top: int) -> ProbeSpec | None:
    """The next of the three lengths up to `top`. What passed of the same remainder in its upper half is as good."""
    for length in untold_of_grain(ledger, top):
        if not ledger.points.has_scanned(length):
            reason = f"beside a multiple of {step_of(top)}, as blocks and chunks have it: do such lengths fail?"
            return ledger.question.spec(length, Role.SCAN, reason)
    return None


def untold_of_grain(ledger: Ledger, top: int) -> list[int]:
    """Those of the three that are not known to pass."""
    step = step_of(top)
    lengths = ((top - 1) // step * step + side for side in BESIDE)
    return [at for at in lengths if at > ledger.question.baseline and not _passed_like(ledger, at, step, top // 2)]


def step_of(top: int) -> int:
    """The largest power of two up to a sixteenth of the ground, or else that of most blocks, where there is room."""
    return _power_of_two(max(top // 16, min(BLOCK, top - 1)))


def grain_words(ledger: Ledger, cap: int) -> str:
    """A sentence on which lengths that end or begin a block were sent, and what that does not tell."""
    top = ledger.bounds.last_good or cap
    untold = untold_of_grain(ledger, top)
    if untold:
        return f"failures that recur with blocks were not looked for (such as at {untold[0]})"
    what = f"a multiple of {step_of(top)}, one more and one less"
    return f"nothing recurs at {what}, which pass; other remainders and periods take `ctxfuzz fuzz --cap {cap}`"


def echo(ledger: Ledger) -> ProbeSpec | None:
    """What tells whether the lowest failing length recurs: the one a step below it; if that fails too, one between."""
    failing = failing_below(ledger)
    if not failing or is_alone(ledger, failing[0]):
        return None
    lowest = failing[0]
    above = _a_step_above(failing)
    if above is not None and not (known := _between(ledger, lowest, above)):
        length = (lowest + above) // 2 + ORDINARY
        return ledger.question.spec(length, Role.SCAN, f"{lowest} and {above} failed: does it recur, or is it wide?")
    if above is not None and any(known):
        return None
    length = lowest - step_below(lowest)
    if ledger.points.has_scanned(length):
        return None
    return ledger.question.spec(length, Role.SCAN, f"{lowest} failed: does that recur, {lowest - length} below it?")


def recurring(ledger: Ledger) -> tuple[int, int] | None:
    """Two lengths, a step apart, that fail although one between them passes; None: there are none such.

    What is as many steps away is taken to fail too, so no cap leaves it out. A pass of the same remainder refutes that,
    and what may be chance, or others' doing, does not count before it repeats.
    """
    failing = failing_below(ledger)
    if not failing or is_alone(ledger, failing[0]):
        return None
    above, known = _a_step_above(failing), dict(asked_below(ledger))
    if above is None or not any(_between(ledger, failing[0], above)):
        return None
    return (failing[0], above) if known[failing[0]].failures and known[above].failures else None


def is_alone(ledger: Ledger, length: int) -> bool:
    """Did a prompt pass that is whole steps away? Then what fails at this length does not recur right below it."""
    step = step_below(length)
    if length - step <= ledger.question.baseline:
        return True
    return _passed_like(ledger, length, step, min(length // 2, length - step))


def step_below(length: int) -> int:
    """The largest power of two up to a quarter of the length, or else that of most blocks, where there is room."""
    return _power_of_two(max(length // 4, min(BLOCK, length - BASELINE_LENGTH - 1)))


def _a_step_above(failing: list[int]) -> int | None:
    return next((length for length in failing if length - step_below(length) == failing[0]), None)


def _between(ledger: Ledger, low: int, high: int) -> list[bool]:
    """Of each length that was asked between these two: does it pass?"""
    inside = (item for item in asked_below(ledger) if low < item[0] < high)
    return [bool(tally.passes) and not is_failing(ledger, length, tally) for length, tally in inside]


def _passed_like(ledger: Ledger, length: int, step: int, lowest: int) -> bool:
    """Did a prompt pass, from `lowest` on, that leaves the same remainder as this one?"""
    like = (item for item in asked_below(ledger) if item[0] >= lowest and (length - item[0]) % step == 0)
    return any(tally.passes and not is_failing(ledger, at, tally) for at, tally in like)


def _power_of_two(most: int) -> int:
    return 1 << (max(most, 1).bit_length() - 1)

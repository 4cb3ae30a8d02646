"""Is the engine fresh: is a probe the first real one of a life that began during this run? PURE."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzzer.model import Outcome, Role, Side, side_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fuzzer.observation import Observation


def is_fresh(seen: Observation, earlier: Sequence[Observation], fail_on: frozenset[Outcome]) -> bool:
    """Is it the first real request of a life that began during this run? Primes are none.

    A wedged engine serves again only after a restart, whether or not its death was seen; but for one whose metrics show
    that it is the same.
    """
    before = last_real(earlier, fail_on)
    if before is None or seen.fresh:
        return seen.fresh
    if before.wedged:
        return not before.outlived
    was_primed = before is not earlier[-1]
    return was_primed and before.deaths > 0 and before.blames != "nobody"


def took_the_engine_down(seen: Sequence[Observation], fail_on: frozenset[Outcome]) -> bool:
    """Was a death the last thing that happened, so that what comes next is the first of a life?"""
    last = last_real(seen, fail_on)
    if last is None or last.outlived:
        return False
    return bool(last.deaths or last.wedged) and last.outcome in {Outcome.DEATH, Outcome.HANG}


def last_real(seen: Sequence[Observation], fail_on: frozenset[Outcome]) -> Observation | None:
    """The last of them, but for primes that left the engine as it was."""
    return next((one for one in reversed(seen) if not _only_primed(one, fail_on)), None)


def _only_primed(seen: Observation, fail_on: frozenset[Outcome]) -> bool:
    harmless = not (seen.deaths or seen.wedged) and side_of(seen.outcome, fail_on) is not Side.BAD
    return seen.spec.role is Role.PRIME and harmless

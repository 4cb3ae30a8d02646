"""What does the canary after a probe say of the engine? PURE.

Invariant: whoever turns a canary away, or answers it in the engine's place, proves a door and no engine. Such a canary
neither sang nor failed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzzer.outcome.readiness import meets_shut_door
from fuzzer.outcome.wording import tells_of_failure
from targets.base import Fault
from targets.failures import names_breakage
from targets.scrape import counted

if TYPE_CHECKING:
    from fuzzer.evidence import Canary, Evidence


def serves(e: Evidence) -> bool:
    """True where the canary came back whole, or garbled: somebody is at home."""
    return e.canary is not None and (e.canary.ok or e.canary.garbled)


def turned_away(e: Evidence) -> bool:
    """True where the canary never came to the engine, however often it was asked."""
    return e.canary is not None and (e.canary.turned_away or meets_shut_door(e, e.canary))


def canary_hangs(e: Evidence) -> bool:
    """True where the canary got no answer within its deadline, or a proxy's deadline answered for it."""
    return e.canary is not None and (e.canary.timed_out or e.canary.given_up_on)


def canary_fails(e: Evidence) -> str | None:
    """How the canary failed outright (an error, a lost or refused connection), or None."""
    canary = e.canary
    if canary is None or serves(e) or turned_away(e) or canary_hangs(e):
        return None
    return describe_canary(canary)


def missed_canary(e: Evidence) -> bool:
    """True where it sang, and the metrics count no work since the probe's end: they are not of whoever sang."""
    if e.canary is None or not e.canary.ok or e.settled is None:
        return False
    return any(counted(early, e.settled) is False for early in (e.before, e.after) if early is not None)


def way_is_shut(e: Evidence) -> str | None:
    """How the canary was turned away for what it was, not for what the engine is (a key that ran out), or None.

    Some servers say 400, or 404, also where their engine is gone or broke: then the words tell.
    """
    canary = e.canary
    if canary is None or canary.ok or canary.turned_away or canary_hangs(e):
        return None
    excused = (canary.status in {400, 422} and tells_of_failure(canary.error)) or (
        canary.status == 404 and names_breakage(canary.error)
    )
    refused = canary.status is not None and (300 <= canary.status < 500) and not excused
    return describe_canary(canary) if refused or canary.fault in {Fault.TLS, Fault.PROXY} else None


def describe_canary(canary: Canary) -> str:
    if canary.ok:
        return "the canary came back whole"
    if canary.garbled:
        return f"the canary's {canary.garble.removeprefix('the ')}"
    if canary.timed_out:
        return f"the canary hung for {canary.duration_s:.0f} s"
    if canary.instead:
        return f"a gateway answered the canary, and {canary.instead}"
    words = canary.error or canary.fault
    return f"the canary got HTTP {canary.status}: {words}" if canary.status else f"the canary failed: {words}"

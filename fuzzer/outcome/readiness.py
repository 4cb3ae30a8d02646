"""Was it a door that was shut after a probe, and no engine that is gone? PURE.

An orchestrator takes an engine that is not ready out of its service: who is in already is answered to the end, and
nobody else is let in until it says that it is ready. Health may turn red for that while a long prompt is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzzer.outcome.wording import tells_of_failure
from targets.base import Fault
from targets.scrape import START_HEADER, counted, went_on

if TYPE_CHECKING:
    from fuzzer.evidence import Canary, Evidence
    from targets.base import Health
    from targets.scrape import Scrape

_NOBODY_READY = 503


def came_whole(e: Evidence) -> bool:
    """True of a good answer that came to its end, and of a clean refusal."""
    is_good = (e.reply.complete or e.reply.stopped) and e.reply.status == 200 and e.reply.error is None
    return is_good or e.refusal is not None


def is_still_there(e: Evidence) -> bool:
    """True where the very process that was there before the probe is there at the end of its window.

    A reading in which nothing moved since is one out of a cache.
    """
    if e.replicas or e.before is None or e.settled is None:
        return False
    return went_on(e.before, e.settled) and _moved(e.before, e.settled)


def works_on(e: Evidence) -> bool:
    """True where it is still there, and counted what was asked of it: metrics out of a cache count nothing.

    Where nobody lets a canary in, it must count on after the answer too: an exporter that outlives its engine keeps the
    last values, and the work in them was done before the death.
    """
    if e.before is None or e.settled is None or not is_still_there(e) or counted(e.before, e.settled) is False:
        return False
    if e.canary is not None and e.canary.fault != Fault.REFUSED:
        return True
    return e.after is not None and _moved(e.after, e.settled)


def meets_shut_door(e: Evidence, canary: Canary | None) -> bool:
    """Did this canary meet a door that was shut while the engine still answered, or one that it works on behind?

    Of an engine that is gone no good answer comes whole after that.
    """
    if canary is None:
        return False
    if canary.fault == Fault.REFUSED:
        return works_on(e) or (came_whole(e) and _shut_early(e, canary))
    is_nobodys = canary.status == _NOBODY_READY and not tells_of_failure(canary.error)
    return is_nobodys and came_whole(e) and _shut_early(e, canary)


def _shut_early(e: Evidence, canary: Canary) -> bool:
    """Did the last poll before the answer's end meet what the canary met, and an earlier one not?"""
    heard = [poll for poll in e.health_during if poll.fault is not Fault.TIMEOUT and not poll.turned_away]
    return any(poll.ok for poll in heard) and _is_alike(heard[-1], canary)


def _moved(early: Scrape, late: Scrape) -> bool:
    """Did anything that only adds up rise? Where the two share no counter, nothing speaks against it.

    An engine that tells its start with each answer lives, though nothing moves in it: no exporter keeps that.
    """
    shared = early.monotone.keys() & late.monotone.keys()
    return (
        not shared or START_HEADER in late.starts or any(late.monotone[name] > early.monotone[name] for name in shared)
    )


def _is_alike(poll: Health, canary: Canary) -> bool:
    return poll.fault is Fault.REFUSED if poll.status is None else poll.status == canary.status

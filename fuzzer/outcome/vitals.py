"""Did the engine live through this probe, and was it alone there? PURE: what an Evidence proves.

Health alone lies both ways, so no sign here rests on a health status alone: a death is proven by a process that is
gone or another one, survival by the same process that went on. Several replicas behind one URL prove neither.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING

from fuzzer.outcome.readiness import meets_shut_door, works_on
from fuzzer.outcome.song import canary_fails, missed_canary, serves, turned_away
from targets.base import Fault
from targets.scrape import restarted, went_on

if TYPE_CHECKING:
    from fuzzer.evidence import Evidence
    from targets.base import Health
    from targets.scrape import Scrape

SILENT_POLLS = 3
_LOST = {502, 520}  # how whoever is before health says that he lost the engine
# Our own network, resolver or proxy, or whoever answered in the engine's place.
_OF_THE_WAY = {Fault.NO_ROUTE, Fault.NETWORK, Fault.PROXY, Fault.TLS, Fault.PROTOCOL, Fault.OVERSIZE}
# A canary that takes this many times as long as the slowest one after a good answer, and so much longer, is late.
TIMES_SLOWEST, LATE_S = 10.0, 2.0
TIMES_PREDICTED = 2.0  # behind a probe that was given up on, and that an engine may still be at


def death_proof(e: Evidence) -> str | None:
    """A sentence that proves that the engine's process died in the probe's window, or None."""
    return _another_process(e) or _nobody_listens(e) or _dead_inside(e)


def survival_proof(e: Evidence) -> str | None:
    """A sentence that proves that the very process that took the probe still serves, or None."""
    if not (serves(e) or turned_away(e)) or death_proof(e) is not None:
        return None
    last = _last(e)
    if e.replicas or e.before is None or last is None or not went_on(e.before, last):
        return None
    if missed_canary(e):
        return None  # whoever sang is not whom these metrics speak of
    return f"the same process was there {'for' if serves(e) else 'after'} the canary, and its counters went on"


def line_was_lost(e: Evidence) -> bool:
    """True where the line went dead under the probe, or its stream ended early and without a word."""
    reply = e.reply
    unfinished = reply.status == 200 and not (reply.complete or reply.stopped)
    ended_early = unfinished and reply.error is None and reply.fault is None
    return ended_early or (reply.fault is not None and reply.fault.lost)


def may_still_work(e: Evidence) -> bool:
    """True where the engine, by all that is seen, may be at work for a probe that nobody waits for any more."""
    given_up = e.proxy is not None and e.proxy.kind == "deadline"
    return (e.hung or e.reply.stopped or given_up) and health_went_down(e) is None


def health_went_down(e: Evidence) -> str | None:
    """The first sign in the grace that health no longer says yes, or None. Where it never did, it says nothing.

    Nor does one socket of several that is refused. A fault of the way between us comes and goes, and says something
    only of a host that stays away: the last poll that is heard meets it too.
    """
    if not any(poll.ok for poll in e.health_during):
        return None
    mute = {Fault.TIMEOUT, Fault.REFUSED} if e.replicas else {Fault.TIMEOUT}
    heard = [poll for poll in e.health_after if poll.fault not in mute and not poll.turned_away]
    stays_away = bool(heard) and heard[-1].fault in _OF_THE_WAY
    for poll in heard:
        if not poll.ok and (stays_away or poll.fault not in _OF_THE_WAY):
            return _spell(poll)
    return None


def health_lost_it(e: Evidence) -> str | None:
    """A clause on the same where it tells that somebody lost the engine: none that only works looks like that.

    Of several, another one may be the one that was lost.
    """
    if e.replicas:
        return None
    lost = tuple(poll for poll in e.health_after if poll.ok or poll.gone or poll.status in _LOST)
    sign = health_went_down(replace(e, health_after=lost))
    return sign and f"health got {sign}"


def came_late(e: Evidence) -> str | None:
    """How much later than any after a good answer the canary came, where nothing but a start explains it; or None.

    Whoever runs engines may start the next one for the next request: the canary waits for that, and then sings.
    """
    slowest_s, predicted_s, canary = e.slowest_canary_s, e.predicted_s, e.canary
    if canary is None or not canary.ok or slowest_s is None or predicted_s is None:
        return None
    if e.companions or e.drained or e.away_s or e.replicas or e.others_seen or contended(e):
        return None  # it may have waited for others, or be another's
    usual_s = max(TIMES_SLOWEST * slowest_s, slowest_s + LATE_S, TIMES_PREDICTED * predicted_s)
    if canary.duration_s <= usual_s:
        return None
    return f"the canary took {canary.duration_s:.1f} s (at most {slowest_s:.2f} s after good answers), as after a start"


def silent_before(e: Evidence) -> str | None:
    """How long health had not said yes before the engine was lost, or None where that was not for several polls."""
    polls = [poll for poll in e.health_during if not poll.turned_away]
    while polls and polls[-1].gone:
        polls.pop()
    silent = list(takewhile(lambda poll: not poll.ok, reversed(polls)))
    if len(silent) < SILENT_POLLS or len(silent) == len(polls):
        return None
    return f"health had not said yes for {silent[0].at_s - silent[-1].at_s:.0f} s before"


def _another_process(e: Evidence) -> str | None:
    if e.replicas or e.before is None:
        return None
    for scrape in (e.settled, e.after):
        if scrape is not None and (why := restarted(e.before, scrape)) is not None:
            return why
    return None


def _nobody_listens(e: Evidence) -> str | None:
    """A refused socket at the health endpoint after a failure, with a canary that does not come back whole.

    One refused poll is proof only of a listener that closed, and only where it listened before; the canary tells
    whether it was the engine's. Of a door that was shut, or of one engine out of several, it proves nothing.
    """
    if e.replicas or works_on(e) or meets_shut_door(e, e.canary):
        return None
    if e.health_during and not any(poll.status is not None for poll in e.health_during):
        return None
    refused = next((poll for poll in e.health_after if poll.fault is Fault.REFUSED), None)
    if refused is None:
        return None
    lost_canary = e.canary is None or not serves(e)
    lost_probe = e.reply.fault is not None or (e.reply.status or 0) >= 400 or e.reply.error is not None
    return f"health was refused {refused.at_s:.1f} s in" if lost_canary or lost_probe else None


def _dead_inside(e: Evidence) -> str | None:
    """The API process stays and says that its engine is dead: health red, and the canary gets errors."""
    failure = canary_fails(e)
    if failure is None or e.canary is None or not any(poll.ok for poll in e.health_during):
        return None
    heard = [poll for poll in e.health_after if not poll.turned_away]
    if e.canary.status is not None and e.canary.status >= 500 and heard and not heard[-1].ok:
        return f"health says {_spell(heard[-1])} and {failure}"
    return None


def _last(e: Evidence) -> Scrape | None:
    """The last look at it. Where nobody is let in any more, one that is older proves nothing."""
    return e.settled if meets_shut_door(e, e.canary) else e.settled or e.after


def _spell(poll: Health) -> str:
    return f"HTTP {poll.status}" if poll.status is not None else str(poll.fault)


def contended(e: Evidence) -> bool:
    """True where the counters moved by more than our own requests, or others were seen in the batch."""
    ours = 1 + e.companions
    if e.replicas:
        return False
    if e.peak_running > ours:
        return True
    before, after = e.before, e.after
    if before is None or after is None:
        return False
    if not e.companions and _others_stay(e):
        return True
    if before.finished is None or after.finished is None:
        return False
    return after.finished - before.finished > 1 + e.companion_requests


def _others_stay(e: Evidence) -> bool:
    """True where requests run on that are none of ours: before and after it, or after it and after the canary.

    They may be longer than the probe, so that no counter tells of them. Only beside a complete answer: a request that
    was given up may run on too, and the gauge of an engine that died under one stays where it was.
    """
    if not e.reply.complete or e.reply.status != 200:
        return False
    before, after, settled = (0.0 if one is None else one.running or 0.0 for one in (e.before, e.after, e.settled))
    return min(before, after) > 0 or min(after, settled) > 0

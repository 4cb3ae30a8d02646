"""Did somebody's clock end it, and no engine? PURE: who waits on the way gives up after one time, at any length.

An engine that fails at one place of a prompt does so after one time too. So nothing here decides alone where an engine
may have died: a clock strikes at whole seconds, and where it is in doubt the death stays, with the doubt said.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fuzzer.evidence import Verdict
from fuzzer.model import Corroboration, Outcome
from fuzzer.outcome.vitals import came_late, death_proof, health_went_down, line_was_lost, survival_proof
from fuzzer.outcome.way import LOST_STATUS
from fuzzer.outcome.wording import is_in_nobodys_words, says_dead
from targets.base import Fault

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fuzzer.evidence import Evidence

# Cuts of earlier streams within this share of each other are one clock's doing, not an engine's.
SAME_CLOCK = 0.05
SHORTEST_CLOCK_S = 1.0  # no proxy's deadline is shorter
SAME_TICK = 0.01  # share of its time
SAME_TICK_S = 0.05
LATE_TICK_S = 0.15  # it strikes at whole seconds, and is heard so much later at most
SET_BY_HAND = 5  # whoever sets a balancer's clock sets it to a multiple of so many seconds
_SET_BY_OTHERS = {29}  # Amazon's API Gateway
ANOTHER_LENGTH = 0.02  # prompts of one length, within this share, tell nothing of a clock
SHORTEST_WATCHDOG_S = 300.0  # from here on engines have clocks of their own, and die by them
_UNKNOWN = {"a proxy"}  # the proxies that are known by name say 504 of their deadlines
ITS_TIMEOUT = (
    "its backend timeout (30 s on GKE unless set), ask the engine itself by its own --url, or let its --metrics-url "
    "tell whether it lives"
)


def cut_late(e: Evidence) -> bool:
    """May a clock have cut this line? Within moments it is what an engine itself does that fails."""
    return e.reply.fault in {Fault.CUT, Fault.RESET} and e.reply.ended_s >= SHORTEST_CLOCK_S


def failed_late(e: Evidence) -> bool:
    """May a clock have failed it? An engine says of what it fails, or is quicker to."""
    return (e.reply.status or 0) >= 500 and e.reply.ended_s >= SHORTEST_CLOCK_S and is_in_nobodys_words(e.reply)


def was_lost(e: Evidence) -> bool:
    """Did its line go dead, or did whoever is on the way say that he lost the engine?"""
    return line_was_lost(e) or e.reply.status in LOST_STATUS


def cut_by_a_clock(e: Evidence) -> Verdict | None:
    """Streams that are cut at a near-constant time, the engine unchanged, are a proxy's deadline.

    All of them, from the first on: as a search closes in, the times of an engine's own failures close in too.
    """
    if not cut_late(e) or len(e.recent_cuts_s) < 2 or survival_proof(e) is None:
        return None
    now = e.reply.ended_s
    if any(abs(cut - now) > SAME_CLOCK * now for cut in e.recent_cuts_s):
        return None
    return Verdict(
        Outcome.INFRA,
        f"three streams were cut after {now:.1f} s each, and the engine went on",
        next_step=f"a proxy between us cuts streams at {now:.0f} s: raise its read or stream timeout",
    )


def failed_by_a_clock(e: Evidence) -> Verdict | None:
    """Prompts of several lengths that all failed at the same tick are a proxy's deadline, which says 500 of it."""
    now = e.reply.ended_s
    if not failed_late(e) or len(e.recent_cuts_s) < 2 or not _at_one_second((now,)):
        return None
    if not _alike(e, e.recent_cuts_s) or not _differ(lengths := _lengths(e, e.cut_lengths)):
        return None
    return _infra(
        e, lengths, f"a proxy between us gives up at {now:.0f} s, with a 500: raise its read or request timeout"
    )


def lost_by_a_clock(e: Evidence) -> Verdict | None:
    """The same of one that says that it lost the engine, be it dead or slow: 502 (Google), 503 (API Gateway, Heroku).

    Only where nothing else speaks of a death, and where everything that this run lost was lost at that very second,
    which is one that people choose. An engine of this run that died for sure may do so again, and of several that are
    known to be there one may die unseen.
    """
    now, status = e.reply.ended_s, e.reply.status
    if e.died_for_sure or e.replicas or e.in_turns or not _is_chosen(now):
        return None
    is_strangers = e.proxy is None or e.proxy.product in _UNKNOWN
    if status not in LOST_STATUS or not is_strangers or says_dead(e.reply) or not is_in_nobodys_words(e.reply):
        return None
    if len(e.recent_losses_s) < 2 or now >= SHORTEST_WATCHDOG_S or not _at_one_second((*e.recent_losses_s, now)):
        return None
    seems_well = _never_blinked(e) and _would_tell_a_start(e) and any(poll.ok for poll in e.health_after)
    if not seems_well or not _alike(e, e.recent_losses_s) or not _differ(lengths := _lengths(e, e.lost_lengths)):
        return None
    return _infra(e, lengths, f"a balancer between us gives up at {now:.0f} s, with a {status}: raise {ITS_TIMEOUT}")


def with_doubt(verdict: Verdict, e: Evidence) -> Verdict:
    """A presumed death after the same time as those before it, of an engine that seems well, may be a clock's doing.

    At one length it says something only where it is at a whole second.
    """
    is_presumed = verdict.outcome is Outcome.DEATH and verdict.corroboration is Corroboration.PRESUMED
    is_known = is_presumed and was_lost(e) and bool(e.recent_losses_s)
    if not is_known or not _never_blinked(e) or not _alike(e, e.recent_losses_s):
        return verdict
    lengths = _lengths(e, e.lost_lengths)
    if not _differ(lengths) and not _at_one_second((*e.recent_losses_s, e.reply.ended_s)):
        return verdict
    doubt = f"{_story(e, lengths)}, and the canary sang at once"
    step = f"if a balancer's timeout of {e.reply.ended_s:.0f} s did that, and no death, raise {ITS_TIMEOUT}"
    return replace(verdict, reason=f"{verdict.reason}; {doubt}", next_step=step)


def _never_blinked(e: Evidence) -> bool:
    sang_at_once = e.canary is not None and e.canary.ok and not e.drained and came_late(e) is None
    return sang_at_once and death_proof(e) is None and health_went_down(e) is None


def _would_tell_a_start(e: Evidence) -> bool:
    """Is it known how soon a canary comes where nobody had to start?"""
    return e.slowest_canary_s is not None and e.predicted_s is not None


def _is_chosen(time_s: float) -> bool:
    return int(time_s) % SET_BY_HAND == 0 or int(time_s) in _SET_BY_OTHERS


def _alike(e: Evidence, times_s: Sequence[float]) -> bool:
    """Did this one take as long as they? Where a good answer took longer, nobody gives up so early."""
    now = e.reply.ended_s
    waited = e.slowest_pass_s is not None and e.slowest_pass_s > now
    same = all(abs(time_s - now) <= max(SAME_TICK * now, SAME_TICK_S) for time_s in times_s)
    return same and not waited and now >= SHORTEST_CLOCK_S


def _at_one_second(times_s: Sequence[float]) -> bool:
    """Are all of them the same whole second, as it is heard?"""
    return all(time_s % 1 <= LATE_TICK_S for time_s in times_s) and len({int(time_s) for time_s in times_s}) == 1


def _lengths(e: Evidence, earlier: Sequence[int]) -> tuple[int, int]:
    """The shortest and the longest prompt, this one among them."""
    lengths = (*earlier, e.sent_tokens + (e.offset or 0))
    return min(lengths), max(lengths)


def _differ(lengths: tuple[int, int]) -> bool:
    return lengths[1] >= (1 + ANOTHER_LENGTH) * lengths[0]


def _story(e: Evidence, lengths: tuple[int, int]) -> str:
    return f"prompts of {lengths[0]} to {lengths[1]} tokens all failed after {e.reply.ended_s:.1f} s"


def _infra(e: Evidence, lengths: tuple[int, int], step: str) -> Verdict:
    return Verdict(Outcome.INFRA, f"{_story(e, lengths)} (HTTP {e.reply.status})", next_step=step)

"""What did one probe show? PURE: `judge` turns an Evidence into a Verdict.

The questions are asked in a fixed order, and the first that has an answer decides. The order is the argument: what
is no evidence at all comes first; then what the answer was; a failure is a death unless the engine is known to live.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fuzzer.evidence import Verdict
from fuzzer.model import WELL, Corroboration, Outcome
from fuzzer.outcome import breaker, clocks, company, noevidence, unheard, units, way
from fuzzer.outcome.answered import answered
from fuzzer.outcome.readiness import is_still_there
from fuzzer.outcome.song import canary_fails, canary_hangs, describe_canary, serves, turned_away
from fuzzer.outcome.vitals import (
    came_late,
    contended,
    death_proof,
    health_lost_it,
    health_went_down,
    line_was_lost,
    silent_before,
    survival_proof,
)
from fuzzer.outcome.wording import is_of_its_own, refuses_by_failure, says_dead, tells_of_length, words
from targets.gateways import asked_again
from targets.told import spelled, told_status

if TYPE_CHECKING:
    from collections.abc import Callable

    from fuzzer.evidence import Evidence

_NOT_OF_LENGTH = {424, 429}
_SAID_OF_ANYTHING = {400, 422}  # inside a stream, of whatever failed in it, where no words refuse for a length


def judge(e: Evidence) -> Verdict:
    """What the probe showed. Total: every Evidence has a Verdict; nothing is raised."""
    verdicts = (question(e) for question in _QUESTIONS)
    verdict = next((verdict for verdict in verdicts if verdict is not None), None) or _failed(e)
    return _with_doubt(replace(verdict, contended=_is_contended(verdict, e)), e)


def _is_contended(verdict: Verdict, e: Evidence) -> bool:
    return verdict.contended or contended(e) or _may_be_anothers(verdict, e)


def _may_be_anothers(verdict: Verdict, e: Evidence) -> bool:
    """A death after our answer was whole, where others were seen before: a new life's counters cannot tell of them.

    Or one of whoever was turned away, at whatever they do.
    """
    is_answered = e.reply.complete or e.refusal is not None or e.overload_s is not None
    is_beside = verdict.outcome is Outcome.DEATH and e.others_seen and is_answered
    return is_beside or noevidence.may_be_a_neighbours(verdict, e)


def _with_doubt(verdict: Verdict, e: Evidence) -> Verdict:
    """A death that health had been silent before may be a supervisor's doing: the length was slow, not deadly."""
    if verdict.outcome is not Outcome.DEATH or (silence := silent_before(e)) is None:
        return clocks.with_doubt(verdict, e)
    return replace(
        verdict,
        reason=f"{verdict.reason}; {silence}: a liveness probe may have killed it",
        next_step="if a supervisor did it, give its liveness probe more time or more failures, and ask again",
    )


def _company_alone(e: Evidence) -> Verdict | None:
    return company.alone(e, judge)


def _hung(e: Evidence) -> Verdict | None:
    if not e.hung:
        return None
    if (died := death_proof(e)) is not None:
        return _death(f"no progress for {e.deadline_s:.0f} s, then {died}", Corroboration.PROVEN)
    after = describe_canary(e.canary) if e.canary else "no canary was sent"
    reason = f"no progress for {e.deadline_s:.0f} s; after we hung up {after}"
    return Verdict(Outcome.HANG, reason, wedged=not serves(e) and not _is_kept_out(e))


def _is_kept_out(e: Evidence) -> bool:
    """Is it but a limit that its canary does not get past? That an engine serves nobody any more shows otherwise."""
    if survival_proof(e) is not None:
        return True
    return turned_away(e) and not unheard.is_let_down(e) and health_went_down(e) is None


def _refused(e: Evidence) -> Verdict | None:
    if (said := units.refused_for_length(e)) is None:
        return None
    reason = f"refused for its length: {said}" + (f"; {breaker.WAS_TRIPPED}" if breaker.was_tripped(e) else "")
    return breaker.out_of_time(e) or _aftermath(e, "a clean refusal") or Verdict(Outcome.REJECTED, reason)


def _behind_the_door(e: Evidence) -> Verdict | None:
    """A proxy answers in the engine's name, also when that is dead or hangs."""
    sign = e.proxy
    if sign is None or sign.kind == "upstream-lost":
        return None
    if (died := death_proof(e)) is not None:
        return _death(f"{spelled(e.reply)} from {sign.product}, and {died}", Corroboration.PROVEN)
    if sign.kind == "deadline" and e.canary is not None and (canary_hangs(e) or e.canary.let_down):
        reason = f"{sign.product}'s deadline answered after {e.reply.ended_s:.0f} s, and {describe_canary(e.canary)}"
        return Verdict(Outcome.HANG, reason, wedged=True)
    lost = health_lost_it(e) if sign.kind == "deadline" and serves(e) and survival_proof(e) is None else None
    return _death(f"{spelled(e.reply)} from {sign.product}, but then {lost}", Corroboration.PRESUMED) if lost else None


def _answered(e: Evidence) -> Verdict | None:
    reply = e.reply
    if reply.status != 200 or reply.error is not None or not (reply.complete or reply.stopped):
        return None
    return _aftermath(e, "a complete answer") or answered(e)


def _of_several(e: Evidence) -> Verdict | None:
    """An answer of one engine out of several shows nothing where it is well; what is wrong with it is told."""
    turns = noevidence.taken_in_turns(e)
    said = None if turns is None or e.refusal is not None else answered(e)
    return turns if said is None or said.outcome in WELL or not said.outcome.is_evidence else said


def _aftermath(e: Evidence, what: str) -> Verdict | None:
    """Engines have been seen to die or to hang right after a good answer, and right after a clean 400."""
    if (died := death_proof(e)) is not None:
        return _death(f"{what}, but then {died}", Corroboration.PROVEN)
    if (failure := canary_fails(e)) is not None:
        return _death(f"{what}, but then {failure}", Corroboration.PRESUMED)
    if canary_hangs(e) and e.canary is not None:
        return Verdict(Outcome.HANG, f"{what}, but then {describe_canary(e.canary)}", wedged=True)
    if (died_beside := company.died_beside(e, judge, what)) is not None:
        return died_beside
    return unheard.to_the_end(e, what) or unheard.at_first(e, what)


def _unknown_words(e: Evidence) -> Verdict | None:
    """A 4xx in words that we do not know is a refusal where they may be about a length: shorter ones were taken.

    Where they name nothing of the kind, nobody can tell a limit from a failure that was given this status.
    """
    status = told_status(e.reply) or 0
    if not _may_refuse(e, status) or e.proxy is not None or refuses_by_failure(e.reply):
        return None
    if (after := _aftermath(e, f"HTTP {status}")) is not None:
        return after
    if (step := units.beside_the_length(e)) is not None:
        return Verdict(Outcome.INFRA, _what_failed(e), next_step=step)
    if not units.may_name_a_limit(e):
        return None
    if not tells_of_length(e.reply) and (late := came_late(e)) is not None:
        return _death(f"{_what_failed(e)}; {late}", Corroboration.PRESUMED)
    return Verdict(Outcome.REJECTED, f"refused where the same request passed shorter: {_what_failed(e)}")


def _may_refuse(e: Evidence, status: int) -> bool:
    is_said_of_anything = e.reply.status == 200 and status in _SAID_OF_ANYTHING and e.refusal is None
    return 400 <= status < 500 and status not in _NOT_OF_LENGTH and not is_said_of_anything


def _by_a_clock(e: Evidence) -> Verdict | None:
    """A proxy gave up on it, by the time that it took, and the engine lives on as far as can be seen."""
    if not serves(e) or death_proof(e) is not None:
        return None
    if survival_proof(e) is None and _looks_like_a_death(e):
        return None if noevidence.may_hide_a_death(e) else clocks.lost_by_a_clock(e)
    return clocks.failed_by_a_clock(e)


def _failed(e: Evidence) -> Verdict:
    """A failure: a death that is proven or presumed, or an error that the engine demonstrably lived through."""
    what = _what_failed(e)
    if (died := death_proof(e)) is not None:
        return _death(f"{what}; {died}", Corroboration.PROVEN)
    gone = line_was_lost(e) or says_dead(e.reply)
    if canary_hangs(e) and e.canary is not None and is_still_there(e) and not gone:
        reason = f"{what}; the same process is there, and {describe_canary(e.canary)}"
        return Verdict(Outcome.HANG, reason, wedged=True)
    if not serves(e) and not turned_away(e):
        after = describe_canary(e.canary) if e.canary else "no canary was sent"
        return _death(f"{what}; {after}", Corroboration.PRESUMED)
    if (lives := survival_proof(e)) is not None:
        return Verdict(Outcome.ERROR, f"{what}; {lives}")
    doubt = _doubted(e) if _looks_like_a_death(e) else came_late(e)
    if doubt is not None:
        twice = e.uncharged and noevidence.cooled_down(e)
        return replace(_death(f"{what}; {doubt}", Corroboration.PRESUMED), deaths=1 + twice)
    alive = Verdict(Outcome.ERROR, f"{what}; health stayed green and the canary came back whole")
    return unheard.to_the_end(e, what) or alive


def _doubted(e: Evidence) -> str:
    sign = health_went_down(e)
    told = "" if sign is None else f"health got {sign} after it, and "
    return f"{told}nothing proves that the engine survived it"


def _looks_like_a_death(e: Evidence) -> bool:
    reply = e.reply
    upstream = e.proxy is not None and e.proxy.kind == "upstream-lost"
    relayed = reply.status in way.LOST_STATUS and not is_of_its_own(reply)
    hidden = noevidence.may_hide_a_death(e)
    return line_was_lost(e) or upstream or relayed or hidden or says_dead(reply) or health_went_down(e) is not None


def _what_failed(e: Evidence) -> str:
    reply = e.reply
    said = words(reply)
    where = "an error event in the stream" if reply.error_in_stream else f"HTTP {reply.status}"
    if reply.fault is not None:
        where = f"connection {reply.fault}" + (f" after HTTP {reply.status}" if reply.status else "")
    elif reply.status == 200 and not reply.complete and reply.error is None:
        where = "the answer ended early"
    failed = f"{where}: {said}" if said else where
    again = asked_again(reply.headers)  # whether each of these killed a life, nobody can tell
    return failed if again is None else f"{failed}; the gateway says that {again}"


def _death(reason: str, corroboration: Corroboration) -> Verdict:
    return Verdict(Outcome.DEATH, reason, corroboration, deaths=1, blames="this")


_QUESTIONS: tuple[Callable[[Evidence], Verdict | None], ...] = (
    noevidence.cancelled,
    _company_alone,
    way.never_left,
    way.network_went,
    noevidence.away,
    noevidence.ids_refused,
    way.turned_away,
    noevidence.came_out_of_a_cache,
    _of_several,
    way.not_taken,
    _hung,
    _refused,
    noevidence.busy,
    _behind_the_door,
    way.door,
    clocks.cut_by_a_clock,
    noevidence.answered_by_another,
    _answered,
    _unknown_words,
    _by_a_clock,
)

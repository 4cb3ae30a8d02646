"""When does an answer say nothing about its length? PURE: what happened to us, or who answered in the engine's place.

Each question has a Verdict where its answer is yes: abandoned, busy or infra. A death that is seen all the same is
told, and nobody is blamed for it. What stands on the way to the engine is asked in `way`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzzer.evidence import Verdict
from fuzzer.model import Corroboration, Outcome
from fuzzer.outcome import unheard
from fuzzer.outcome.readiness import came_whole
from fuzzer.outcome.song import canary_fails, canary_hangs, serves, turned_away
from fuzzer.outcome.vitals import death_proof, health_went_down, line_was_lost, survival_proof
from fuzzer.outcome.wording import refuses_by_failure, words
from targets.gateways import asked_again, stranger, untold
from targets.overloads import in_cooldown, named_wait_s, turning_away, vouches
from targets.replayed import bypass, replayed
from targets.told import spelled, told_status

if TYPE_CHECKING:
    from fuzzer.evidence import Evidence

_TAKES_NO_SUCH_PROMPT = {400, 422}
ONE_OF_THEM = (
    "a restart that was told of may have been another one's turn: give one pod's own URL, or --allow-replicas to go on "
    "without metrics as evidence"
)
LET_IT_TELL = (
    "short prompts were let in: raise a limit on tokens; or the engine died of it each time and came back, and whoever "
    "is before it calls that busy: its own --metrics-url or --health-url tells"
)
IT_PINGS = (
    "a stream that pings keep alive begins before anybody has answered: ask with --no-stream, switch the pings off "
    "(LiteLLM: sse_keepalive_ping_interval_seconds), or ask the engine itself by its own --url"
)


def cancelled(e: Evidence) -> Verdict | None:
    return Verdict(Outcome.ABANDONED, "interrupted before the answer came") if e.cancelled else None


def away(e: Evidence) -> Verdict | None:
    """A line that went dead, or silent, while we were suspended says nothing about the length."""
    lost = e.hung or (e.reply.fault is not None and e.reply.fault.lost)
    if not e.away_s or not lost or death_proof(e) is not None:
        return None
    return Verdict(Outcome.ABANDONED, f"ctxfuzz itself was not running for {e.away_s:.0f} s of it")


def busy(e: Evidence) -> Verdict | None:
    if e.overload_s is None or death_proof(e) is not None:
        return None
    lives = survival_proof(e) is not None
    if not serves(e) and not lives:
        return None
    went_down = not lives and health_went_down(e) is not None
    unproven = not lives and (turning_away(e.reply) == 503 or may_hide_a_death(e))
    if went_down or (unproven and not _is_believed(e)):
        return None  # it may be a proxy's view of a death
    its_word = unproven and (cooled_down(e) or named_wait_s(e.reply) is None)
    reason = f"the engine says that it is busy ({spelled(e.reply)})"
    left_s = 0.0 if serves(e) and e.drained else e.overload_s  # its canary has waited for that, and was let in
    step = "" if lives else LET_IT_TELL
    return Verdict(Outcome.BUSY, reason, its_word=its_word, retry_after_s=left_s, next_step=step)


def may_be_a_neighbours(verdict: Verdict, e: Evidence) -> bool:
    """A death that nothing proves, of whoever was turned away for a rate or a queue: it is others that fill those."""
    presumed = verdict.outcome is Outcome.DEATH and verdict.corroboration is Corroboration.PRESUMED
    return presumed and e.overload_s is not None and turning_away(e.reply) != 503 and not cooled_down(e)


def may_hide_a_death(e: Evidence) -> bool:
    """A gateway's cooldown, of an engine that served just before: something failed since.

    Or a 503 in words of overload, where such words were taken for true once of as much, or of less. Some gateways say
    so of an engine that died: whoever asks on and on kills one life after the other. One that names when to come back
    is believed. So is one once more that was asked for less: a queue may be full at any length.

    A router's 503 that nobody is there comes of an absence that is older than the probe: it killed nobody.
    """
    if cooled_down(e) and turning_away(e.reply) != 503:
        return e.served_before
    return e.took_its_word and turning_away(e.reply) == 503 and named_wait_s(e.reply) is None


def cooled_down(e: Evidence) -> bool:
    """Was it turned away because the engine failed whoever is before it, as far as can be seen?"""
    return in_cooldown(e.reply, unheard.deployment_of(e))


def _is_believed(e: Evidence) -> bool:
    """An engine's own words of overload in JSON, under a health that never went down; and the canary came back whole.

    A bare `Retry-After` may be a gateway's, which says the same of an engine that just died. A cooldown may be that of
    another one, or of a rate: it is believed once.
    """
    sang = e.canary is not None and e.canary.ok
    can_tell = e.before is not None and e.before.work
    if can_tell or not sang or health_went_down(e) is not None:
        return False
    return not e.took_its_word if cooled_down(e) else vouches(e.reply) and not may_hide_a_death(e)


def taken_in_turns(e: Evidence) -> Verdict | None:
    """Several engines turned up in the middle of the run: one probe's answer is one's, and its canary's another's.

    A failure is told all the same; the answer after it says that.
    """
    whole = e.refusal is not None or (e.reply.status == 200 and e.reply.error is None and not line_was_lost(e))
    if not e.several or e.hung or not whole or not serves(e):
        return None
    reason = f"several engines answer by now ({e.several}): a probe cannot be pinned to one of them"
    return Verdict(Outcome.INFRA, reason, several=True, next_step=ONE_OF_THEM)


def ids_refused(e: Evidence) -> Verdict | None:
    """The first ids of all are refused, and so are the canary's: it is their kind that is not taken."""
    status = told_status(e.reply)
    if e.spec.mode != "ids" or e.baseline is not None or e.served_before or status not in _TAKES_NO_SUCH_PROMPT:
        return None
    alike = e.canary is not None and e.canary.status == status
    if not alike or e.refusal is not None or refuses_by_failure(e.reply) or death_proof(e) is not None:
        return None
    said = f": {said}" if (said := words(e.reply)) else ""
    why = f"the target refuses token ids (HTTP {status}{said})"
    return Verdict(Outcome.INFRA, why, next_step="send text: --mode text", unusable=True, refuses_ids=True)


def came_out_of_a_cache(e: Evidence) -> Verdict | None:
    """A cache that answers asks no engine: what is wrong with that now is of no length, and was so before.

    Where one knows even the canaries, whatever is asked next is no better.
    """
    told = replayed(e.reply)
    if told is None or not came_whole(e):
        return None
    why, step = f"a gateway answered, and {told}", bypass(e.reply)
    died = death_proof(e)
    gone = died or (canary_fails(e) if e.served_before else None)
    if gone is None:
        outcome = Outcome.INFRA if turned_away(e) else Outcome.ABANDONED
        return Verdict(outcome, why, wedged=canary_hangs(e), next_step=step)
    known = Corroboration.PRESUMED if died is None else Corroboration.PROVEN
    return Verdict(Outcome.ABANDONED, f"{why}, but then {gone}", known, deaths=1, blames="nobody", next_step=step)


def answered_by_another(e: Evidence) -> Verdict | None:
    """A gateway that falls back to another model, or asks again, hides what became of ours.

    Unless ours is not heard of after it either. One that named who answers, and does not any more, hides as much.
    """
    if death_proof(e) is not None or e.reply.status != 200:
        return None
    known = None if e.replicas else e.baseline
    why = (known and stranger(e.reply, [known.model, known.also], unheard.deployment_of(e))) or asked_again(
        e.reply.headers
    )
    step = unheard.ASK_IT_ALONE
    if why is None and known is not None and came_whole(e):
        why, step = untold(e.reply, known.deployment), IT_PINGS if e.spec.stream else step
    if why is None:
        return None
    how = f"a gateway answered, and {why}"
    return unheard.to_the_end(e, how) or Verdict(Outcome.INFRA, how, next_step=step)

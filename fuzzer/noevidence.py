"""When does a probe say nothing about its length? PURE: what happened to us, on the way, or at the door.

Each question has a Verdict where its answer is yes: abandoned, busy or infra. A death that is seen all the same is
told, and nobody is blamed for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzzer.evidence import Verdict
from fuzzer.model import Corroboration, Outcome
from fuzzer.vitals import death_proof, health_went_down, line_was_lost, serves, survival_proof, way_is_shut
from fuzzer.wording import names_nobody, refuses_by_failure, words
from targets.base import Fault
from targets.gateways import asked_again, deployment
from targets.refusals import names_overload, retry_after
from targets.scrape import went_on

if TYPE_CHECKING:
    from fuzzer.evidence import Evidence

# Cuts of earlier streams within this share of each other are one clock's doing, not an engine's.
SAME_CLOCK = 0.05
SHORTEST_CLOCK_S = 1.0  # no proxy's deadline is shorter
LOST_STATUS = {502, 503, 520}  # how proxies say that they lost who is behind them
_REFUSING = {400, 422}
_SHUT_ON_NOBODY = {400, 403, 404}
_SHUT = {"auth", "redirect", "not-found"}  # not by the length: the way itself is shut
_HIDES_A_FAILURE = {"broken", "deadline", "blocked", "body-limit"}
NOT_TAKEN = "the target does not take this request: try --mode text, or another --content"
NO_STREAM_OPTIONS = "the target takes no `stream_options`: ask with --no-stream"
FOR_ITS_SIZE = (
    "what is shorter passes with the same key and --url, so it is a limit on request bodies, or a firewall: raise it "
    "(AWS WAF's SizeRestrictions_BODY, IIS's maxAllowedContentLength), or ask the engine itself by its own --url"
)

SENT_ELSEWHERE = (
    "what is shorter is answered here, so it is a gateway's deadline, after which the answer waits elsewhere: raise "
    "that, or ask the engine itself by its own --url"
)

HELD_UP = (
    "it is a limit on bytes, not on tokens: a firewall, a proxy, or a network that loses large packets (MTU) stands "
    "between; ask the engine itself by its own --url, or from nearer to it"
)
ONE_OF_THEM = (
    "a restart that was told of may have been another one's turn: give one pod's own URL, or --allow-replicas to go on "
    "without metrics as evidence"
)


def cancelled(e: Evidence) -> Verdict | None:
    return Verdict(Outcome.ABANDONED, "interrupted before the answer came") if e.cancelled else None


def never_left(e: Evidence) -> Verdict | None:
    """Refused before a byte left: no evidence about this length. Whose death it was, if one, nobody can say.

    Where a canary sang just before, somebody died in between: proven by who is there now, else presumed. A name that
    no longer resolves is the same (a pod that is away takes its name with it), but only where it was there before.
    """
    fault = e.reply.fault
    if e.reply.sent:
        return None
    if fault is Fault.REFUSED or (fault is Fault.NO_ROUTE and e.served_before):
        died = death_proof(e)
        reason = "the connection was refused before a byte left" if fault is Fault.REFUSED else e.reply.fault_text
        if died is None and (not e.served_before or survival_proof(e) is not None):
            return Verdict(Outcome.ABANDONED, reason)
        known = Corroboration.PRESUMED if died is None else Corroboration.PROVEN
        why = died or "the engine served just before"
        return Verdict(Outcome.ABANDONED, f"{reason}: {why}", known, deaths=1, blames="nobody")
    return Verdict(Outcome.INFRA, e.reply.fault_text or str(fault), next_step=_way_there(fault), unusable=True)


def _way_there(fault: Fault | None) -> str:
    match fault:
        case Fault.TLS:
            return "check the certificate: --cacert FILE, or --insecure if you trust the wire"
        case Fault.PROXY:
            return "check HTTP_PROXY, HTTPS_PROXY and NO_PROXY"
        case _:
            return "check the host name and the route"


def away(e: Evidence) -> Verdict | None:
    """A line that went dead, or silent, while we were suspended says nothing about the length."""
    lost = e.hung or (e.reply.fault is not None and e.reply.fault.lost)
    if not e.away_s or not lost or death_proof(e) is not None:
        return None
    return Verdict(Outcome.ABANDONED, f"ctxfuzz itself was not running for {e.away_s:.0f} s of it")


def busy(e: Evidence) -> Verdict | None:
    if e.overload_s is None or death_proof(e) is not None or not serves(e):
        return None
    unproven = e.reply.status == 503 and survival_proof(e) is None
    if unproven and (not _says_it_itself(e) or may_hide_a_death(e)):
        return None  # it may be a proxy's view of a death
    its_word = unproven and retry_after(e.reply.headers) is None
    reason = f"the engine says that it is busy (HTTP {e.reply.status})"
    return Verdict(Outcome.BUSY, reason, its_word=its_word, retry_after_s=e.overload_s)


def may_hide_a_death(e: Evidence) -> bool:
    """A 503 in words of overload, where such words were taken for true once of as much, or of less.

    Some gateways say so of an engine that died: whoever asks on and on kills one life after the other. One that names
    when to come back is believed. So is one once more that was asked for less: a queue may be full at any length.
    """
    return e.took_its_word and e.reply.status == 503 and retry_after(e.reply.headers) is None


def _says_it_itself(e: Evidence) -> bool:
    """An engine's own words of overload in JSON, under a health that never went down; and the canary came back whole.

    A bare `Retry-After` may be a gateway's, which says the same of an engine that just died.
    """
    sang = e.canary is not None and e.canary.ok
    said = e.reply.error is not None and names_overload(e.reply)
    can_tell = e.before is not None and e.before.work
    return not can_tell and sang and said and health_went_down(e) is None


def not_taken(e: Evidence) -> Verdict | None:
    """A body that was not taken whole never came to an engine that works: something on the way holds it up."""
    left, unanswered = e.reply.untaken, e.hung and e.reply.first_byte_s is None
    died = death_proof(e) is not None or health_went_down(e) is not None
    if not unanswered or left == 0 or not serves(e) or died:
        return None
    reason = f"{left} bytes of its body were not taken in {e.reply.ended_s:.0f} s, and a short one was right after it"
    return Verdict(Outcome.INFRA, reason, next_step=HELD_UP)


def taken_in_turns(e: Evidence) -> Verdict | None:
    """Several engines turned up in the middle of the run: one probe's answer is one's, and its canary's another's.

    A failure is told all the same; the answer after it says that.
    """
    whole = e.refusal is not None or (e.reply.status == 200 and e.reply.error is None and not line_was_lost(e))
    if not e.several or e.hung or not whole or not serves(e):
        return None
    reason = f"several engines answer by now ({e.several}): a probe cannot be pinned to one of them"
    return Verdict(Outcome.INFRA, reason, several=True, next_step=ONE_OF_THEM)


def turned_away(e: Evidence) -> Verdict | None:
    """A canary that is turned away (a key that ran out, a certificate) tells nothing of the engine, good or bad.

    But where the probe was lost and the same canary was let in before, it is how a router or an ingress says that
    nobody is behind it (404, 403, "model not found"): then the engine is away, and is waited for.
    """
    shut = way_is_shut(e)
    if shut is None or death_proof(e) is not None or (e.served_before and _may_be_nobody(e)):
        return None
    step = "see that the key, the model's name and the certificate still hold, then resume"
    return Verdict(Outcome.INFRA, f"the way to the engine is shut: {shut}", next_step=step, unusable=True)


def ids_refused(e: Evidence) -> Verdict | None:
    """The first ids of all are refused, and so are the canary's: it is their kind that is not taken."""
    status = e.reply.status
    if e.spec.mode != "ids" or e.baseline is not None or e.served_before or status not in _REFUSING:
        return None
    alike = e.canary is not None and e.canary.status == status
    if not alike or e.refusal is not None or refuses_by_failure(e.reply) or death_proof(e) is not None:
        return None
    said = f": {said}" if (said := words(e.reply)) else ""
    why = f"the target refuses token ids (HTTP {status}{said})"
    return Verdict(Outcome.INFRA, why, next_step="send text: --mode text", unusable=True, refuses_ids=True)


def _may_be_nobody(e: Evidence) -> bool:
    """Was the probe lost, and is the canary told that there is nobody? Where the same process goes on, somebody is.

    A failure in the engine's own words is no lost line: after that only a 404, or such words, say so.
    """
    last = e.settled or e.after
    if e.canary is None or (e.before is not None and last is not None and went_on(e.before, last)):
        return False
    told = e.canary.status == 404 or names_nobody(e.canary.error)
    status = e.reply.status or 0
    lost = line_was_lost(e) or status in LOST_STATUS
    return (told and status >= 500) or (lost and e.canary.status in _SHUT_ON_NOBODY)


def door(e: Evidence) -> Verdict | None:
    """Answers of a proxy or of the door, not of the engine: they say nothing about the length.

    One that lost its engine, or gave up on one that no longer serves, may hide a failure. A door that lets shorter
    prompts and the canary in is not shut: it measures.
    """
    sign = e.proxy
    if sign is None or sign.kind == "upstream-lost" or death_proof(e) is not None:
        return None
    if sign.kind in _HIDES_A_FAILURE and not serves(e):
        return None
    said = f": {said}" if (said := words(e.reply)) else ""
    if sign.kind in _SHUT and e.baseline is not None and e.canary is not None and e.canary.ok:
        late = sign.kind == "redirect"
        after = f" after {e.reply.ended_s:.1f} s" if late else ""
        reason = f"{sign.product} answered HTTP {e.reply.status} to this prompt alone{after}{said}"
        return Verdict(Outcome.INFRA, reason, next_step=SENT_ELSEWHERE if late else FOR_ITS_SIZE)
    seconds = f" after {e.reply.ended_s:.1f} s" if sign.kind == "deadline" else ""
    return Verdict(
        Outcome.INFRA,
        f"{sign.product} answered HTTP {e.reply.status}{seconds} ({sign.kind}){said}",
        next_step=NOT_TAKEN if sign.kind == "blocked" and e.baseline is None else sign.advice,
        unusable=sign.kind in _SHUT,
    )


def answered_by_another(e: Evidence) -> Verdict | None:
    """A gateway that falls back to another model, or asks again, hides what became of ours, canary and all."""
    if death_proof(e) is not None or e.reply.status != 200:
        return None
    why = _stranger(e) or asked_again(e.reply.headers)
    if why is None:
        return None
    step = "switch the gateway's fallbacks and retries off, or ask the engine itself by its own --url"
    return Verdict(Outcome.INFRA, f"a gateway answered, and {why}", next_step=step)


def _stranger(e: Evidence) -> str | None:
    """Who answered instead of the one that answered the short prompts, or None."""
    if e.baseline is None or e.replicas:
        return None
    model, now = e.baseline.model, deployment(e.reply.headers)
    if model and e.reply.model and _bare(model) != _bare(e.reply.model):
        return f"{e.reply.model} answered in the place of {model}"
    before = e.baseline.deployment
    return f"deployment {now} answered in the place of {before}" if before and now and now != before else None


def _bare(model: str) -> str:
    """A model's name without its provider's: gateways spell both ways."""
    return model.rpartition("/")[2].casefold()


def cut_late(e: Evidence) -> bool:
    """May a clock have cut this line? Within moments it is what an engine itself does that fails."""
    return e.reply.fault in {Fault.CUT, Fault.RESET} and e.reply.ended_s >= SHORTEST_CLOCK_S


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

"""Was it the way to the engine, and not the engine? PURE: lines, proxies and doors that say nothing about a length.

Each question has a Verdict where its answer is yes: infra, or abandoned where nothing was sent. A death that is seen
all the same is told and counted, and bounds no length.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fuzzer.evidence import Verdict
from fuzzer.model import Corroboration, Outcome
from fuzzer.outcome.song import canary_fails, serves, way_is_shut
from fuzzer.outcome.vitals import death_proof, health_went_down, line_was_lost, survival_proof
from fuzzer.outcome.wording import names_missing, names_nobody, refuses_by_failure, says_dead, words
from targets.base import Fault
from targets.scrape import went_on
from targets.told import spelled

if TYPE_CHECKING:
    from fuzzer.evidence import Evidence

LOST_STATUS = {502, 503, 520}  # how proxies say that they lost who is behind them
_SHUT_ON_NOBODY = {301, 302, 303, 307, 308, 400, 403, 404, 409, 425}  # a sorry page, one that is still starting
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


def never_left(e: Evidence) -> Verdict | None:
    """Refused before a byte left: no evidence about this length. Whose death it was, if one, nobody can say.

    Where a canary sang just before, somebody died in between: proven by who is there now, else presumed. A name that
    no longer resolves is the same (a pod that is away takes its name with it), and so is a forward proxy that no longer
    gets there, but only where it was there before.
    """
    fault = e.reply.fault
    if e.reply.sent:
        return None
    if fault is Fault.REFUSED or (e.served_before and (fault is Fault.NO_ROUTE or _is_lost_to_our_proxy(e))):
        died = death_proof(e)
        reason = "the connection was refused before a byte left" if fault is Fault.REFUSED else e.reply.fault_text
        if died is None and (not e.served_before or survival_proof(e) is not None):
            return Verdict(Outcome.ABANDONED, reason)
        known = Corroboration.PRESUMED if died is None else Corroboration.PROVEN
        why = died or "the engine served just before"
        return Verdict(Outcome.ABANDONED, f"{reason}: {why}", known, deaths=1, blames="nobody")
    return Verdict(Outcome.INFRA, e.reply.fault_text or str(fault), next_step=_way_there(fault), unusable=True)


def _is_lost_to_our_proxy(e: Evidence) -> bool:
    """Does our forward proxy say that it does not get there? What it refuses us is no 5xx."""
    return e.reply.fault is Fault.PROXY and e.reply.fault_text.lstrip().startswith("5")


def _way_there(fault: Fault | None) -> str:
    match fault:
        case Fault.TLS:
            return "check the certificate: --cacert FILE, or --insecure if you trust the wire"
        case Fault.PROXY:
            return "check HTTP_PROXY, HTTPS_PROXY and NO_PROXY"
        case _:
            return "check the host name and the route"


def network_went(e: Evidence) -> Verdict | None:
    """A line on which no packet comes back any more is our own network's as well as their host's.

    It is the length's death only where somebody else than the network says so: a restart, a socket that is refused, a
    server that is not ready, a canary that comes there and fails. Else it is presumed to be nobody's where the engine
    served before and is not seen to have lived: who asks such a length on and on may lose one host after the other.
    """
    if e.reply.fault is not Fault.NETWORK or death_proof(e) is not None or _says_no(e):
        return None
    is_away = e.canary is not None and e.canary.fault in {Fault.NETWORK, Fault.NO_ROUTE}
    if canary_fails(e) is not None and not is_away:
        return None
    reason = f"the network between us went away under it: {e.reply.fault_text}"
    if not e.served_before or survival_proof(e) is not None:
        return Verdict(Outcome.ABANDONED, reason)
    reason += "; the engine served just before"
    return Verdict(Outcome.ABANDONED, reason, Corroboration.PRESUMED, deaths=1, blames="nobody")


def _says_no(e: Evidence) -> bool:
    """Does health say no after it, which said yes, or does nobody listen there? No network of ours does that."""
    heard = [poll for poll in e.health_after if not poll.ok and not poll.turned_away]
    no = any(poll.status is not None or poll.fault is Fault.REFUSED for poll in heard)
    return no and health_went_down(e) is not None


def not_taken(e: Evidence) -> Verdict | None:
    """A body that was not taken whole never came to an engine that works: something on the way holds it up."""
    left, unanswered = e.reply.untaken, e.hung and e.reply.first_byte_s is None
    died = death_proof(e) is not None or health_went_down(e) is not None
    if not unanswered or left == 0 or not serves(e) or died:
        return None
    reason = f"{left} bytes of its body were not taken in {e.reply.ended_s:.0f} s, and a short one was right after it"
    return Verdict(Outcome.INFRA, reason, next_step=HELD_UP)


def turned_away(e: Evidence) -> Verdict | None:
    """A canary that is turned away (a key that ran out, a certificate) tells nothing of the engine, good or bad.

    But where the same canary was let in before, a 404, or "model not found", is how a router or an ingress says that
    nobody is behind it; so is a 403, a redirect or our own forward proxy's "no" after a probe that was lost. Then the
    engine is away, and is waited for. Where a probe was lost and the way is shut in another manner, a death is presumed
    all the same: who asks such a length on and on may kill one life after the other.
    """
    shut = way_is_shut(e)
    if shut is None or death_proof(e) is not None or _is_nobody(e):
        return None
    step = "see that the key, the model's name and the certificate still hold, then resume"
    verdict = Verdict(Outcome.INFRA, f"the way to the engine is shut: {shut}", next_step=step, unusable=True)
    if not e.served_before or _goes_on(e) or not _was_lost(e):
        return verdict
    reason = f"{verdict.reason}; before that the probe was lost"
    return replace(verdict, reason=reason, corroboration=Corroboration.PRESUMED, deaths=1, blames="this")


def _was_lost(e: Evidence) -> bool:
    """Did the probe's line go, or did its answer claim a death? A door that asks for a key knows nothing of one."""
    asks_for_a_key = e.proxy is not None and e.proxy.kind == "auth"
    return line_was_lost(e) or e.reply.status in LOST_STATUS or (says_dead(e.reply) and not asks_for_a_key)


def _goes_on(e: Evidence) -> bool:
    last = e.settled or e.after
    return e.before is not None and last is not None and went_on(e.before, last)


def _is_nobody(e: Evidence) -> bool:
    """Is the canary told that there is nobody, as it was not before? Where the same process goes on, somebody is.

    After a line that was lost, or the words of a death, however these came, a door says that in more ways.
    """
    canary = e.canary
    if canary is None or serves(e) or not e.served_before or _goes_on(e):
        return False
    is_shut = canary.status in _SHUT_ON_NOBODY or canary.fault == Fault.PROXY
    return canary.status == 404 or names_nobody(canary.error) or (_was_lost(e) and is_shut)


def door(e: Evidence) -> Verdict | None:
    """Answers of a proxy or of the door, not of the engine: they say nothing about the length.

    One that lost its engine, or gave up on one that no longer serves, may hide a failure. A door that lets shorter
    prompts and the canary in is not shut: it measures. Nor is one that says so inside a 200: it had let the probe in.
    """
    sign = e.proxy
    if sign is None or sign.kind == "upstream-lost" or death_proof(e) is not None:
        return None
    may_hide = sign.kind in _HIDES_A_FAILURE or e.reply.status == 200
    if (may_hide and not serves(e)) or _fails_by_404(e) or _is_nobody(e):
        return None
    said = f": {said}" if (said := words(e.reply)) else ""
    if sign.kind in _SHUT and e.baseline is not None and e.canary is not None and e.canary.ok:
        late = sign.kind == "redirect"
        after = f" after {e.reply.ended_s:.1f} s" if late else ""
        reason = f"{sign.product} answered {spelled(e.reply)} to this prompt alone{after}{said}"
        return Verdict(Outcome.INFRA, reason, next_step=SENT_ELSEWHERE if late else FOR_ITS_SIZE)
    seconds = f" after {e.reply.ended_s:.1f} s" if sign.kind == "deadline" else ""
    return Verdict(
        Outcome.INFRA,
        f"{sign.product} answered {spelled(e.reply)}{seconds} ({sign.kind}){said}",
        next_step=NOT_TAKEN if sign.kind == "blocked" and e.baseline is None else sign.advice,
        unusable=sign.kind in _SHUT,
    )


def _fails_by_404(e: Evidence) -> bool:
    """Some engines say 404 of whatever fails in them (mlx_lm.server). A real one names what is missing.

    In JSON it is the engine's own where a short prompt passed by the same path and name; at first, where words tell.
    """
    if e.proxy is None or e.proxy.kind != "not-found" or names_missing(e.reply):
        return False
    return e.reply.error is not None and (e.baseline is not None or refuses_by_failure(e.reply))

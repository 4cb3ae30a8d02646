"""What of a probe is kept for the plan? PURE: (what was prepared, what was seen, what it means) -> Observation."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from fuzzer.model import WELL, Baseline, Outcome
from fuzzer.observation import Generated, Observation
from fuzzer.outcome.cached import cached_tokens
from fuzzer.outcome.clocks import cut_late, failed_late, was_lost
from fuzzer.outcome.garble import REPLACEMENT, leaks, repeats, runs_out
from fuzzer.outcome.song import missed_canary
from targets.bodies import visible
from targets.gateways import deployment
from targets.scrape import counted, went_on

if TYPE_CHECKING:
    from fuzzer.evidence import Evidence, Verdict
    from fuzzer.rig import Prepared
    from fuzzer.standing import Standing
    from targets.scrape import Scrape

KEPT_CHARS = 1_024
READ_SHARE = 0.5  # of a prompt, by the counters of whoever read it


def observe(
    prepared: Prepared,
    e: Evidence,
    verdict: Verdict,
    standing: Standing,
    *,
    started_s: float,
    ended_s: float,
    helped: bool = False,
) -> Observation:
    """The observation of one probe. A probe without a usage that tells has an inferred length: sent + offset.

    `helped`: an engine that hangs is restarted by us, and not left to itself.
    """
    told = e.reply.usage.prompt_tokens
    inferred = prepared.sent_tokens + (standing.offset(prepared.spec.mode) or 0)
    trusted = told is not None and verdict.outcome not in {Outcome.TRUNCATED, Outcome.INFRA}
    return Observation(
        seq=prepared.seq,
        spec=prepared.spec,
        outcome=verdict.outcome,
        length=told if trusted and told is not None else inferred,
        length_source="usage" if trusted else "inferred",
        reason=verdict.reason,
        corroboration=verdict.corroboration,
        clamped=verdict.clamped,
        contended=verdict.contended,
        wedged=verdict.wedged,
        would_tell=verdict.outcome is Outcome.HANG and not helped and _tells_of_its_process(e),
        deaths=verdict.deaths,
        blames=verdict.blames,
        sent_tokens=prepared.sent_tokens,
        completion_tokens=e.reply.usage.completion_tokens,
        cached_tokens=cached_tokens(e),
        refusal_limit=e.refusal.limit if e.refusal else None,
        started_s=started_s,
        ended_s=ended_s,
        duration_s=e.reply.ended_s,
        ttft_s=e.reply.first_token_s,
        cost_s=ended_s - started_s,
        incarnation=standing.incarnation,
        ordinal=standing.ordinal,
        fresh=standing.fresh,
        canaries=len(e.drained) + sum(one is not None for one in (e.canary, e.encore)) + len(e.recounts),
        draft=e.draft,
        retry_after_s=verdict.retry_after_s,
        its_word=verdict.its_word,
        next_step=verdict.next_step,
        unusable=verdict.unusable,
        refuses_ids=verdict.refuses_ids,
        several=verdict.several,
        signature=signature(e) if verdict.deaths else "",
        cut_s=e.reply.ended_s if _may_be_a_clocks(e, verdict) and prepared.body else None,
        lost_s=e.reply.ended_s if verdict.outcome is Outcome.DEATH and was_lost(e) else None,
        yardstick=_yardstick(e) if verdict.outcome is Outcome.PASS else None,
        uncounted=verdict.outcome is Outcome.PASS and _uncounted(e),
        canary_s=e.canary.duration_s if verdict.outcome in WELL and e.canary is not None and e.canary.ok else None,
        generated=_generated(prepared, e) if prepared.spec.compared is not None else None,
    )


def signature(e: Evidence) -> str:
    """The last words that the client itself heard of a failure: the server's message, else how the line went dead."""
    if e.reply.error is not None and e.refusal is None:  # a clean refusal is nobody's last word
        return e.reply.error.message[:400]
    if e.reply.fault is not None:
        return f"{e.reply.fault}: {e.reply.fault_text}"[:400].rstrip(": ")
    if e.canary is not None and not e.canary.ok:
        return (e.canary.error or e.canary.fault)[:400]
    return visible(e.reply.excerpt)[:400]


def _generated(prepared: Prepared, e: Evidence) -> Generated | None:
    """What is kept of an answer that is to be compared: bounded, and nothing of its prompt."""
    reply = e.reply
    if not reply.complete:
        return None
    digest = hashlib.sha256(prepared.generation.prompt.json).hexdigest()
    return Generated(digest, reply.text[:KEPT_CHARS], reply.text_chars, reply.token_ids)


def _tells_of_its_process(e: Evidence) -> bool:
    return e.before is not None and not e.replicas and bool(e.before.starts) and went_on(e.before, e.before)


def _may_be_a_clocks(e: Evidence, verdict: Verdict) -> bool:
    """May a proxy's clock have ended this? A reset within moments is what an engine itself does that fails."""
    return (cut_late(e) or failed_late(e)) and verdict.outcome is not Outcome.DEATH


def _uncounted(e: Evidence) -> bool:
    """Did the answer, or the canary after it, move no counter of work? Then not whom we ask is in these metrics.

    Or not he alone: of several that take turns, one counts the probes and another one the canaries.
    """
    if e.before is None or e.settled is None:
        return False
    if counted(e.before, e.settled) is False or _is_unread(e, e.before, e.settled):
        return True
    return missed_canary(e)


def _is_unread(e: Evidence, before: Scrape, settled: Scrape) -> bool:
    """Were far fewer prompt tokens counted than it has? Of a prompt that no cache knows each one is read."""
    is_cold = e.spec.cache == "cold" and not (e.resent or e.spec.compared is not None or cached_tokens(e))
    if not is_cold or e.spec.stop_after is not None:  # whoever hangs up is not counted by all
        return False
    early, late = before.prompt_tokens, settled.prompt_tokens
    return early is not None and late is not None and late - early < READ_SHARE * e.sent_tokens


def _yardstick(e: Evidence) -> Baseline:
    reply = e.reply
    given = reply.usage.completion_tokens
    return Baseline(
        has_text=bool(reply.text.strip()),
        repeats=repeats(reply.text),
        runs_out=runs_out(reply.text),
        has_replacement=REPLACEMENT in reply.text,
        leaks=leaks(reply.text),
        full_output=given is not None and given >= e.spec.output_tokens,
        canary_has_text=e.canary is not None and e.canary.ok and not e.canary.garble,
        mean_acceptance_length=e.draft.mean_acceptance_length if e.draft else None,
        model=reply.model,
        deployment=deployment(reply),
        canary_model=e.canary.model if e.canary is not None and e.canary.ok else "",
        also=reply.also,
        says_why=e.spec.stream and reply.finish_reason is not None,
    )

"""What did a complete answer show, of an engine that is well after it? PURE.

An answer is a pass where nothing speaks against it: neighbours, a cache, its counts, its text, its drafter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzzer.evidence import Verdict
from fuzzer.model import Outcome
from fuzzer.outcome.cached import certainly_cached
from fuzzer.outcome.counting import ASK_THE_ENGINE, expected, of_another_tokenizer
from fuzzer.outcome.ending import at_length, by_itself
from fuzzer.outcome.garble import garbled, spoken
from fuzzer.outcome.vitals import contended

if TYPE_CHECKING:
    from fuzzer.evidence import Evidence

# How far under the limit a total may end and still be a clamp: llama.cpp stops one short of its context, SGLang two.
CLAMP_SLACK = 2
# How far from the limit that a refusal told: it may be one on prompts, which leaves room for a few tokens of output.
TOLD_SLACK = 6
# Between two requests of a companion is a moment in which it is not there. Away for more than this share of the time of
# an answer, it was no company.
AWAY_SHARE = 0.25
# A unique head keeps a cache from hiding the prefill; where one hides so much of it all the same, nothing was shown.
CACHED_SHARE = 0.5
NO_PREFIX = (
    "each prompt begins anew, but where its --seed was asked here before (then give another one, or none): switch off "
    "what reuses prompts all the same, or what counts a prompt's own chunks as cached, or ask the engine itself by its "
    "own --url"
)


def answered(e: Evidence) -> Verdict:
    """The verdict on an answer that came whole, or as far as we wanted it."""
    shows_nothing = _company_failed(e) or _hidden(e) or _filtered(e)
    unlike = _shortened(e) or _garbage(e)
    return shows_nothing or unlike or _uncounted(e) or _went_alone(e) or _slow_drafter(e) or _pass(e)


def _company_failed(e: Evidence) -> Verdict | None:
    """What fails a neighbour in the batch is a failure under the probe's conditions, whoever got the answer.

    Without the neighbours that it was to have, an answer shows nothing.
    """
    if e.companion_faults:
        return Verdict(Outcome.ERROR, f"a complete answer, but {e.companion_faults[0]}; the engine lives on")
    if e.companions_turned_away:
        step = "ask for fewer --companions, or for a shorter --companion-length"
        return Verdict(Outcome.INFRA, f"a complete answer, but {e.companions_turned_away[0]}", next_step=step)
    return None


def _went_alone(e: Evidence) -> Verdict | None:
    """What is well without its company is not known to be well in it. What is bad is bad all the same."""
    if not e.companions or e.companions_share >= 1 - AWAY_SHARE:
        return None
    there = f"its companions were in flight for {e.companions_share:.0%} of its time ({e.companions_at_end} at its end)"
    step = "the model ends their answers at once: a longer --companion-length keeps each of them there for longer"
    return Verdict(Outcome.ABANDONED, f"a complete answer, but {there}", next_step=step)


def _hidden(e: Evidence) -> Verdict | None:
    """A cold probe whose prompt came out of a cache was not prefilled: its pass is none."""
    cached = certainly_cached(e) or 0
    sent_before = e.resent or (e.spec.compared is not None and e.spec.compared > 1)  # who has no salts remembers it
    if e.spec.cache != "cold" or sent_before or cached <= CACHED_SHARE * e.sent_tokens:
        return None
    why = f"{cached} of {e.sent_tokens} prompt tokens came out of a cache, unasked, by the server's own count"
    return Verdict(Outcome.ABANDONED, why, next_step=NO_PREFIX)


def _filtered(e: Evidence) -> Verdict | None:
    """An answer that a filter ended shows nothing of the engine."""
    if e.reply.finish_reason != "content_filter":
        return None
    step = "try another --content, or ask the engine itself by its own --url"
    return Verdict(Outcome.INFRA, "a content filter ended the answer", next_step=step)


def _shortened(e: Evidence) -> Verdict | None:
    usage = e.reply.usage
    certain = not e.estimated or e.offset is not None
    if (another := of_another_tokenizer(e)) is not None:
        return Verdict(Outcome.INFRA, another, next_step=ASK_THE_ENGINE)
    if usage.prompt_tokens is not None and certain and usage.prompt_tokens < (sent := expected(e)):
        told = f"{sent} prompt tokens sent, {usage.prompt_tokens} counted by the server"
        if e.unrecounted:
            why = f"{told}; whether it counts otherwise or shortened them was not asked: no death is allowed"
            return Verdict(Outcome.INFRA, why, next_step="name a longer --lo, or allow one with --max-deaths 1")
        return Verdict(Outcome.TRUNCATED, told)
    if _short_output(e) and not (_clamped(e) or _may_be_clamped(e)):
        asked, got = e.spec.output_tokens, usage.completion_tokens
        hint = f" (if it never gives more: --output-tokens {got})" if e.baseline is None and got else ""
        return Verdict(Outcome.TRUNCATED, f"{asked} output tokens asked, {got} given with room left{hint}")
    return None


def _uncounted(e: Evidence) -> Verdict | None:
    """A good answer whose prompt may have been shortened is no pass."""
    if not _fell_silent(e):
        return None
    return Verdict(
        Outcome.INFRA,
        "answered, but the server no longer says how many prompt tokens it read, as it did before",
        next_step="whether it shortened the prompt cannot be known: ask the engine without what drops its usage",
    )


def _fell_silent(e: Evidence) -> bool:
    """Does it not tell how many prompt tokens were read, as such answers did? Some servers' streams never do."""
    told_before = e.offset is not None and e.spec.stop_after is None and (e.streams_tell or not e.spec.stream)
    return told_before and e.reply.usage.prompt_tokens is None


def _short_output(e: Evidence) -> bool:
    got = e.reply.usage.completion_tokens
    if got is None or e.spec.stop_after is not None or got >= e.spec.output_tokens:
        return False
    if e.baseline is None and not (e.reply.finish_reason or e.goes_on):
        return False  # there are servers that never say why they end
    if by_itself(e.reply):  # where `ignore_eos` is not honoured, the model itself may end it
        return e.goes_on and e.baseline is not None and e.baseline.full_output
    return e.baseline is None or e.baseline.full_output or at_length(e.reply)


def _clamped(e: Evidence) -> bool:
    """Fewer output tokens than asked because prompt + output reached the limit (or a limit that nobody told us)."""
    usage = e.reply.usage
    if usage.prompt_tokens is None or usage.completion_tokens is None or usage.completion_tokens < 1:
        return False
    total = usage.prompt_tokens + usage.completion_tokens
    if e.limit is None or _is_told(e, total):
        return at_length(e.reply) and not _more_was_answered(e, total)
    if usage.prompt_tokens + e.spec.output_tokens <= e.limit - CLAMP_SLACK:
        return False
    return total >= e.limit - CLAMP_SLACK


def _may_be_clamped(e: Evidence) -> bool:
    """Without the prompt's count nobody knows the total at which it ended. No clamp leaves no token at all."""
    return _fell_silent(e) and bool(e.reply.usage.completion_tokens)


def _is_told(e: Evidence, total: int) -> bool:
    """Did a refusal tell of a lower limit than is advertised, at which this answer ends?"""
    told = e.refused_limit
    return told is not None and e.limit is not None and told < e.limit and abs(total - told) <= TOLD_SLACK


def _more_was_answered(e: Evidence, total: int) -> bool:
    """A limit that nobody told us clamps at one total: not below what came whole, and not at one and then at more.

    A server that never gives as many tokens as are asked bounds the number alone.
    """
    if e.baseline is not None and not e.baseline.full_output:
        return False
    beyond = e.clamped_total is not None and total > e.clamped_total + CLAMP_SLACK
    return beyond or total < e.longest_total - CLAMP_SLACK


def _garbage(e: Evidence) -> Verdict | None:
    if e.baseline is None or e.spec.stop_after is not None:
        return None
    if by_itself(e.reply) and not (e.goes_on or e.baseline.full_output) and not e.reply.text.strip():
        return None  # short answers ended early by themselves too: this one may have had nothing to say
    why = garbled(e.reply.text, spoken(e.reply, e.spec.output_tokens), e.baseline)
    return Verdict(Outcome.GARBLED, f"{why}, although short prompts are answered with text") if why else None


def _slow_drafter(e: Evidence) -> Verdict | None:
    """Speculation that short prompts had and this one lost: off, or next to nothing accepted."""
    usual = e.baseline.mean_acceptance_length if e.baseline else None
    if usual is None or usual <= 1.05 or e.draft is None or contended(e):
        return None
    tokens = e.reply.usage.completion_tokens or 0
    if tokens < 8:
        return None
    now = e.draft.mean_acceptance_length
    if now is None:
        return Verdict(Outcome.DEGRADED, f"nothing was drafted (short prompts: {usual:.2f} tokens a step)")
    expected = e.draft.drafts * (usual - 1)
    if expected >= 4 and e.draft.accepted_tokens <= 0.1 * expected:
        return Verdict(Outcome.DEGRADED, f"acceptance fell to {now:.2f} tokens a step (short prompts: {usual:.2f})")
    return None


def _pass(e: Evidence) -> Verdict:
    if _short_output(e) and _clamped(e):
        got = e.reply.usage.completion_tokens
        return Verdict(Outcome.PASS, f"clamped: {got} of {e.spec.output_tokens} output tokens fit", clamped=True)
    if e.reply.stopped:
        return Verdict(
            Outcome.PASS, f"well until we hung up, as we meant to, after its first {e.spec.stop_after} tokens"
        )
    return Verdict(Outcome.PASS, "a complete answer")

"""What happens around one generation request? Sends it once, watches, and gathers the evidence.

A probe is never retried: its failure is the measurement. It owns the time from its first byte to the end of its grace
and canary, and one task group holds everything that runs meanwhile.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

import anyio

from fuzzer.canary import TOKENS_IN, sing
from fuzzer.companions import Company, accompany
from fuzzer.counting import looks_odd
from fuzzer.errors import Interrupted
from fuzzer.evidence import Evidence
from fuzzer.heed import unless
from fuzzer.patience import Patience, outlast
from fuzzer.prompts.recipe import Recipe
from fuzzer.standing import in_flight
from fuzzer.vitals import health_went_down, may_still_work
from fuzzer.watch import GRACE_INTERVAL_S, TURNS, TURNS_WITHIN_S, Pulse, grace, poll_health, watch
from targets.base import Fault, Reply
from targets.exchange import Upload
from targets.scrape import DraftCounts, Scrape, mixed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fuzzer.evidence import Canary
    from fuzzer.model import ProbeSpec, Settings
    from fuzzer.rig import Prepared, Rig
    from fuzzer.standing import Standing

PASS_INTERVAL_S = 0.5
SUPERVISE_INTERVAL_S = 0.05


async def gather(rig: Rig, prepared: Prepared, standing: Standing, tell: Callable[[Pulse, str], None]) -> Evidence:
    """Send the probe and observe it to the end of its grace and canary. `tell(pulse, phase)` is called now and then."""
    spec, settings = prepared.spec, rig.settings
    deadline_s = standing.deadline_s(in_flight(spec), settings.timeout_s)
    pulse = Pulse(time.monotonic())
    pulse.health.append(await poll_health(rig.target, pulse))
    pulse.began, pulse.progress_at, pulse.known = time.monotonic(), 0.0, prepared.before
    company = Company(len(spec.companions))
    reply, hung = await _send(rig, prepared, pulse, company, tell, deadline_s=deadline_s)
    evidence = Evidence(
        spec=spec,
        reply=reply,
        sent_tokens=prepared.sent_tokens,
        offset=standing.offset(spec.mode),
        estimated=prepared.generation.prompt.estimated,
        resent=rig.again is not None,
        refusal=rig.target.refusal(reply),
        overload_s=rig.target.overload(reply),
        proxy=rig.target.proxy_sign(reply),
        hung=hung,
        deadline_s=deadline_s,
        cancelled=rig.stop.is_set() and not reply.complete,
        health_during=tuple(pulse.health),
        before=prepared.before,
        served_before=standing.served,
        others_seen=standing.others_seen,
        took_its_word=standing.took_its_word(spec),
        uncharged=standing.uncharged(spec),
        peak_running=pulse.peak_running,
        baseline=standing.yardstick(spec),
        limit=rig.limit,
        longest_total=standing.longest_total,
        clamped_total=standing.clamped_total,
        refused_limit=standing.refused_limit,
        streams_tell=standing.streams_tell,
        goes_on=prepared.generation.ignore_eos,
        replicas=rig.replicas,
        companions=len(spec.companions),
        companion_requests=company.requests,
        companion_faults=tuple(company.faults),
        companions_turned_away=tuple(company.turned_away),
        away_s=pulse.away_s,
        slowest_canary_s=standing.slowest_canary_s,
        slowest_pass_s=standing.slowest_pass_s,
        predicted_s=standing.predicted_s(in_flight(spec)),
        recent_cuts_s=standing.cuts_s,
        cut_lengths=standing.cut_lengths,
    )
    if evidence.cancelled:
        return evidence
    return await _aftermath(rig, prepared, standing, evidence, pulse=pulse, tell=tell)


async def gather_unsent(
    rig: Rig, prepared: Prepared, reply: Reply, standing: Standing, tell: Callable[[Pulse, str], None]
) -> Evidence:
    """The same for a probe that could not leave. `reply` is what came of the request to tokenize its text."""
    spec = prepared.spec
    evidence = Evidence(
        spec=spec,
        reply=reply,
        sent_tokens=prepared.sent_tokens,
        overload_s=rig.target.overload(reply),
        proxy=rig.target.proxy_sign(reply),
        hung=reply.fault is Fault.TIMEOUT,
        deadline_s=reply.ended_s,
        before=prepared.before,
        served_before=standing.served,
        replicas=rig.replicas,
    )
    return await _aftermath(rig, prepared, standing, evidence, pulse=Pulse(time.monotonic()), tell=tell)


async def _send(
    rig: Rig,
    prepared: Prepared,
    pulse: Pulse,
    company: Company,
    tell: Callable[[Pulse, str], None],
    *,
    deadline_s: float,
) -> tuple[Reply, bool]:
    """The reply, and whether it hung. A reply that we hung up on keeps its time, and how much of the probe was taken.

    Should the engine be another one while the request is still open, then a proxy keeps it, and sends it to the next
    life: the length is decided, and whoever waits on kills that one too.
    The companions are there before the probe is, and are hung up on when its answer is over.
    """
    replies: list[Reply] = []
    upload, untaken = Upload(), 0
    hung = False

    def phase() -> None:
        tell(pulse, "prefill" if pulse.first_byte_at is None else "decode")

    async with anyio.create_task_group() as group:

        async def send() -> None:
            replies.append(
                await rig.target.generate(
                    prepared.generation,
                    prepared.body,
                    on_progress=pulse.on_byte,
                    on_token=pulse.on_token,
                    upload=upload,
                )
            )
            group.cancel_scope.cancel()

        async def forgo() -> None:
            replies.append(Reply(sent=False))
            group.cancel_scope.cancel()

        async def obey() -> None:
            await rig.stop.wait()
            group.cancel_scope.cancel()

        group.start_soon(obey)
        for at in range(len(prepared.spec.companions)):
            group.start_soon(accompany, rig, prepared, at, company)
        await company.gathered()
        pulse.began, pulse.progress_at = time.monotonic(), 0.0
        group.start_soon(forgo if company.faults else send)
        group.start_soon(watch, rig.target, pulse, rig.settings, phase)
        while pulse.died is None and not pulse.hung(deadline_s, rig.settings.timeout_s):
            await anyio.sleep(SUPERVISE_INTERVAL_S)
            pulse.look()
        hung, untaken = pulse.died is None, upload.untaken
        group.cancel_scope.cancel()
    pulse.look()  # what ended it may be seen before what woke us
    if replies:
        return replies[0], False
    reply = Reply(
        sent=True,
        ended_s=pulse.elapsed(),
        first_byte_s=pulse.first_byte_at,
        bytes_sent=upload.handed,
        untaken=untaken,
    )
    if pulse.died is not None:
        reply = replace(reply, fault=Fault.CUT, fault_text="we hung up on whoever sends it again and again")
    return reply, hung


async def _aftermath(
    rig: Rig,
    prepared: Prepared,
    standing: Standing,
    e: Evidence,
    *,
    pulse: Pulse,
    tell: Callable[[Pulse, str], None],
) -> Evidence:
    """Grace, canary and the last scrapes: whether the engine lived through it."""
    settings, target = rig.settings, rig.target
    fine = (e.reply.complete or e.reply.stopped) and e.reply.status == 200 and e.reply.error is None
    fine = fine or e.refusal is not None
    tell(pulse, "grace")
    after = await rig.look(standing)
    seconds, interval = (
        (settings.grace_pass_s, PASS_INTERVAL_S) if fine else (settings.grace_failure_s, GRACE_INTERVAL_S)
    )
    polls = await grace(target, pulse, seconds=seconds, interval_s=interval)
    e = replace(e, health_after=polls, after=after, draft=e.reply.draft or drafted(e.before, after))
    listened = any(poll.status is not None for poll in e.health_during)
    if listened and polls and polls[-1].fault is Fault.REFUSED and not fine:
        return e  # nobody listens any more: a canary could only be refused
    tell(pulse, "canary")
    e = await _sung(rig, prepared, standing, e, pulse=pulse, fine=fine)
    canary = e.canary
    if canary is None:
        return e
    settled = await rig.look(standing)
    several = e.replicas or any(mixed(e.before, late) for late in (after, settled) if e.before and late)
    e = replace(e, settled=settled, replicas=several)
    return await _recounted(rig, e) if canary.ok and looks_odd(e) else e


async def look_again(rig: Rig, standing: Standing) -> list[Scrape | None]:
    """Who answers the metrics by now, several times: enough for one to show that takes turns with another.

    Raises Interrupted where the run is stopped meanwhile.
    """

    async def look() -> list[Scrape | None]:
        looks: list[Scrape | None] = []
        with anyio.move_on_after(TURNS_WITHIN_S):
            for _ in range(TURNS):
                await anyio.sleep(GRACE_INTERVAL_S)
                looks.append(await rig.look(standing))
        return looks

    return await unless(rig.stop, look)


async def _recounted(rig: Rig, e: Evidence) -> Evidence:
    """With what shows whether an odd count is the engine's: short prompts, sent in the same way.

    Where we are interrupted meanwhile nobody can tell, and the probe is no evidence.
    """
    asked: list[Canary] = []
    counts: Mapping[int, int] = {}
    with suppress(Interrupted):
        way = (e.spec.mode, e.spec.content)
        counts = await rig.recount.of(rig, *way, deadline_s=e.deadline_s, tell=asked.append)
    stopped = rig.stop.is_set() and not counts
    return replace(e, short_counts=tuple(counts.items()), recounts=tuple(asked), cancelled=stopped)


async def _sung(rig: Rig, prepared: Prepared, standing: Standing, e: Evidence, *, pulse: Pulse, fine: bool) -> Evidence:
    """With the canary after it. Where we are interrupted while it is asked again, nobody can tell: it is no evidence.

    What went well is not lost to an interrupt before its first canary was given up on, or turned away.
    """
    spec, settings = prepared.spec, rig.settings
    deadline_s, yardstick = standing.deadline_s(in_flight(spec), settings.timeout_s), rig.yardstick(spec, standing)
    head = f"canary/{prepared.seq}"
    recipe = Recipe(spec.mode, TOKENS_IN, standing.canary_content(spec), str(settings.seed), head)
    first: Canary | None = None
    if fine or not may_still_work(e):
        first = await sing(rig.target, rig.prompts, recipe, deadline_s, yardstick)
        is_asked_again = first.turned_away or (fine and first.given_up_on)
        if not is_asked_again or health_went_down(e) is not None:
            return replace(e, canary=first)
    asked: list[Canary] = []
    patience = Patience(deadline_s, settings.timeout_s, _left_s(settings, standing, spec, pulse))
    with suppress(Interrupted):
        canary = await outlast(
            rig.target, rig.prompts, recipe, patience, yardstick, first=first, stop=rig.stop, tell=asked.append
        )
        return replace(e, canary=canary, drained=tuple(asked), ran_out=patience.ran_out)
    return replace(e, drained=tuple(asked), cancelled=True)


def _left_s(settings: Settings, standing: Standing, spec: ProbeSpec, pulse: Pulse) -> float:
    """What --max-time leaves, seconds."""
    if settings.max_time_s is None:
        return inf
    return settings.max_time_s - standing.over_s - spec.wait_s - (time.monotonic() - pulse.began)


def drafted(before: Scrape | None, after: Scrape | None) -> DraftCounts | None:
    """What was drafted between two scrapes, or None where the counters do not tell."""
    if before is None or after is None or before.draft is None or after.draft is None:
        return None
    old, new = before.draft, after.draft
    if new.drafts < old.drafts:
        return None
    positions = tuple(
        late - early for late, early in zip(new.accepted_per_position, old.accepted_per_position, strict=False)
    )
    return DraftCounts(
        new.drafts - old.drafts,
        new.draft_tokens - old.draft_tokens,
        new.accepted_tokens - old.accepted_tokens,
        positions,
    )

"""What happens while one generation request is open? Sends it once, watches, and gathers the evidence.

A probe is never retried: its failure is the measurement. It owns the time from its first byte to the end of its
aftermath, and one task group holds everything that runs meanwhile.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio

from fuzzer.aftermath import aftermath
from fuzzer.companions import Company, accompany
from fuzzer.evidence import Evidence
from fuzzer.heard import heard
from fuzzer.outcome.ending import breaks_off
from fuzzer.standing import in_flight, unseen_output
from fuzzer.watch import Pulse, poll_health, watch
from targets.base import Fault, Reply
from targets.exchange import Upload

if TYPE_CHECKING:
    from collections.abc import Callable

    from fuzzer.rig import Prepared, Rig
    from fuzzer.standing import Standing

SUPERVISE_INTERVAL_S = 0.05


async def gather(rig: Rig, prepared: Prepared, standing: Standing, tell: Callable[[Pulse, str], None]) -> Evidence:
    """Send the probe and observe it to the end of its grace and canary. `tell(pulse, phase)` is called now and then."""
    spec, settings = prepared.spec, rig.settings
    deadline_s = standing.deadline_s(in_flight(spec), settings.timeout_s, unseen_output(spec))
    pulse = Pulse(time.monotonic())
    pulse.health.append(await poll_health(rig.target, pulse))
    pulse.began, pulse.progress_at, pulse.known = time.monotonic(), 0.0, prepared.before
    company = Company(len(spec.companions))
    reply, hung = await _send(rig, prepared, pulse, company, tell, deadline_s=deadline_s)
    baseline = standing.yardstick(spec)
    if spec.stream and breaks_off(reply, baseline, spec.output_tokens):
        reply = replace(reply, complete=False)
    evidence = Evidence(
        spec=spec,
        reply=reply,
        sent_tokens=prepared.sent_tokens,
        offset=standing.offset(spec.mode),
        shortest=standing.shortest(spec.mode),
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
        baseline=baseline,
        limit=rig.limit,
        longest_total=standing.longest_total,
        clamped_total=standing.clamped_total,
        refused_limit=standing.refused_limit,
        streams_tell=standing.streams_tell,
        goes_on=prepared.generation.ignore_eos,
        replicas=rig.replicas,
        in_turns=rig.settings.allow_replicas,
        companions=len(spec.companions),
        companion_requests=company.requests,
        companion_faults=tuple(company.faults),
        companions_turned_away=tuple(company.turned_away),
        companions_share=company.share,
        companions_at_end=company.at_end,
        away_s=pulse.away_s,
        slowest_canary_s=standing.slowest_canary_s,
        slowest_pass_s=standing.slowest_pass_s,
        predicted_s=standing.predicted_s(in_flight(spec), unseen_output(spec)),
        recent_cuts_s=standing.cuts_s,
        cut_lengths=standing.cut_lengths,
        recent_losses_s=standing.losses_s,
        lost_lengths=standing.lost_lengths,
        died_for_sure=standing.died_for_sure,
    )
    if evidence.cancelled:
        return evidence
    return await aftermath(rig, prepared, standing, evidence, pulse=pulse, tell=tell)


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
    return await aftermath(rig, prepared, standing, evidence, pulse=Pulse(time.monotonic()), tell=tell)


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
            company.ends()
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
        company.begins()
        group.start_soon(forgo if company.faults else send)
        group.start_soon(watch, rig.target, pulse, rig.settings, phase)
        while pulse.died is None and not pulse.hung(deadline_s, rig.settings.timeout_s):
            await anyio.sleep(SUPERVISE_INTERVAL_S)
            pulse.look()
        hung, untaken = pulse.died is None, upload.untaken
        group.cancel_scope.cancel()
    pulse.look()  # what ended it may be seen before what woke us
    if replies:
        return heard(replies[0]), False
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

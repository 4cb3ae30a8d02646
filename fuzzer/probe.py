"""What happens around one generation request? Prepares it, sends it once, watches, and gathers the evidence.

A probe is never retried: its failure is the measurement. It owns the time from its first byte to the end of its grace
and canary, and one task group holds everything that runs meanwhile.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import anyio

from fuzzer.canary import TOKENS_IN, sing
from fuzzer.companions import Company, accompany
from fuzzer.evidence import Evidence
from fuzzer.model import ProbeSpec, Settings
from fuzzer.prompts.recipe import Recipe
from fuzzer.standing import in_flight
from fuzzer.watch import GRACE_INTERVAL_S, Pulse, grace, poll_health, scrape, watch
from targets.base import Fault, Generation, Reply, Target
from targets.scrape import DraftCounts, Scrape, mixed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from fuzzer.enginelog import EngineLog
    from fuzzer.evidence import Canary
    from fuzzer.prompts import PromptSource
    from fuzzer.standing import Standing

PASS_INTERVAL_S = 0.5
SUPERVISE_INTERVAL_S = 0.05


@dataclass(frozen=True, slots=True)
class Rig:
    """What every probe of a run is done with."""

    target: Target
    prompts: PromptSource
    settings: Settings
    limit: int | None = None  # advertised or learnt, tokens
    replicas: bool = False
    engine_log: EngineLog | None = None
    stop: anyio.Event = field(default_factory=anyio.Event)  # set: hang up and close the row
    again: Recipe | None = None  # send this very prompt, whatever length is asked (`replay`)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A probe that is ready to leave: nothing about it is decided later."""

    seq: int
    spec: ProbeSpec
    generation: Generation
    body: bytes = field(repr=False)
    sha256: str
    recipe: Recipe
    before: Scrape | None  # who the engine is as the request leaves

    @property
    def sent_tokens(self) -> int:
        return self.generation.prompt.tokens


async def prepare(rig: Rig, spec: ProbeSpec, standing: Standing, seq: int) -> Prepared:
    """Build the request whose prompt the server will count as `spec.length` tokens, as far as the offset is known."""
    tokens = max(1, spec.length - (standing.offset(spec.mode) or 0))
    seed = str(rig.settings.seed)
    head, salt = (str(seq), None) if spec.compared is None else (f"compared-{spec.length}", str(spec.compared))
    recipe = rig.again or Recipe(spec.mode, tokens, spec.content, seed, head, spec.cache, spec.shared, salt)
    generation = await generation_of(rig, spec, recipe)
    body = rig.target.encode(generation)
    before = await scrape(rig.target)
    return Prepared(seq, spec, generation, body, hashlib.sha256(body).hexdigest(), recipe, before)


async def generation_of(rig: Rig, spec: ProbeSpec, recipe: Recipe) -> Generation:
    """The request of a recipe: over the same vocabulary, in the same dialect, the same one in any process."""
    traits = rig.target.traits
    warm = recipe.cache == "warm"
    return Generation(
        await rig.prompts.rebuild(recipe),
        None if spec.omit_max_tokens else spec.output_tokens,
        stream=spec.stream,
        temperature=spec.temperature,
        ignore_eos=traits.ignore_eos,
        min_tokens=_min_tokens(spec, traits.min_tokens and not traits.ignore_eos, rig.limit),
        cache_salt=_cache_salt(recipe) if traits.cache_salt and not warm else None,
        stop_after=spec.stop_after,
        cold=not warm,
        token_ids=spec.compared is not None and traits.token_ids,
    )


def _cache_salt(recipe: Recipe) -> str:
    return f"ctxfuzz-{recipe.seed}-{recipe.head}" + (f"-{recipe.salt}" if recipe.salt else "")


def _min_tokens(spec: ProbeSpec, wanted: bool, limit: int | None) -> int | None:  # noqa: FBT001  (private)
    """Only where `ignore_eos` is not supported, and never above what the limit leaves."""
    if not wanted or spec.omit_max_tokens:
        return None
    room = spec.output_tokens if limit is None else min(spec.output_tokens, limit - spec.length)
    return max(1, room)


async def gather(rig: Rig, prepared: Prepared, standing: Standing, tell: Callable[[Pulse, str], None]) -> Evidence:
    """Send the probe and observe it to the end of its grace and canary. `tell(pulse, phase)` is called now and then."""
    spec, settings = prepared.spec, rig.settings
    deadline_s = standing.deadline_s(in_flight(spec), settings.timeout_s)
    before = None if rig.replicas else prepared.before  # of several processes, a scrape shows any one
    pulse = Pulse(time.monotonic())
    pulse.health.append(await poll_health(rig.target, pulse))
    pulse.began, pulse.progress_at = time.monotonic(), 0.0
    company = Company(len(spec.companions))
    reply, hung = await _send(rig, prepared, pulse, company, tell, deadline_s=deadline_s)
    evidence = Evidence(
        spec=spec,
        reply=reply,
        sent_tokens=prepared.sent_tokens,
        offset=standing.offset(spec.mode),
        estimated=prepared.generation.prompt.estimated,
        refusal=rig.target.refusal(reply),
        overload_s=rig.target.overload(reply),
        proxy=rig.target.proxy_sign(reply),
        hung=hung,
        deadline_s=deadline_s,
        cancelled=rig.stop.is_set() and not reply.complete,
        health_during=tuple(pulse.health),
        before=before,
        served_before=standing.served,
        peak_running=pulse.peak_running,
        baseline=standing.yardstick(spec),
        limit=rig.limit,
        replicas=rig.replicas,
        companions=len(spec.companions),
        companion_requests=company.requests,
        companion_faults=tuple(company.faults),
        companions_turned_away=tuple(company.turned_away),
        away_s=pulse.away_s,
        recent_cuts_s=standing.cuts_s,
    )
    if evidence.cancelled:
        return evidence
    return await _aftermath(rig, evidence, pulse, partial(_canary, rig, prepared, standing, deadline_s), tell)


async def _send(
    rig: Rig,
    prepared: Prepared,
    pulse: Pulse,
    company: Company,
    tell: Callable[[Pulse, str], None],
    *,
    deadline_s: float,
) -> tuple[Reply, bool]:
    """The reply, and whether it hung. A reply that we hung up on keeps nothing but its time.

    The companions are there before the probe is, and are hung up on when its answer is over.
    """
    replies: list[Reply] = []
    hung = False

    def phase() -> None:
        tell(pulse, "prefill" if pulse.first_byte_at is None else "decode")

    async with anyio.create_task_group() as group:

        async def send() -> None:
            replies.append(await rig.target.generate(prepared.generation, prepared.body, on_progress=pulse.on_byte))
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
        while not pulse.hung(deadline_s, rig.settings.timeout_s):
            await anyio.sleep(SUPERVISE_INTERVAL_S)
            pulse.look()
        hung = True
        group.cancel_scope.cancel()
    if replies:
        return replies[0], False
    return Reply(sent=True, ended_s=pulse.elapsed(), first_byte_s=pulse.first_byte_at), hung


async def _aftermath(
    rig: Rig,
    e: Evidence,
    pulse: Pulse,
    send_canary: Callable[[], Awaitable[Canary]],
    tell: Callable[[Pulse, str], None],
) -> Evidence:
    """Grace, canary and the last scrapes: whether the engine lived through it."""
    settings, target = rig.settings, rig.target
    fine = (e.reply.complete or e.reply.stopped) and e.reply.status == 200 and e.reply.error is None
    fine = fine or e.refusal is not None
    tell(pulse, "grace")
    after = await scrape(target)
    seconds, interval = (
        (settings.grace_pass_s, PASS_INTERVAL_S) if fine else (settings.grace_failure_s, GRACE_INTERVAL_S)
    )
    polls = await grace(target, pulse, seconds=seconds, interval_s=interval)
    e = replace(e, health_after=polls, after=after, draft=e.reply.draft or drafted(e.before, after))
    listened = any(poll.status is not None for poll in e.health_during)
    if listened and polls and polls[-1].fault is Fault.REFUSED and not fine:
        return e  # nobody listens any more: a canary could only be refused
    tell(pulse, "canary")
    canary = await send_canary()
    settled = await scrape(target)
    several = e.replicas or any(mixed(e.before, late) for late in (after, settled) if e.before and late)
    return replace(e, canary=canary, settled=settled, replicas=several)


async def _canary(rig: Rig, prepared: Prepared, standing: Standing, deadline_s: float) -> Canary:
    spec, seed = prepared.spec, str(rig.settings.seed)
    recipe = Recipe(spec.mode, TOKENS_IN, standing.canary_content(spec), seed, f"canary/{prepared.seq}")
    return await sing(rig.target, rig.prompts, recipe, deadline_s, standing.yardstick(spec))


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

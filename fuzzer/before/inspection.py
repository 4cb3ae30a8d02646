"""What kind of engine is it? PURE: conclusions from what it says of itself and from a handful of tiny generations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Literal

from targets.base import Health, Mode, Reply, Survey
from targets.scrape import DraftCounts, Scrape

if TYPE_CHECKING:
    from fuzzer.before.preflight import Company

Method = Literal["lookup", "learned", "none", "unknown"]
_START = "process_start_time_seconds"  # other start marks (llama.cpp's header) are no time of day


@dataclass(frozen=True, slots=True)
class Try:
    """One tiny generation: what was asked, what came, and what the counters moved by meanwhile (None: no counters)."""

    content: str
    mode: Mode
    sent_tokens: int
    reply: Reply
    estimated: bool = False  # no tokenizer made our count
    draft: DraftCounts | None = None
    prefix_hits: float | None = None
    health: tuple[Health, ...] = ()  # polled while it was open

    @property
    def ok(self) -> bool:
        return self.reply.status == 200 and self.reply.error is None and self.reply.complete


@dataclass(frozen=True, slots=True)
class Beyond:
    """How the one request over the limit ended."""

    length: int
    outcome: str
    reason: str
    limit: int | None = None  # what the refusal names


@dataclass(frozen=True, slots=True)
class Facts:
    """All that was looked at."""

    url: str
    survey: Survey
    company: Company
    scrape: Scrape | None = None
    tries: tuple[Try, ...] = ()
    health: tuple[tuple[Health, float], ...] = ()  # polls of the idle engine, each with its seconds
    beyond: Beyond | None = None


@dataclass(frozen=True, slots=True)
class Drafter:
    """How the engine speculates. `tokens`: k, the most draft tokens a step; None where nothing was seen drafted."""

    method: Method
    tokens: int | None
    why: str


@dataclass(frozen=True, slots=True)
class Inspection:
    """What is known of a target. `disagreements` are sentences; None is always "not known"."""

    url: str
    engine: str
    version: str | None
    model: str | None
    models: tuple[str, ...]
    limit: int | None
    limits: Mapping[str, int] = field(default_factory=dict)
    disagreements: tuple[str, ...] = ()
    drafter: Drafter = field(default_factory=lambda: Drafter("unknown", None, ""))
    prefix_cache: bool | None = None
    replicas: int = 1
    traffic: str | None = None
    process_start: float | None = None  # seconds since the epoch
    health: str = ""
    takes: tuple[Mode, ...] = ()  # the forms of prompts that were answered
    adds: Mapping[Mode, int] = field(default_factory=dict)  # tokens that the server adds to one, where that is exact
    metrics: bool = False
    tokenize: bool = False
    beyond: Beyond | None = None


def conclude(facts: Facts) -> Inspection:
    """The inspection of a target. Total: what was not seen is not known."""
    survey = facts.survey
    limits = dict(survey.limits)
    pool = facts.scrape.kv_tokens if facts.scrape else None
    if pool is not None:
        limits["KV capacity"] = pool
    if facts.beyond is not None and facts.beyond.limit is not None:
        limits["its refusal"] = facts.beyond.limit
    return Inspection(
        url=facts.url,
        engine=survey.engine,
        version=survey.version,
        model=survey.model,
        models=survey.models,
        limit=survey.limit,
        limits=limits,
        disagreements=tuple(disagreements(survey.limit, limits, facts.beyond)),
        drafter=drafter(facts.tries, facts.scrape),
        prefix_cache=prefix_cache(facts.tries),
        replicas=facts.company.replicas,
        traffic=facts.company.traffic,
        process_start=_start(facts.scrape),
        health=health_words(facts.health, facts.tries),
        takes=tuple(dict.fromkeys(one.mode for one in facts.tries if one.ok)),
        adds={one.mode: added for one in reversed(facts.tries) if (added := _added(one)) is not None},
        metrics=survey.has_metrics,
        tokenize=survey.has_tokenize,
        beyond=facts.beyond,
    )


def disagreements(limit: int | None, limits: Mapping[str, int], beyond: Beyond | None) -> Sequence[str]:
    """What cannot all be true of the limit, a sentence each. A larger KV pool than the limit needs is no quarrel."""
    said = []
    for source, value in limits.items():
        if source == "KV capacity":
            if limit is not None and value < limit:
                said.append(f"the KV pool holds {value} tokens: no request can reach the limit of {limit}")
        elif limit is not None and value != limit:
            said.append(f"{source} says {value}, not {limit}")
    if beyond is not None and beyond.outcome != "rejected":
        said.append(f"{beyond.length} prompt tokens, over the limit, are not refused: {beyond.outcome}")
    return said


def drafter(tries: Sequence[Try], scrape: Scrape | None) -> Drafter:
    """A learned drafter drafts on any text; a lookup drafter needs text that repeats itself."""
    plain = [one for one in tries if one.ok and one.content == "words"]
    repeats = [one for one in tries if one.ok and one.content == "repeat"]
    drafted = [one.draft for one in (*plain, *repeats) if one.draft is not None and one.draft.drafts > 0]
    tokens = max((round(k) for counts in drafted if (k := counts.tokens_per_draft) is not None), default=None)
    on_plain = sum(_drafts(one) > 0 for one in plain)
    on_repeats = sum(_drafts(one) > 0 for one in repeats)
    if plain and on_plain == len(plain):
        return Drafter("learned", tokens, "it drafts on text that does not repeat itself")
    if on_repeats and on_plain == 0:
        return Drafter("lookup", tokens, "it drafts on text that repeats itself, and on no other")
    if drafted:
        return Drafter("unknown", tokens, "it drafts now and then")
    return _undrafted(scrape) if tries else Drafter("unknown", None, "nothing was generated")


def _undrafted(scrape: Scrape | None) -> Drafter:
    if scrape is None:
        return Drafter("unknown", None, "no drafts were seen, and there are no metrics")
    if scrape.draft is None:
        return Drafter("none", None, "its metrics know no drafts, and it made none for us")
    return Drafter("unknown", None, "its metrics count drafts, but it made none for us")


def prefix_cache(tries: Sequence[Try]) -> bool | None:
    """Whether a prompt that was sent twice was read from a cache the second time; None where nothing tells."""
    again = [one for one in tries if one.ok and one.content == "again"]
    told = [cached for one in again if (cached := _cached(one)) is not None]
    return any(cached > 0 for cached in told) if told else None


def health_words(polls: Sequence[tuple[Health, float]], tries: Sequence[Try]) -> str:
    """How the health endpoint behaves: its answer when idle, how long it takes, and its answer under a generation."""
    if not polls:
        return "not asked"
    answers = sorted({_spell(poll) for poll, _ in polls})
    words = f"{' or '.join(answers)} in {median(took for _, took in polls) * 1000:.0f} ms when idle"
    busy = sorted({_spell(poll) for one in tries for poll in one.health})
    return f"{words}, {' or '.join(busy)} while it generates" if busy else words


def _drafts(one: Try) -> float:
    return one.draft.drafts if one.draft is not None else 0.0


def _cached(one: Try) -> float | None:
    cached = one.reply.usage.cached_tokens
    return cached if cached is not None else one.prefix_hits


def _added(one: Try) -> int | None:
    counted = one.reply.usage.prompt_tokens
    exact = one.ok and counted is not None and not one.estimated
    return counted - one.sent_tokens if exact and counted is not None else None


def _start(scrape: Scrape | None) -> float | None:
    starts = [mark for name, mark in (scrape.starts.items() if scrape else ()) if name.startswith(_START)]
    return min(starts, default=None)


def _spell(poll: Health) -> str:
    return f"HTTP {poll.status}" if poll.status is not None else str(poll.fault)

"""What does one reading of the metrics tell, and can two of them be of the same process? PURE."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

START_HEADER = "process-start-time-unix"  # llama.cpp's own mark, a response header
JITTER_S = 1.0  # some exporters reckon a start anew each time, and never the same to the fraction, or to the second


@dataclass(frozen=True, slots=True)
class DraftCounts:
    """Speculative decoding, as counted by the engine: totals of a request, or a difference of counters."""

    drafts: float
    draft_tokens: float
    accepted_tokens: float
    accepted_per_position: tuple[float, ...] = ()

    @property
    def mean_acceptance_length(self) -> float | None:
        """Tokens per verification step (1 + accepted/drafts), or None where nothing was drafted."""
        return 1 + self.accepted_tokens / self.drafts if self.drafts > 0 else None

    @property
    def tokens_per_draft(self) -> float | None:
        """k: draft tokens per draft, or None where nothing was drafted."""
        return self.draft_tokens / self.drafts if self.drafts > 0 else None


@dataclass(frozen=True, slots=True)
class Scrape:
    """One reading of the target's metrics, reduced to what we use. Counters are keyed by label set, as text.

    `starts` are process start marks (seconds since the epoch where the engine says it so), one per process seen in
    this scrape; `monotone` holds every counter that can only fall by a restart, as `name{labels}` -> value, and
    `unread` those of them that stand there too, but with no number.
    """

    at_s: float
    starts: Mapping[str, float] = field(default_factory=dict)
    monotone: Mapping[str, float] = field(default_factory=dict)
    running: float | None = None  # requests in the batch now
    waiting: float | None = None  # requests queued now
    finished: float | None = None  # requests finished since the start, of any reason
    heartbeat: float | None = None  # moves while the engine computes, also inside a long prefill
    prompt_tokens: float | None = None
    draft: DraftCounts | None = None  # totals since the start
    prefix_hits: float | None = None
    prefix_queries: float | None = None
    kv_tokens: int | None = None  # KV pool in tokens, by the engine's own figure, else blocks x block size
    block_size: int | None = None
    blocks: int | None = None  # how many blocks the pool has
    kv_reckoned: bool = False  # `kv_tokens` is no figure of the engine's: blocks x block size
    unread: frozenset[str] = frozenset()

    @property
    def work(self) -> dict[str, float]:
        """What only an engine that works can count."""
        counts = {"finished": self.finished, "heartbeat": self.heartbeat, "prompt tokens": self.prompt_tokens}
        return {name: value for name, value in counts.items() if value is not None}


def restarted(before: Scrape, after: Scrape) -> str | None:
    """Why `after` cannot come from the processes of `before`, or None where it can.

    A start mark that changed, a counter that fell, or a label set that vanished (of several data-parallel engines one
    may die) each prove a restart. Two scrapes that share no counter prove nothing, nor do counters of somebody who
    counts no engine's work.
    """
    if mixed(before, after):
        return None
    for name, late in after.starts.items():
        if name in before.starts and _differs(late - before.starts[name], before, after):
            return f"process start went from {before.starts[name]:.2f} to {late:.2f}"
    for name, value in before.monotone.items() if _is_an_engine(before) else ():
        if name not in after.monotone:
            if value > 0 and after.monotone and name not in after.unread:
                return f"{name} vanished"
        elif after.monotone[name] < value:
            return f"{name} fell from {value:g} to {after.monotone[name]:g}"
    return None


def mixed(before: Scrape, after: Scrape) -> bool:
    """True where `after` shows a process that began before the one of `before`: several stand behind the URL."""
    return any(_differs(mark - after.starts.get(name, mark), before, after) for name, mark in before.starts.items())


def same_process(before: Scrape, after: Scrape) -> bool:
    """True where both tell of the same processes by their starts."""
    if before.starts.keys() != after.starts.keys():
        return False
    return not any(_differs(abs(after.starts[name] - mark), before, after) for name, mark in before.starts.items())


def _differs(younger_by_s: float, before: Scrape, after: Scrape) -> bool:
    """Is a start so much later another process's? Less than the jitter is none where the counters went on."""
    if younger_by_s <= 0 or younger_by_s > JITTER_S:
        return younger_by_s > 0
    shared = before.monotone.keys() & after.monotone.keys()
    fell = any(after.monotone[name] < before.monotone[name] for name in shared)
    return fell or not any(before.monotone[name] > 0 for name in shared)


def went_on(before: Scrape, after: Scrape) -> bool:
    """True where `after` proves that the processes of `before` live: same start marks, or counters that went on.

    A router or a gateway has a start of its own, and outlives its engines: only who counts an engine's work is one.
    """
    if restarted(before, after) is not None or mixed(before, after):
        return False
    if not _is_an_engine(before):
        return False
    if any(after.starts.get(name) == mark for name, mark in before.starts.items()):
        return True
    return any(value > 0 and name in after.monotone for name, value in before.monotone.items())


def _is_an_engine(seen: Scrape) -> bool:
    """Do these count an engine's work, or tell its KV pool? A gateway, a router or a sidecar has metrics of its own."""
    return bool(seen.work or seen.blocks) or START_HEADER in seen.starts


def counted(before: Scrape, after: Scrape) -> bool | None:
    """Does `after` count work that came after `before`? None where the two count nothing that they share.

    Where it was done and is not counted, these are the metrics of somebody else, or old ones out of a cache.
    """
    shared = before.work.keys() & after.work.keys()
    return any(after.work[name] > before.work[name] for name in shared) if shared else None


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

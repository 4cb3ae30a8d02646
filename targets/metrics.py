"""What do an engine's metrics say? Pure: Prometheus text in, a Scrape out. Never raises, whatever the text.

Our own small reader: it is polled, and a general parser takes ten times as long for the few names that we use.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from targets.metric_names import COUNTERS, NAMES, MetricNames
from targets.scrape import START_HEADER, DraftCounts, Scrape

_START = "process_start_time_seconds"
_SAMPLE = re.compile(r"([a-zA-Z_:][\w:]*)(\{.*\})?[ \t]+(\S+)")
_LABEL = re.compile(r'\b(\w{1,128})="((?:[^"\\]|\\.)*)"')
_LABELS_CHARS = 8_192  # of one sample's labels: enough for any info metric, and a bound on what reading them costs
_MAX = 1e15  # below it a float holds each integer; above it nothing is a time, a size or a count that we use
_TOTAL = re.compile(r'[{,]\s*priority=""')
_ADDS_UP = ("_total", "_count")
_OTHER_COUNTERS = ("process_cpu_seconds_total",)


Samples = Mapping[str, tuple[tuple[str, float], ...]]  # name without `_total` -> (labels as text, value or NaN)


def scrape(text: str, headers: Mapping[str, str], at_s: float) -> Scrape | None:
    """A Scrape of Prometheus text, or None where it holds nothing that we know. `at_s` is the caller's clock.

    A start is an engine's only where its work is counted, or its KV pool told, beside it: a gateway or a router has one
    of its own, and is started anew without any engine.
    """
    samples, counters = _read(text)
    monotone = {name: value for name, value in counters.items() if math.isfinite(value)}
    unread = frozenset(counters.keys() - monotone.keys())
    marks = [(f"{_START}{labels}", value) for labels, value in samples.get(_START, ())]
    marks.append((START_HEADER, _number(headers.get(START_HEADER, ""))))
    starts = {name: value for name, value in marks if abs(value) < _MAX}
    has_header = START_HEADER in starts
    names = next((row for row in NAMES if any(name.startswith(row.prefix) for name in samples)), None)
    if names is None:
        return Scrape(at_s, starts, monotone, unread=unread) if has_header else None
    pool = _pool(samples.get(names.cache_info, ()))
    gauges = {name: _without_parts(rows) for name, rows in samples.items() if name in names.running + names.waiting}
    seen = Scrape(
        at_s,
        starts,
        monotone,
        running=_sum(gauges, names.running),
        waiting=_sum(gauges, names.waiting),
        finished=_sum(samples, names.finished),
        heartbeat=_heartbeat(samples, names.heartbeat),
        prompt_tokens=_sum(samples, names.prompt_tokens),
        draft=_draft(samples, names),
        prefix_hits=_sum(samples, names.prefix_hits),
        prefix_queries=_sum(samples, names.prefix_queries),
        kv_tokens=pool.tokens if pool.tokens is not None else _least(samples, names.kv_tokens),
        block_size=pool.block_size,
        blocks=pool.blocks,
        kv_reckoned=pool.reckoned,
        unread=unread,
    )
    return seen if seen.work or seen.blocks or has_header else replace(seen, starts={})


def _read(text: str) -> tuple[Samples, dict[str, float]]:
    """All samples of interest, and of them those that only a restart can lower: `name{labels}` -> value or NaN."""
    found: dict[str, list[tuple[str, float]]] = {}
    counters: dict[str, float] = {}
    declared = dict.fromkeys(_OTHER_COUNTERS, "counter")
    prefixes = (*(row.prefix for row in NAMES), _START, *_OTHER_COUNTERS)
    for line in text.split("\n"):
        if line.startswith("# TYPE "):
            words = line.split()
            if len(words) == 4:
                declared[words[2]] = words[3]
        elif line.startswith(prefixes) and "_bucket{" not in line:
            match = _SAMPLE.match(line)
            if match is None:
                continue
            name, labels, value = match[1], match[2] or "", _number(match[3])
            found.setdefault(name.removesuffix("_total"), []).append((labels, value))
            if _falls_never(name, declared.get(name)):
                counters[name + labels] = value
    return {name: tuple(values) for name, values in found.items()}, counters


def _falls_never(name: str, declared: str | None) -> bool:
    """A counter, by its declaration or, undeclared, by its `_total`; and by its name one that adds up.

    The declaration alone is not enough: averages are declared so too (llama.cpp's `n_busy_slots_per_decode`), and fall.
    """
    if declared in {None, "unknown", "untyped"}:
        return name.endswith("_total")
    return declared == "counter" and (name.endswith(_ADDS_UP) or name in COUNTERS)


def _number(text: str) -> float:
    """The value of a sample; NaN where it is no number."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def _least(samples: Samples, names: tuple[str, ...]) -> int | None:
    """The smallest of a size that stands once for each engine: a request lives in one of them."""
    told = [value for name in names for _, value in samples.get(name, ()) if 1 <= value < _MAX]
    return int(min(told)) if told else None


def _sum(samples: Samples, names: tuple[str, ...]) -> float | None:
    """The sum over all label sets of the first name that is there; None where one of them is unread, or too large."""
    for name in names:
        if name in samples:
            total = sum(value for _, value in samples[name])
            return total if abs(total) < _MAX else None
    return None


def _without_parts(rows: tuple[tuple[str, float], ...]) -> tuple[tuple[str, float], ...]:
    """SGLang tells a gauge's total with an empty priority, and beside it what each priority has of that.

    Of a counter that row is no total: it is what came without a priority.
    """
    totals = tuple((labels, value) for labels, value in rows if _TOTAL.search(labels))
    return totals or rows


def _heartbeat(samples: Samples, names: tuple[str, ...]) -> float | None:
    beats = [beat for name in names if (beat := _sum(samples, (name,))) is not None]
    return sum(beats) if beats else None


def _draft(samples: Samples, names: MetricNames) -> DraftCounts | None:
    drafts, tokens, accepted = (_sum(samples, row) for row in (names.drafts, names.draft_tokens, names.accepted))
    if drafts is None or tokens is None or accepted is None:
        return None
    positions: dict[int, float] = {}
    for name in names.accepted_per_position:
        for labels, value in samples.get(name, ()):
            position = _labels(labels).get("position", "")
            if position.isdecimal() and len(position) < 4 and abs(value) < _MAX:
                positions[int(position)] = positions.get(int(position), 0.0) + value
    return DraftCounts(drafts, tokens, accepted, tuple(positions[key] for key in sorted(positions)))


@dataclass(frozen=True, slots=True)
class _Pool:
    """A KV pool as an engine's info metric tells it. `reckoned`: it does not say `tokens` itself."""

    tokens: int | None = None
    block_size: int | None = None
    blocks: int | None = None
    reckoned: bool = False


def _pool(rows: tuple[tuple[str, float], ...]) -> _Pool:
    """The KV pool. Of several engines the smallest: a request lives in one of them."""
    pools = [_pool_of(_labels(labels)) for labels, _ in rows]
    return min(pools, key=lambda pool: (pool.tokens is None, pool.tokens or 0), default=_Pool())


def _pool_of(info: Mapping[str, str]) -> _Pool:
    size, blocks = _count(info.get("block_size")) or None, _count(info.get("num_gpu_blocks")) or None
    told = _count(info.get("kv_cache_size_tokens")) or None
    if told is None and size and blocks:
        return _Pool(size * blocks, size, blocks, reckoned=True)
    return _Pool(told, size, blocks)


def _labels(text: str) -> dict[str, str]:
    return dict(_LABEL.findall(text[:_LABELS_CHARS]))


def _count(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdecimal() and len(text) < 13 else None

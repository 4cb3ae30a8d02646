"""How does an inspection read, to a person and to a machine? PURE: labelled rows, and `ctxfuzz.inspection/1`."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from fuzzer.report.plain import plain
from fuzzer.report.words import tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fuzzer.before.inspection import Inspection

SCHEMA: Final = "ctxfuzz.inspection/1"
UNKNOWN: Final = "unknown"
LAST_S: Final = datetime(9999, 12, 31, tzinfo=UTC).timestamp()
PREFIX_CACHE: Final = {True: "on", False: "off, or of no use to short prompts", None: UNKNOWN}


def inspection_object(seen: Inspection) -> dict[str, Any]:
    """The inspection as plain JSON types; null is "not known"."""
    made = asdict(seen)
    engine = {"name": made.pop("engine"), "version": made.pop("version")}
    made["process_start"] = _utc(seen.process_start)
    return {"schema": SCHEMA, "url": made.pop("url"), "engine": engine, **made}


def rows(seen: Inspection) -> list[tuple[str, str]]:
    """(label, text) in the order of reading; an empty label continues the one before."""
    told = [(label, plain(text)) for label, text in _rows(seen)]
    return [("" if at and told[at - 1][0] == label else label, text) for at, (label, text) in enumerate(told)]


def _rows(seen: Inspection) -> Iterator[tuple[str, str]]:
    yield "target", seen.url
    yield "engine", f"{seen.engine} {seen.version or '(version unknown)'}"
    more = f" (of {len(seen.models)}: {', '.join(seen.models[:8])})" if len(seen.models) > 1 else ""
    yield "model", f"{seen.model or UNKNOWN}{more}"
    yield "limit", UNKNOWN if seen.limit is None else f"{tokens(seen.limit)} tokens"
    for source, value in seen.limits.items():
        yield "by", f"{source}: {tokens(value)}"
    for sentence in seen.disagreements:
        yield "but", sentence
    k = UNKNOWN if seen.drafter.tokens is None else tokens(seen.drafter.tokens)
    drafts = "" if seen.drafter.method == "none" else f", k = {k}"
    yield "drafter", f"{seen.drafter.method}{drafts} ({seen.drafter.why})"
    yield "prefix cache", PREFIX_CACHE[seen.prefix_cache]
    yield "replicas", tokens(seen.replicas) if seen.metrics else f"{UNKNOWN} (no metrics)"
    yield "traffic", seen.traffic or ("none seen" if seen.metrics else f"{UNKNOWN} (no metrics)")
    yield "started", _started(seen.process_start)
    yield "health", seen.health
    yield "prompts", ", ".join(seen.takes) or "none were answered"
    for mode, added in seen.adds.items():
        yield "adds", f"{tokens(added)} tokens to {mode}"
    yield "offers", ", ".join(_offers(seen)) or "neither metrics nor a tokenizer"
    if seen.beyond is None:
        yield "over limit", "not tried (--probe-limit sends one request)"
    else:
        yield "over limit", f"{tokens(seen.beyond.length)} prompt tokens: {seen.beyond.outcome}: {seen.beyond.reason}"


def as_text(seen: Inspection) -> str:
    """The inspection as plain lines, for a pipe."""
    told = rows(seen)
    width = max(len(label) for label, _ in told)
    return "\n".join(f"{label:<{width}}  {text}" for label, text in told)


def _offers(seen: Inspection) -> Iterator[str]:
    if seen.metrics:
        yield "metrics"
    if seen.tokenize:
        yield "a tokenizer"


def _started(seconds: float | None) -> str:
    if seconds is None:
        return UNKNOWN
    return _utc(seconds) or f"{UNKNOWN} (the target tells {seconds:g} s since 1970)"


def _utc(seconds: float | None) -> str | None:
    """The moment so many seconds after 1970; None where that is in no year of four digits."""
    if seconds is None or not 0 <= seconds < LAST_S:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")

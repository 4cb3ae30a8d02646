"""What did the engine say as it died? PURE: a piece of its log -> the lines that tell why, and the one that names it.

Log text is untrusted and long: every pattern is bounded, and what is kept is at most 8 KB.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

KEPT_CHARS = 8_192
LINE_CHARS = 400

# What a logger or a container runtime puts before the words: a process, a level, a time, a source line.
_PREFIX = re.compile(
    r"(?:\([A-Za-z]\w{0,40} (?:pid=|rank=)?\d{1,10}\)\s*"
    r"|\[[^\]\n]{1,60}\]:?\s*"
    r"|(?:DEBUG|INFO|WARN(?:ING)?|ERROR|CRITICAL|FATAL|[EWIF])\b:?\s*"
    r"|\d{2,4}[-/.]\d{2}(?:[-/.]\d{2,4})?[T ]?\s*"
    r"|\d{1,3}(?:[:.]\d{2,9}){1,3}(?:[.,]\d{1,9})?(?:Z|[+-]\d{2}:?\d{2})?\s*"
    r"|[EWIF]\d{4}\s+"
    r"|[A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} [\w.-]{1,80} [\w./-]{1,60}(?:\[\d{1,10}\])?:\s*"
    r"|(?:stdout|stderr) [FP]\s*)"
)
_PREFIXES = 8

# Why an engine dies, the surest sign first: an exception says less than the CUDA error or the assertion behind it.
_KINDS = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?i:CUDA error|cudaError[A-Z]|illegal memory access|device-side assert|HIP error|NCCL error|CUBLAS_STATUS_)",
        r"GGML_ASSERT|GGML_ABORT|(?i:\bassert(?:ion)?\b.{0,200}\bfailed\b)|^Assertion",
        r"(?i:out of memory|outofmemory|oom[- ]?kill|bad_alloc|cannot allocate memory|exit(?:ed)? (?:code|status) 137)",
        r"^[A-Za-z_][\w.]{0,120}(?:Error|Exception|Interrupt|Fault)\b(?::|$)",
        r"(?i:segmentation fault|SIG(?:SEGV|ABRT|KILL|BUS|ILL|FPE|TERM)\b|fatal python error|terminate called)",
        r"(?i:(?:killed|terminated) by signal|signal \d{1,2} received|core dumped|^aborted$|^killed$)",
    )
)
# Words of those that only heard of the death.
_HEARSAY = re.compile(
    r"EngineDead|EngineCore encountered an issue|root cause|EngineCore failed to start|CancelledError|ConnectionReset"
    r"|ConnectionError|BrokenPipe|ClientDisconnect|HTTPException|resource_tracker|KeyboardInterrupt|leaked"
)
_AROUND = re.compile(r"^\s*File \"|^Traceback|^\s+at |^#\d+ ")
_NUMBERS = re.compile(r"0x[0-9a-fA-F]+|\d+")


@dataclass(frozen=True, slots=True)
class LastWords:
    """`lines` are those that tell why, as they stood; `signature` is the one that names it, without its prefix."""

    lines: str = ""
    signature: str = ""


def read(log: str) -> LastWords:
    """The last words in what an engine logged around its death; empty where nothing in it tells why."""
    told: list[tuple[int, str]] = []
    kept: list[str] = []
    for line in log.splitlines():
        words = bare(line[: 4 * LINE_CHARS])
        kind = next((rank for rank, pattern in enumerate(_KINDS) if pattern.search(words)), None)
        if kind is not None and not _HEARSAY.search(words):
            told.append((kind, words[:LINE_CHARS]))
        if kind is not None or _AROUND.search(words):
            kept.append(line[:LINE_CHARS])
    signature = min(told, key=lambda one: one[0])[1] if told else ""
    return LastWords("\n".join(kept)[-KEPT_CHARS:] if told else "", signature)


def bare(line: str) -> str:
    """The line without what loggers put before it. The indent of a traceback's frame stays."""
    text = line.rstrip()
    for _ in range(_PREFIXES):
        found = _PREFIX.match(text)
        if found is None:
            break
        text = text[found.end() :]
    return text


def same_bug(one: str, other: str) -> bool:
    """Do two signatures name one bug? Numbers and addresses differ from death to death."""
    return _NUMBERS.sub("#", one) == _NUMBERS.sub("#", other)


def beside(bugs: Sequence[str]) -> str:
    """What a reason adds where the engine died of more than one thing: the first is what the finding is about."""
    if len(bugs) < 2:
        return ""
    others = "; ".join(bugs[1:])
    return f"; beside {bugs[0]!r}, the engine also died of what looks like another bug: {others}"


def since(log: str, before: str) -> str:
    """What a log says after all that it said `before`, by its last lines; all of it where they are not found."""
    mark = "\n".join(before.splitlines()[-5:])
    at = log.rfind(mark) if mark else -1
    return log[at + len(mark) :] if at >= 0 else log

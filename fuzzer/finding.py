"""What does a run conclude, and under which conditions does that hold? PURE: data. Lengths are prompt tokens."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fuzzer.model import Cache, Outcome, ProbeSpec
    from targets.base import Mode


class FindingKind(StrEnum):
    """What a whole run concludes: the kind of the lowest thing that is not a pass."""

    DEATH = "death"
    ERROR = "error"
    HANG = "hang"
    TRUNCATED = "truncated"
    GARBLED = "garbled"
    DEGRADED = "degraded"
    CLEAN_LIMIT = "clean-limit"
    NONE = "none"
    NOT_LENGTH = "not-length"
    INCONCLUSIVE = "inconclusive"


class Halt(StrEnum):
    """Why a run ended before its question was answered. Decides the exit code: 3, or 4 for LOST and UNUSABLE."""

    DEATHS = "max-deaths"
    TIME = "max-time"
    BUSY = "busy"
    REPLICAS = "replicas"
    PROXY = "proxy"  # a limit stands in the way: a proxy's, or the tokenizer's where only the target has one
    CONTENDED = "contended"
    NOT_LENGTH = "not-length"
    CONTRADICTION = "contradiction"
    LOST = "lost"  # the engine did not come back
    UNUSABLE = "unusable"  # auth, wrong model, TLS, DNS in the middle of a run


@dataclass(frozen=True, slots=True)
class Flaky:
    """A boundary that does not always fail: the rate above it, with its 95 % interval."""

    rate: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Confidence:
    last_good_passes: int = 0
    first_bad_failures: int = 0
    failure_rate_upper_95: float | None = None  # for last_good, one-sided; None without a pass


@dataclass(frozen=True, slots=True)
class Reproducer:
    """A failure with as little as it takes. `seq` is the probe of the run that showed it last, `met` that which met it.

    It `failed` so many of the times that it was `asked`. `before`: probes that must come first, in their order.
    `shorter_passes`, `longer_passes`: did one token less, or more, pass? None where that was not asked.
    `every`: it takes so many requests of an engine's life, whatever they are; then the length says nothing.
    """

    seq: int
    met: int
    spec: ProbeSpec
    outcome: Outcome
    reason: str
    signature: str = ""
    failed: int = 1
    asked: int = 1
    before: tuple[int, ...] = ()
    shorter_passes: bool | None = None
    longer_passes: bool | None = None
    every: int | None = None
    unfinished: str = ""  # why it was not made smaller than this


@dataclass(frozen=True, slots=True)
class Finding:
    """What a run concludes, as the plan returns it. Lengths are prompt tokens."""

    kind: FindingKind
    reason: str
    last_good: int | None = None
    first_bad: int | None = None
    last_good_total: int | None = None
    first_bad_total: int | None = None
    last_good_output: int | None = None  # of a search over output tokens, which has no last_good
    first_bad_output: int | None = None
    first_rejected: int | None = None
    verified_up_to: int | None = None
    flaky: Flaky | None = None
    islands: tuple[tuple[int, int], ...] = ()
    cap: int | None = None
    cause: str | None = None
    confidence: Confidence = field(default_factory=Confidence)
    assumes: tuple[str, ...] = ()
    halt: Halt | None = None
    speculation_off_from: int | None = None
    reproducers: tuple[Reproducer, ...] = ()


@dataclass(frozen=True, slots=True)
class Conditions:
    """Under which conditions a run's claim holds."""

    output_tokens: int = 32
    draft_tokens: int | None = None
    concurrency: int = 1
    cache: Cache = "cold"
    content: str = "words"
    mode: Mode = "ids"
    stream: bool = True
    temperature: float = 0.0

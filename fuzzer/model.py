"""Which data do the rooms share? PURE: frozen dataclasses and enums, no I/O, no clock.

Lengths are prompt tokens as the server counts them. `*_s` are seconds; where a time is a point and not a span, it is
*active* seconds of the run (they add up over resumes), unless the name says `utc`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from targets.base import Mode

Cache = Literal["cold", "warm"]
Caching = Literal["cold", "warm", "mixed"]  # of a search: mixed looks warm, and decides cold
LONGEST_NAMED_WAIT_S = 600.0  # nobody who is told to come back waits for longer, unless he resumes the run later


class Outcome(StrEnum):
    """What one probe showed."""

    PASS = "pass"  # noqa: S105  (an outcome, not a password)
    REJECTED = "rejected"
    TRUNCATED = "truncated"
    GARBLED = "garbled"
    DEGRADED = "degraded"
    ERROR = "error"
    HANG = "hang"
    DEATH = "death"
    BUSY = "busy"
    INFRA = "infra"
    ABANDONED = "abandoned"

    @property
    def is_evidence(self) -> bool:
        """False where the probe says nothing about its length."""
        return self not in {Outcome.BUSY, Outcome.INFRA, Outcome.ABANDONED}


WELL = frozenset({Outcome.PASS, Outcome.DEGRADED})  # answered well, with a drafter or without
FAIL_ON_DEFAULT = frozenset({Outcome.DEATH, Outcome.ERROR, Outcome.HANG, Outcome.TRUNCATED, Outcome.GARBLED})


class Side(StrEnum):
    """On which side of the boundary an outcome puts its length: the search's three-valued answer."""

    GOOD = "good"
    BAD = "bad"
    LIMIT = "limit"  # refused cleanly: it bounds the search like a failure, but is none
    NOTHING = "nothing"  # no evidence


def side_of(outcome: Outcome, fail_on: frozenset[Outcome] = FAIL_ON_DEFAULT) -> Side:
    """The side of the boundary that an outcome is evidence for, under `--fail-on`."""
    if not outcome.is_evidence:
        return Side.NOTHING
    if outcome is Outcome.REJECTED:
        return Side.LIMIT
    return Side.BAD if outcome in fail_on else Side.GOOD


class Corroboration(StrEnum):
    """How well a death is known."""

    PROVEN = "proven"  # the process is seen to be gone, changed or dead
    PRESUMED = "presumed"  # the connection was lost and nothing proves that the engine survived


class Role(StrEnum):
    """Why a probe is sent, as the plan sees it."""

    BASELINE = "baseline"  # a short prompt: offset, text, acceptance, time
    LO = "lo"
    SEARCH = "search"
    CONFIRM_BAD = "confirm-bad"  # first_bad again, as the first real request to a revived engine
    CONFIRM_GOOD = "confirm-good"  # last_good again, until the claim holds
    CORNER = "corner"  # a corner of the triangle that the cap admits
    LIMIT = "limit"  # near the limit: (limit - 1, 1), (limit - O, O)
    OVER_LIMIT = "over-limit"
    AXIS = "axis"  # another output length around the edge: which sum is it?
    SCAN = "scan"
    SINGLE = "single"  # `ctxfuzz probe`
    FIT = "fit"  # what a cap admits (`ctxfuzz verify`)
    PRIME = "prime"  # fills the prefix cache for the warm probes that follow
    FUZZ = "fuzz"  # a sample of what the cap admits
    SHRINK = "shrink"  # a failure again, with less of everything
    WARM_UP = "warm-up"  # until the first-run effect is gone: no figure yet
    MEASURE = "measure"  # a figure is taken from it


@dataclass(frozen=True, slots=True)
class ProbeSpec:
    """What a plan asks for: one generation of `length` prompt tokens with `output_tokens` asked.

    `wait_s`: let so many seconds pass first (busy). `stop_after`: close the stream after so many tokens.
    `omit_max_tokens`: the request does not say how many; then `output_tokens` is the least that must come.
    `companions`: prompt lengths of other requests of ours, each kept in flight for as long as the probe is.
    `shared`: of a warm prompt, only so many first tokens are those that all warm prompts share; None: all of them.
    `compared`: the prompt is the very same one for all probes of its length and content, each of them cold, and what is
    generated is kept; this is its so-manieth sending, from 1. None: a prompt of its own, and no answer is kept.
    """

    length: int
    output_tokens: int
    role: Role
    reason: str
    content: str = "words"
    mode: Mode = "ids"
    stream: bool = True
    cache: Cache = "cold"
    stop_after: int | None = None
    wait_s: float = 0.0
    omit_max_tokens: bool = False
    companions: tuple[int, ...] = ()
    temperature: float = 0.0
    shared: int | None = None
    compared: int | None = None


@dataclass(frozen=True, slots=True)
class Baseline:
    """What short prompts show when all is well: the yardstick of `garbled`, `truncated` and `degraded`."""

    has_text: bool = True
    repeats: bool = False  # even good answers run one token over and over: then a repetition says nothing
    runs_out: bool = False  # even good answers end in many blanks: then such an end says nothing
    has_replacement: bool = False  # replacement characters even in good answers: then they say nothing
    leaks: bool = False  # even good answers show special tokens: then they say nothing
    full_output: bool = True  # good answers had as many tokens as asked: then fewer say something
    canary_has_text: bool = False  # no canary after a good answer was garbage: then one that is says something
    mean_acceptance_length: float | None = None
    model: str = ""  # who gave the good answers, by their own word
    deployment: str = ""  # which of those behind a gateway that was, by the gateway's
    canary_model: str = ""  # who sang the first canary after them, by its own word
    also: str = ""  # whom else they named before their end
    says_why: bool = False  # a stream of them gave the reason for its end


@dataclass(frozen=True, slots=True)
class Settings:
    """How probes are run, whatever the plan. Seconds; the graces are DESIGN's, and shorter only in tests."""

    timeout_s: float = 600.0
    health_interval_s: float = 1.0
    revival_timeout_s: float = 1800.0
    death_spacing_s: float = 0.0
    max_deaths: int = 12
    max_time_s: float | None = None  # of the whole run: no canary is asked again past it
    allow_replicas: bool = False  # go on, without metrics as evidence, where several engines turn up in the middle
    grace_failure_s: float = 5.0
    grace_pass_s: float = 1.0
    on_death: str | None = None
    seed: int = 0

"""What goes into runs.db, and what comes out? Frozen dataclasses; lengths in tokens, `*_s` in seconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from fuzzer.finding import Finding
from fuzzer.model import Corroboration, ProbeSpec
from fuzzer.observation import Observation

Status = Literal["running", "done", "interrupted", "halted"]
Ending = Literal["done", "interrupted", "halted"]
Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A run that is about to begin. Secrets in `argv`, `url`, `question` and `settings` are masked when it is stored.

    `question` is what the plan is asked and `settings` what the session is run with, as JSON (`codec.encode`): all
    that `resume` needs to build both again, but for credentials.
    """

    command: str
    argv: tuple[str, ...]
    url: str
    model: str
    engine: str
    plan: str
    engine_version: str | None = None
    limit: int | None = None
    question: Json = field(default_factory=dict)
    settings: Json = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Intent:
    """A probe that is about to leave. `recipe` (seed, kind, lengths) makes the body of `body_sha256` again."""

    seq: int
    spec: ProbeSpec
    started_s: float
    sent_tokens: int
    body_sha256: str
    body_bytes: int
    recipe: Json = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Death:
    """A death as recorded. `seq` is the probe that it is blamed on; `last_words` are the engine's own log's."""

    seq: int | None
    at_utc: str
    at_s: float
    corroboration: Corroboration
    signature: str = ""
    last_words: str = ""


@dataclass(frozen=True, slots=True)
class Seal:
    """How a run's chain ended: so many rows, and the hash of the last, which covers them all."""

    rows: int
    head: str


@dataclass(frozen=True, slots=True)
class Run:
    """A run as recorded. `status` is `running` only while its process lives; one that was killed is `interrupted`."""

    run: str
    record: RunRecord
    started_utc: str
    user: str
    host: str
    ctxfuzz_version: str
    status: Status
    ended_utc: str | None = None
    finding: Finding | None = None
    seal: Seal | None = None
    probes: int = 0
    canaries: int = 0
    deaths: int = 0


@dataclass(frozen=True, slots=True)
class Failure:
    """A probe of another run against the same build that ended on the bad side."""

    run: str
    at_utc: str
    observation: Observation

"""What does the driver tell whoever listens? PURE: plain data, in the order in which things happen."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fuzzer.finding import Finding
    from fuzzer.model import Corroboration, ProbeSpec
    from fuzzer.observation import Observation
    from targets.base import Health


@dataclass(frozen=True, slots=True)
class RunStarted:
    run: str
    url: str
    model: str
    engine: str
    version: str | None
    limit: int | None
    command: str
    settings: Mapping[str, object] = field(default_factory=dict)  # lo, hi, max_deaths, ... for the heading
    resumed: bool = False


@dataclass(frozen=True, slots=True)
class ProbeStarted:
    """`leaves` is False where its text only went to be tokenized, and was lost there."""

    seq: int
    spec: ProbeSpec
    deadline_s: float
    leaves: bool = True


@dataclass(frozen=True, slots=True)
class ProbeProgress:
    """Now and then while a request is open: `phase` is prefill, decode, grace or canary."""

    seq: int
    elapsed_s: float
    phase: str
    health: Health | None = None
    heartbeat: float | None = None


@dataclass(frozen=True, slots=True)
class ProbeEnded:
    observation: Observation


@dataclass(frozen=True, slots=True)
class Replayed:
    """A recorded observation that was fed to the plan again (resume)."""

    observation: Observation


@dataclass(frozen=True, slots=True)
class EngineDied:
    seq: int | None
    length: int | None
    signature: str
    corroboration: Corroboration


@dataclass(frozen=True, slots=True)
class Reviving:
    elapsed_s: float
    detail: str


@dataclass(frozen=True, slots=True)
class Revived:
    took_s: float


@dataclass(frozen=True, slots=True)
class Note:
    """Something that the reader must know, in one sentence; `hint` names the flag that helps."""

    text: str
    hint: str = ""
    level: Literal["info", "warning"] = "info"


@dataclass(frozen=True, slots=True)
class Bracket:
    """Where the search stands, after each observation: for the live view. `counts`: which tokens its lengths are."""

    last_good: int | None
    first_bad: int | None
    low: int
    high: int
    deaths: int
    max_deaths: int
    probes: int
    expected_deaths: float | None = None
    expected_probes: float | None = None
    expected_s: float | None = None
    counts: Literal["prompt", "output"] = "prompt"


@dataclass(frozen=True, slots=True)
class RunEnded:
    run: str
    finding: Finding


Event = (
    RunStarted
    | ProbeStarted
    | ProbeProgress
    | ProbeEnded
    | Replayed
    | EngineDied
    | Reviving
    | Revived
    | Note
    | Bracket
    | RunEnded
)

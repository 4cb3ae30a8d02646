"""On which terms are probes sent, whatever a plan asks? PURE, and JSON-able: stored with the run."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Protocol, Self

from fuzzer.model import FAIL_ON_DEFAULT, Cache, Outcome, ProbeSpec, Role

if TYPE_CHECKING:
    from collections.abc import Mapping

    from targets.base import Mode

SHORT = 64
COMPANION_LENGTH = 512


def companions_of(role: Role, companions: int, length: int, limit: int | None) -> tuple[int, ...]:
    """The lengths of a probe's companions: so many of `length` tokens, cut to half of what the limit leaves anybody.

    The short prompt goes alone: it shows what is normal.
    """
    if role is Role.BASELINE:
        return ()
    return (length if limit is None else max(1, min(length, limit // 2)),) * companions


class Room(Protocol):
    """What a kind of server keeps for itself of a limit, in tokens."""

    @property
    def largest_prompt_below_limit(self) -> int: ...

    @property
    def reserved(self) -> int: ...


def longest_beside(output: int, limit: int, kept: Room) -> int:
    """The longest prompt that such a limit admits beside so much output."""
    return min(limit - kept.reserved - output, limit - max(1, kept.largest_prompt_below_limit))


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What every question of a list of probes has in common. `limit` is what the target advertises, tokens; `reserved`
    of it no prompt and output may fill.

    `companions`: so many other requests of ours, of `companion_length` tokens, are in flight beside every probe.
    """

    limit: int | None = None
    largest_prompt_below_limit: int = 1
    reserved: int = 0
    output_tokens: int = 32
    draft_tokens: int | None = None
    max_deaths: int = 12
    max_time_s: float | None = None
    fail_on: frozenset[Outcome] = FAIL_ON_DEFAULT
    content: str = "words"
    mode: Mode = "ids"
    stream: bool = True
    cache: Cache = "cold"
    companions: int = 0
    companion_length: int = COMPANION_LENGTH

    def spec(self, length: int, role: Role, reason: str, **other: Any) -> ProbeSpec:  # noqa: ANN401  (its fields)
        """A probe on these terms, but for what is said to be other."""
        terms = {
            "output_tokens": self.output_tokens,
            "content": self.content,
            "mode": self.mode,
            "stream": self.stream,
            "cache": self.cache,
            "companions": companions_of(role, self.companions, self.companion_length, self.limit),
        }
        return ProbeSpec(length=length, role=role, reason=reason, **{**terms, **other})

    def to_json(self) -> dict[str, Any]:
        """The question as plain JSON types."""
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}
        return plain | {"fail_on": sorted(self.fail_on)}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Self:
        """The question that `to_json` wrote; what it did not know yet takes its default."""
        known = {item.name for item in fields(cls)} & plain.keys()
        values: dict[str, Any] = {name: plain[name] for name in known}
        values = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
        return cls(**values | {"fail_on": frozenset(map(Outcome, values.get("fail_on", FAIL_ON_DEFAULT)))})

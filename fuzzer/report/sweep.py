"""How does a sweep read? PURE: the table of lengths, to a machine and to a person, from a run's observations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fuzzer.measure.reading import decode_speed
from fuzzer.model import Role
from fuzzer.report.finding import finding_object
from fuzzer.report.tables import aligned
from fuzzer.report.words import span, tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fuzzer.finding import Finding
    from fuzzer.observation import Observation
    from fuzzer.store import Run

SCHEMA: Final = "ctxfuzz.sweep/1"
COLUMNS = ("length", "content", "outcome", "first token", "tokens/s", "acceptance", "cached")


def sweep_object(run: Run, finding: Finding, seen: Sequence[Observation], elapsed_s: float) -> dict[str, Any]:
    """The object of `sweep --json`: the finding's keys, and `rows`."""
    return {
        **finding_object(run, finding, seen, elapsed_s),
        "schema": SCHEMA,
        "rows": [_row_object(probe) for probe in _rows(seen)],
    }


def table(seen: Sequence[Observation]) -> str:
    """The table as plain lines, its columns aligned."""
    return aligned([COLUMNS, *(_row(probe) for probe in _rows(seen))])


def _rows(seen: Sequence[Observation]) -> list[Observation]:
    return [probe for probe in seen if probe.spec.role is Role.SCAN and probe.outcome.is_evidence]


def _acceptance(probe: Observation) -> float | None:
    return None if probe.draft is None else probe.draft.mean_acceptance_length


def _row(probe: Observation) -> tuple[str, ...]:
    speed, acceptance = decode_speed(probe), _acceptance(probe)
    return (
        tokens(probe.length),
        probe.spec.content,
        probe.outcome,
        "-" if probe.ttft_s is None else span(probe.ttft_s),
        "-" if speed is None else f"{speed:,.1f}",
        "-" if acceptance is None else f"{acceptance:.2f}",
        tokens(probe.cached_tokens),
    )


def _row_object(probe: Observation) -> dict[str, Any]:
    return {
        "length": probe.length,
        "content": probe.spec.content,
        "outcome": probe.outcome.value,
        "reason": probe.reason,
        "ttft_s": probe.ttft_s,
        "decode_tokens_per_s": decode_speed(probe),
        "mean_acceptance_length": _acceptance(probe),
        "cached_tokens": probe.cached_tokens,
        "completion_tokens": probe.completion_tokens,
        "duration_s": probe.duration_s,
    }

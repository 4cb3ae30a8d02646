"""How does a sweep read? PURE: the table of lengths, to a machine and to a person, from a run's observations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fuzzer.model import Role
from fuzzer.report.finding import finding_object
from fuzzer.report.words import span, tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fuzzer.model import Finding, Observation
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
    lines = [COLUMNS, *(_row(probe) for probe in _rows(seen))]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(f"{cell:>{width}}" for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def decode_speed(probe: Observation) -> float | None:
    """Output tokens a second after the first; None where the answer was not streamed, or is too short to tell."""
    if probe.ttft_s is None or probe.completion_tokens is None or probe.completion_tokens < 2:
        return None
    decoding_s = probe.duration_s - probe.ttft_s
    return (probe.completion_tokens - 1) / decoding_s if decoding_s > 0 else None


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

"""How does a finding read to a machine? PURE: the object `ctxfuzz.finding/1` from a run's rows."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from fuzzer.plans.whole import went_whole
from fuzzer.report.required import decided, required_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fuzzer.finding import Finding
    from fuzzer.observation import Observation
    from fuzzer.store import Run

SCHEMA: Final = "ctxfuzz.finding/1"


def finding_object(run: Run, finding: Finding, seen: Sequence[Observation], elapsed_s: float) -> dict[str, Any]:
    """The finding as plain JSON types, its keys in the schema's order. `elapsed_s` are active seconds of the run."""
    record = run.record
    return {
        "schema": SCHEMA,
        "ctxfuzz": run.ctxfuzz_version,
        "run": run.run,
        "url": record.url,
        "model": record.model,
        "engine": {"name": record.engine, "version": record.engine_version},
        "started": run.started_utc,
        "ended": run.ended_utc,
        "elapsed_s": round(elapsed_s, 3),
        "finding": finding.kind.value,
        "last_good": finding.last_good,
        "first_bad": finding.first_bad,
        "last_good_total": finding.last_good_total,
        "first_bad_total": finding.first_bad_total,
        "axis": record.question.get("axis", "prompt"),
        "last_good_output": finding.last_good_output,
        "first_bad_output": finding.first_bad_output,
        "first_rejected": finding.first_rejected,
        "verified_up_to": finding.verified_up_to,
        "flaky": None if finding.flaky is None else asdict(finding.flaky),
        "islands": [list(island) for island in finding.islands],
        "advertised_max_model_len": record.limit,
        "recommended_max_model_len": finding.cap,
        "required": _required(run, finding),
        "window_unusable": window_unusable(record.limit, finding.cap),
        "cause": finding.cause,
        "confidence": asdict(finding.confidence),
        "conditions": conditions(run, seen),
        "assumes": list(finding.assumes),
        "probes": run.probes,
        "canaries": run.canaries,
        "deaths": run.deaths,
        "death_signatures": death_signatures(seen),
        "chain_head": None if run.seal is None else run.seal.head,
        "reason": finding.reason,
    }


def _required(run: Run, finding: Finding) -> dict[str, Any] | None:
    require = required_of(run)
    return None if require is None else {"max_model_len": require, "holds": decided(finding, require)}


def window_unusable(limit: int | None, cap: int | None) -> float | None:
    """The share of the advertised window that the cap gives up; None where either is not known."""
    if limit is None or cap is None:
        return None
    return round(max(0.0, 1 - cap / limit), 4)


def conditions(run: Run, seen: Sequence[Observation]) -> dict[str, Any]:
    """Under which conditions the claim holds: as asked, and the draft tokens as they were counted."""
    asked = run.record.question
    companions, is_turned = asked.get("companions", 0), asked.get("axis") == "output"
    return {
        "output_tokens": None if is_turned else asked.get("output_tokens"),
        "draft_tokens": draft_tokens(seen) or asked.get("draft_tokens"),
        "concurrency": 1 + companions if isinstance(companions, int) else 1,
        "cache": asked.get("cache"),
        "content": asked.get("content"),
        "mode": asked.get("mode"),
        "stream": asked.get("stream") and not went_whole(seen),
        "temperature": 0,
    } | ({"prompt_tokens": asked.get("prompt_tokens")} if is_turned else {})


def draft_tokens(seen: Sequence[Observation]) -> int | None:
    """k, by the counters around the first probe in which anything was drafted; None where nothing was."""
    counted = (probe.draft.tokens_per_draft for probe in seen if probe.draft is not None)
    return next((round(k) for k in counted if k is not None), None)


def death_signatures(seen: Sequence[Observation]) -> list[str]:
    """The engine's own words at its deaths, each once, in the order in which they were first said."""
    return list(dict.fromkeys(probe.signature for probe in seen if probe.deaths and probe.signature))

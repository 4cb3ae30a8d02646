"""Was an answer cut by a limit that nobody told us? PURE: one limit clamps at one sum of prompt and output."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fuzzer.model import WELL, Outcome, Role
from fuzzer.observation import Observation
from fuzzer.outcome.answered import CLAMP_SLACK

if TYPE_CHECKING:
    from collections.abc import Sequence


def disbelieved(evidence: Sequence[Observation]) -> list[Observation] | None:
    """The evidence with clamped answers as what they were, cut short with room left; None where they may be believed.

    More in all was answered than at one of them, so there is no such limit. A server that cuts even the short prompt's
    answer bounds the number alone.
    """
    clamps = [seen for seen in evidence if _is_clamp(seen)]
    if not clamps or any(seen.spec.role is Role.BASELINE for seen in clamps):
        return None
    least = min(seen.total for seen in clamps)
    most = max(_answered(seen) for seen in evidence)
    if most <= least + CLAMP_SLACK:
        return None
    return [_cut_short(seen, most) if _is_clamp(seen) else seen for seen in evidence]


def _is_clamp(seen: Observation) -> bool:
    return seen.clamped and seen.spec.stop_after is None


def _answered(seen: Observation) -> int:
    """Prompt and output of what was answered, whatever came of it; 0 where nothing tells."""
    told = seen.completion_tokens if seen.spec.stop_after is None else None
    answered = seen.outcome in WELL or seen.outcome is Outcome.TRUNCATED
    return seen.length + told if told is not None and answered else 0


def _cut_short(seen: Observation, most: int) -> Observation:
    given, asked = seen.completion_tokens, seen.spec.output_tokens
    reason = f"{asked} output tokens asked, {given} given, and for no limit: {most} tokens in all were answered"
    return replace(seen, outcome=Outcome.TRUNCATED, clamped=False, reason=reason)

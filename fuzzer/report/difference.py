"""What has moved between two runs: the boundary, the limit, acceptance, the engine's words? PURE.

Nothing is said to have moved that the runs do not show: two brackets that overlap may hold the same edge, and
acceptance differs only by more than its own scatter.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from statistics import fmean, variance
from typing import TYPE_CHECKING, Any, Final, Literal

from fuzzer.finding import FindingKind
from fuzzer.model import WELL
from fuzzer.report.finding import death_signatures
from fuzzer.report.plain import plain
from fuzzer.report.verify import PLAN as GATE
from fuzzer.report.words import tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fuzzer.finding import Finding
    from fuzzer.observation import Observation
    from fuzzer.report.comparable import Side

SCHEMA: Final = "ctxfuzz.diff/1"
SPREAD: Final = 3.0  # standard errors
LEAST: Final = 0.1  # of the accepted tokens per step
DECISIVE: Final = frozenset({"boundary", "islands", "samples"})
Verdict = Literal["same", "better", "worse", "moved", "unknown"]
SAMPLED: Final = "fuzz"  # of samples there is no boundary, only whether one of them failed
UNFAILING = frozenset({FindingKind.NONE, FindingKind.CLEAN_LIMIT})
UNSURE = frozenset({FindingKind.INCONCLUSIVE, FindingKind.NOT_LENGTH})


@dataclass(frozen=True, slots=True)
class Change:
    """One line: what it is, how it was and is, and what to think of it."""

    what: str
    before: str
    after: str
    verdict: Verdict


def changes(before: Side, after: Side) -> list[Change]:
    """Every line of the comparison."""
    records = before.run.record, after.run.record
    return [
        _plain("engine", *(f"{each.engine} {each.engine_version or '-'}" for each in records)),
        _plain("model", *(each.model or "-" for each in records)),
        _plain("limit", *(tokens(each.limit) for each in records)),
        *([_samples(before, after)] if before.run.record.plan == SAMPLED else [_boundary(before, after)]),
        *_islands(before, after),
        _cap(before, after),
        _acceptance(before, after),
        _last_words(before, after),
    ]


def is_worse(found: Sequence[Change]) -> bool:
    return any(change.verdict == "worse" for change in found)


def is_undecided(before: Side, after: Side, found: Sequence[Change]) -> bool:
    """True where nothing got worse as far as the runs tell, but they do not tell whether the edge did."""
    if is_worse(found):
        return False
    return bool(_halted(before, after)) or any(
        change.verdict == "unknown" for change in found if change.what in DECISIVE
    )


def _halted(before: Side, after: Side) -> list[Side]:
    """Those that did not come to their end: what they did not see they may not have asked."""
    return [side for side in (before, after) if side.finding.kind is FindingKind.INCONCLUSIVE]


def difference_object(before: Side, after: Side, found: Sequence[Change]) -> dict[str, Any]:
    """The object of `diff --json`."""
    return {
        "schema": SCHEMA,
        "before": before.run.run,
        "after": after.run.run,
        "worse": is_worse(found),
        "undecided": is_undecided(before, after, found),
        "changes": [asdict(change) for change in found],
    }


def as_text(before: Side, after: Side, found: Sequence[Change]) -> str:
    """The comparison as plain lines, its columns aligned; under it why it decides nothing, where that is so."""
    heads = ("", f"before: {before.run.run}", f"after: {after.run.run}", "")
    rows = [heads, *((c.what, plain(c.before, 60), plain(c.after, 60), c.verdict) for c in found)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(f"{cell:<{w}}" for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    if is_undecided(before, after, found):
        why = [f"{side.run.run} came to no end: {plain(side.finding.reason, 300)}" for side in _halted(before, after)]
        unknown = " and ".join(change.what for change in found if change.verdict == "unknown")
        lines.append(f"undecided: {'; '.join(why) or f'the two do not tell of: {unknown}'}")
    return "\n".join(lines)


def _plain(what: str, before: str, after: str) -> Change:
    return Change(what, before, after, "same" if before == after else "moved")


def _boundary(before: Side, after: Side) -> Change:
    """An edge has moved where the two brackets leave no length at which both could lie."""
    slack = max(before.slack, after.slack)
    old, new = _bracket(before.finding), _bracket(after.finding)
    verdict: Verdict = "same"
    if old is None or new is None:
        verdict = "unknown"
    elif new[1] + slack <= old[0]:
        verdict = "worse"
    elif old[1] + slack <= new[0]:
        verdict = "better"
    elif before.finding.kind in UNFAILING and _refuses(before, after):
        verdict = "worse"
    elif _halted(before, after):  # also one that has both ends: the edge may lie where the other has none
        verdict = "unknown"
    return Change("boundary", _bracket_words(before.finding), _bracket_words(after.finding), verdict)


def _samples(before: Side, after: Side) -> Change:
    """A failure where there was none is worse; none where there was one may be luck."""
    old, new = (bool(side.finding.reproducers) for side in (before, after))
    was, now = (int(str(side.run.record.question["cap"])) for side in (before, after))
    verdict: Verdict = "worse" if new and not old and now <= was else "same" if old == new else "unknown"
    return Change("samples", before.finding.reason, after.finding.reason, verdict)


def _islands(before: Side, after: Side) -> list[Change]:
    """An island in ground that was said to be good is worse. One that is not seen any more may not have been asked."""
    old, new = before.finding.islands, after.finding.islands
    if not (old or new):
        return []
    risen = [one for one in new if not any(_touch(one, each) for each in old)]
    sunk = [one for one in old if not any(_touch(one, each) for each in new)]
    verdict: Verdict = "same"
    if any(first <= max(before.finding.verified_up_to or 0, before.finding.cap or 0) for first, _ in risen):
        verdict = "worse"
    elif risen or not all(_passes(after, *island) for island in sunk):
        verdict = "unknown"
    elif sunk:
        verdict = "better"
    was, now = ("; ".join(_span(*island) for island in islands) or "-" for islands in (old, new))
    return [Change("islands", was, now, verdict)]


def _last_words(before: Side, after: Side) -> Change:
    """A run that came to no end may have died less: that it says nothing is no change."""
    was, now = ("; ".join(death_signatures(each.seen)) or "-" for each in (before, after))
    is_silent = any(not death_signatures(each.seen) for each in _halted(before, after))
    return Change("last words", was, now, "unknown" if was != now and is_silent else "same" if was == now else "moved")


def _span(first: int, last: int) -> str:
    return tokens(first) if first == last else f"{tokens(first)} .. {tokens(last)}"


def _touch(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]


def _passes(side: Side, first: int, last: int) -> bool:
    """Did a prompt of such a length pass, and none fail?"""
    asked = [seen for seen in side.seen if first <= seen.length <= last and seen.outcome.is_evidence]
    return bool(asked) and all(seen.outcome in WELL for seen in asked)


def _refuses(before: Side, after: Side) -> bool:
    """Is refused now what passed before, by more than a cap is rounded?"""
    passed, refused = before.finding.verified_up_to, after.finding.first_rejected
    return passed is not None and refused is not None and refused + _step(before, after) <= passed


def _step(before: Side, after: Side) -> int:
    """By how many tokens a cap may move, and nothing has."""
    steps = [side.run.record.question.get(name) for side in (before, after) for name in ("round_to", "resolution")]
    return max([step for step in steps if isinstance(step, int)], default=1) + max(before.slack, after.slack)


def _bracket(finding: Finding) -> tuple[float, float] | None:
    """(last_good, first_bad); without a failure it lies somewhere above what passed."""
    if finding.kind is FindingKind.NOT_LENGTH or (finding.last_good is None and finding.first_bad is None):
        return None
    return finding.last_good or 0, math.inf if finding.first_bad is None else finding.first_bad


def _bracket_words(finding: Finding) -> str:
    if finding.first_bad is None:
        return f"{finding.kind} up to {tokens(finding.verified_up_to)}"
    return f"{finding.kind} {tokens(finding.last_good)} .. {tokens(finding.first_bad)}"


def _cap(before: Side, after: Side) -> Change:
    old, new = before.finding.cap, after.finding.cap
    slack = _step(before, after)
    verdict: Verdict = "same"
    if old is not None and before.run.record.plan == GATE and after.finding.halt is None:
        verdict = "worse" if new is None else "same"
    elif old is not None and new is None and _is_conclusive(before.finding) and _has_failed(after.finding):
        verdict = "worse"
    elif old is None or new is None or {before.finding.kind, after.finding.kind} & UNSURE:
        verdict = "same" if old == new else "unknown"
    elif abs(new - old) >= slack:
        verdict = "worse" if new < old else "better"
    return Change("cap", tokens(old), tokens(new), verdict)


def _is_conclusive(finding: Finding) -> bool:
    return finding.halt is None and finding.kind not in UNSURE


def _has_failed(finding: Finding) -> bool:
    """Did it come to something that fails, and not only to nothing?"""
    return _is_conclusive(finding) and finding.kind not in UNFAILING


def _acceptance(before: Side, after: Side) -> Change:
    """Means over the passes; they differ where the difference is large, and larger than chance makes it."""
    old, new = _accepted(before.seen), _accepted(after.seen)
    was, now = (f"{1 + fmean(values):.2f}" if values else "-" for values in (old, new))
    if len(old) < 2 or len(new) < 2:
        return Change("acceptance", was, now, "unknown" if bool(old) != bool(new) else "same")
    error = math.sqrt(variance(old) / len(old) + variance(new) / len(new))
    moved = fmean(new) - fmean(old)
    is_large = abs(moved) > max(SPREAD * error, LEAST * max(fmean(old), fmean(new)))
    verdict: Verdict = "same" if not is_large else "worse" if moved < 0 else "better"
    return Change("acceptance", was, now, verdict)


def _accepted(seen: Sequence[Observation]) -> list[float]:
    """Accepted tokens per step of every pass that drafted."""
    drafts = (probe.draft for probe in seen if probe.outcome in WELL)
    means = (draft.mean_acceptance_length for draft in drafts if draft is not None)
    return [mean - 1 for mean in means if mean is not None]

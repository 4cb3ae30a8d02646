"""What of a summary does a terminal of 24 lines hold? PURE: what decides; -v, a pipe, `show` and JSON say all."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fuzzer.report.summary import labelled_once

if TYPE_CHECKING:
    from fuzzer.report.summary import Summary

BACKGROUND: Final = frozenset({"control", "last words", "assumes"})
REASON: Final = "why"
DOUBTS: Final = ("was trusted, ", "was taken as known", "is outweighed", " and passed ", " and passes now")


def brief(shown: Summary) -> Summary:
    """Without its background; what is not decided, or has no cap to set, keeps its reason, and anything unknown stays.

    So does what a cap rests on that was not sent, or that failed once. How much was left out is said, for an assumption
    that is not seen is not one that is not made.
    """
    labels: list[str] = []
    for label, _ in shown.rows:
        labels.append(label or labels[-1])
    left = BACKGROUND if shown.tone == "unsure" or "set" not in labels else BACKGROUND | {REASON}
    whole = [(label, text) for label, (_, text) in zip(labels, shown.rows, strict=True)]
    kept = [(label, text) for label, text in whole if label not in left or _is_doubt(label, text)]
    hidden = Counter(label for label, _ in whole) - Counter(label for label, _ in kept)
    if not hidden:
        return shown
    named = ", ".join(f"{count} of {label!r}" for label, count in hidden.items())
    return replace(shown, rows=(*labelled_once(kept), ("not shown", f"{named}: -v or `ctxfuzz show` says them")))


def _is_doubt(label: str, text: str) -> bool:
    return label == "assumes" and any(words in text for words in DOUBTS)

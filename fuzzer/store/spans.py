"""Where in a text does something stand, and how is it replaced there? PURE."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

Span = tuple[int, int]  # from where to where in a text


def apart(spans: Iterable[Span]) -> list[Span]:
    """They in their order, none within another: those that overlap are one."""
    found: list[Span] = []
    for start, end in sorted(spans):
        if found and start < found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def replaced(text: str, spans: Iterable[Span], mask: str) -> str:
    """`text` with the mask in the place of each."""
    parts, at = [], 0
    for start, end in apart(spans):
        parts += [text[at:start], mask]
        at = end
    return "".join([*parts, text[at:]])

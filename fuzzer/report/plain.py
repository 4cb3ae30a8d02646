"""How is text that somebody else wrote made fit to be shown? PURE.

Server text is untrusted: it can carry escape sequences that repaint a terminal, direction marks that reorder a line,
and markup. Everything of a target's that reaches a screen goes through here.
"""

from __future__ import annotations

import unicodedata

ELLIPSIS = "…"
HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def plain(text: str, limit: int = 300) -> str:
    """`text` in one line of at most `limit` characters, without control, format, private or unassigned characters."""
    line = " ".join(visible(text).split())
    return line if len(line) <= limit else line[: limit - 1] + ELLIPSIS


def visible(text: str) -> str:
    """`text` in its own lines and with its own spaces, but without those characters."""
    return "".join(char if char == "\n" else " " if char.isspace() else char for char in text if not _hidden(char))


def _hidden(char: str) -> bool:
    return not char.isspace() and unicodedata.category(char) in HIDDEN

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
    shown = "".join(" " if char.isspace() else char for char in text if char.isspace() or not _hidden(char))
    line = " ".join(shown.split())
    return line if len(line) <= limit else line[: limit - 1] + ELLIPSIS


def _hidden(char: str) -> bool:
    return unicodedata.category(char) in HIDDEN

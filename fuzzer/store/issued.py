"""Which words are secrets by their form alone, wherever they stand? PURE, in linear time.

Those of the well-known issuers. Logs and paths are full of names that begin alike (`hf_config`, `sk-telecom`), so a
form counts here only where no such name has it; in a command of the user's, `fuzzer.store.commands` takes more for one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from fuzzer.store.httpwords import are_plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fuzzer.store.spans import Span

_ISSUED: Final = re.compile(
    r"(?<![\w-])(?:sk-(?![a-z]++(?:[-_][a-z]++)*+(?![\w-]))[\w-]{6,}|(?:gh[opusr]|github_pat|gsk|dckr_pat)_\w{6,}|(?:glpat|nvapi|xai|pplx)-[\w-]{12,}"
    r"|xox[a-z]-[\w-]{6,}|hvs\.[\w-]{6,}|(?:AKIA|ASIA)[A-Z0-9]{12,}|AIza[\w-]{30,}|eyJ[\w-]{6,}(?:\.[\w-]*)*"
    r"|(?P<hub>hf_(?P<drawn>[A-Za-z0-9]{8,}+)(?!_)))"
    r"|-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[^-]{0,16000}(?:-----END [A-Z ]{0,40}-----)?"
)


def issued(text: str) -> Iterator[Span]:
    """Where one stands."""
    for token in _ISSUED.finditer(text):
        if not (token["hub"] and _is_name(token["drawn"])):
            yield token.span()


def _is_name(text: str) -> bool:
    """`hf_quantization`, and no token of the hub."""
    return are_plain(text) or (text.isalpha() and text.islower())

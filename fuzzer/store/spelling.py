"""In which spellings does a known secret turn up, whole or cut? PURE.

A server may echo one as JSON, HTML or a URL escapes it, be that text within another JSON text. And a bound of ours may
have cut the echo: its beginning is secret still where no word goes on after it, its end where a text begins with it.
"""

from __future__ import annotations

import html
import json
import re
from functools import cached_property
from os.path import commonprefix
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from fuzzer.store.httpwords import are_plain

if TYPE_CHECKING:
    from collections.abc import Iterable

_PIECE: Final = 8  # characters, at least, of what a cut leaves: fewer tell little, and begin other words too
_ESCAPES: Final = re.compile(r"[\\%&]")
_NAMED: Final = {'"': "&quot;", "&": "&amp;", "'": "&apos;", "<": "&lt;", ">": "&gt;"}


class Spellings:
    """Secrets, each as it is and as it may be escaped; the longest first."""

    def __init__(self, values: Iterable[str]) -> None:
        self.values = sorted(values, key=len, reverse=True)

    @cached_property
    def _usual(self) -> list[str]:
        found = {
            form
            for value in self.values
            for form in (value, quote(value, safe="", errors="surrogatepass"), html.escape(value))
        }
        found |= {value.replace("/", r"\/") for value in self.values}
        for _ in range(2):
            found |= {json.dumps(value)[1:-1] for value in found}
        return sorted(found, key=len, reverse=True)

    @cached_property
    def _escaped(self) -> list[re.Pattern[str]]:
        return [re.compile("".join(map(_spelt, value))) for value in self.values]

    def masked(self, text: str, mask: str) -> str:
        """`text` with the mask in the place of each."""
        for secret in self._usual:
            text = text.replace(secret, mask)
        if _ESCAPES.search(text):
            for spelling in self._escaped:
                text = spelling.sub(mask, text)
        return text

    @cached_property
    def _long(self) -> list[str]:
        return [form for form in self._usual if len(form) > _PIECE]

    @cached_property
    def _begins(self) -> re.Pattern[str]:
        """Finds where any may begin, also inside another that begins alike."""
        return re.compile(f"(?={'|'.join({re.escape(form[:_PIECE]) for form in self._long})})")

    def pieces_masked(self, text: str, mask: str) -> str:
        """`text` with the mask in the place of what cuts have left of any; plain words and short numbers stay."""
        if not self._long or len(text) < _PIECE:
            return text
        end = max((_end_at(text, form) for form in self._long), key=len)
        parts, at = ([], 0) if _tells_nothing(end) else ([mask], len(end))
        for found in self._begins.finditer(text, at):
            start = found.start()
            if start < at:  # inside what is masked
                continue
            after = start + max(_shared(form, text[start : start + len(form)]) for form in self._long)
            goes_on = text[after : after + 1].isalnum()  # it is another word that begins alike
            if not goes_on and not _tells_nothing(text[start:after]):
                parts += [text[at:start], mask]
                at = after
        return "".join([*parts, text[at:]])


def _shared(one: str, other: str) -> int:
    """How many characters both begin with."""
    return len(commonprefix((one, other)))  # noqa: RUF071  (they are no paths)


def _end_at(text: str, secret: str) -> str:
    """The longest end of the secret that the text begins with."""
    if text[:_PIECE] not in secret:
        return ""
    ends = (secret[at:] for at in range(1, len(secret) - _PIECE + 1))
    return next((end for end in ends if text.startswith(end)), "")


def _tells_nothing(piece: str) -> bool:
    return are_plain(piece) or not any(map(str.isalnum, piece))


def _spelt(character: str) -> str:
    """A pattern of the character as it is, and of all escapes that JSON, HTML and URLs have for it."""
    if character == "\\":
        return r"\\{1,4}+(?:u005[cC])?"  # possessive: many of them in a row would be tried in every way
    units = character.encode("utf-16-be", "surrogatepass").hex()
    numbered = "".join(rf"\\{{1,4}}u(?i:{units[at : at + 4]})" for at in range(0, len(units), 4))
    once = json.dumps(character)[1:-1]
    named = [re.escape(form) for form in dict.fromkeys((character, once, json.dumps(once)[1:-1]))]
    if character == "/":
        named.append(r"\\{1,4}/")
    if not (character.isascii() and character.isalnum()):  # nobody escapes those for HTML or a URL
        named += _referred(character)
    return f"(?:{'|'.join([*named, numbered])})"


def _referred(character: str) -> list[str]:
    """Patterns of what HTML and URLs write for the character."""
    octets = character.encode("utf-8", "surrogatepass")
    coded = "".join(f"%(?:25)?(?i:{octet:02x})" for octet in octets)
    numbered = f"&#(?:0{{0,4}}{ord(character)}|[xX]0{{0,4}}(?i:{ord(character):x}));"
    return [coded, numbered, *([_NAMED[character]] if character in _NAMED else [])]

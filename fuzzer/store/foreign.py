"""What in a text that others wrote, a log or an error, is a secret by its name? PURE, in linear time.

The values of assignments, of members of JSON and of Python's own prints, of headers and of options; in lists too. A log
stays one: special tokens (`bos_token`), counts, keys of caches, hashes of builds, the lines of code in a traceback
(`api_key=self.api_key`), and values that say nothing (`None`) are none.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from fuzzer.store.httpwords import is_mixed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fuzzer.store.spans import Span

_BEGINS: Final = r"(?<![\w.-])(?:(?<=\\)[nrt])?"  # also after a line's end that a print has escaped
_ASSIGNED: Final = re.compile(
    _BEGINS + r"""(?P<name>[\w.-]{2,80}+)(?:\\{0,3}["'])?\]?[ \t]{0,8}(?:={1,2}>?|:(?!//))(?P<loose>[ \t]{0,8})"""
)
_OPTION: Final = re.compile(_BEGINS + r"""(?P<name>--[\w-]{2,60}+)(?P<loose>(?:["'],)?[ \t]{1,8})(?!["']?-)""")
_PAIR: Final = re.compile(r"""\([bu]?["'](?P<name>[\w-]{2,60}+)["'],(?P<loose>[ \t]{0,8})(?=[bu]?["'])""")

_QUOTED: Final = re.compile(
    r"""[A-Za-z]{0,2}(?:"(?P<double>(?:\\.|[^"\\\n])*)|'(?P<single>(?:\\.|[^'\\\n])*)"""
    r"""|(?P<mark>\\{1,3}["'])(?P<escaped>(?:(?!(?P=mark))[^\n])*))"""
)
_LISTED: Final = re.compile(r"[\[({]([^\])}\n]{0,2000})")
_SCHEME: Final = r"(?:(?:bearer|basic|digest|token|apikey)[ \t]+)?"  # what stands before the secret in a header
_RUN: Final = r"""(?:[^\s,;&"'()\[\]{}<>\\]|&(?![\w.-]+=))"""
_BARE: Final = re.compile(rf"({_SCHEME}){_RUN}{{1,300}}+", re.IGNORECASE)
_REST: Final = re.compile(rf"{_RUN}*")
_COOKIES: Final = re.compile(r"""(?=[^\s,;"'=]{1,100}=)[^\s,;"']+(?:;[ \t]?[\w.-]+=[^\s,;"']+)*""")

_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NAMES_ONE: Final = re.compile(
    r"(?:.*_)?(?:passwords?|passwd|passphrase|pwd|secrets?|credentials?|creds|authorization|cookies?|jwt"
    r"|(?:db|ssh|pg|mysql|redis|user|root|admin)_?pass"
    r"|(?:api|access|secret|private|account|auth|encryption|signing|master|client|license|admin|service|subscription"
    r"|shared|storage|sas)_?keys?"
    r"|(?:hf|hub|hugging_?face|auth|access|api|bearer|refresh|session|secret|security|github|gh|git|gitlab|slack|bot"
    r"|client|wandb|personal|admin|ngc|docker|vault|registry|service|sas|csrf|jwt|id)_?tokens?)"
)
# What may be a token of a vocabulary, or a key of a cache: only what was plainly drawn at random is none.
_MAY_NAME_ONE: Final = re.compile(r"(?:.*_)?(?:token|pat|key)")
_SAYS_LITTLE: Final = re.compile(
    r"none|null|nil|nan|true|false|yes|no|on|off|str|bytes|optional|\d{0,3}|[xX*.]*|\W*redacted\W*|<.*|[$%{&].*",
    re.IGNORECASE,
)
_CODE: Final = re.compile(r"[A-Za-z_]\w{0,60}(?:\.[A-Za-z_]\w{0,60}){1,8}")
_WORDS: Final = re.compile(r"[A-Z]?[a-z_]+[.:]?")
_COUNT: Final = re.compile(r"""["']?\d{1,10}+(?![\w-]|[.:/+=]\w)""")
_LONG: Final = 16  # characters of what was plainly drawn


def secrets_of_text(text: str) -> Iterator[Span]:
    """Where each stands. Some may overlap."""
    for pattern in (_ASSIGNED, _OPTION, _PAIR):
        at = 0
        while (named := pattern.search(text, at)) is not None:
            at = named.end()
            if (value := _value(text, named)) is not None:
                yield value
                at = max(at, value[1])


def _value(text: str, named: re.Match[str]) -> Span | None:
    """Where the value stands of what has a name, if it is a secret. What is looked at in vain is bounded."""
    name, at = _parted(named["name"]), named.end()
    surely = _NAMES_ONE.fullmatch(name) is not None
    if not surely and not _MAY_NAME_ONE.fullmatch(name):
        return None
    if name.endswith(("token", "tokens")) and _COUNT.match(text, at):  # or the id of one
        return None
    if (quoted := _QUOTED.match(text, at)) is not None:
        kind = next(kind for kind in ("double", "single", "escaped") if quoted[kind] is not None)
        return quoted.span(kind) if _tells(quoted[kind], surely=surely) else None
    if (listed := _LISTED.match(text, at)) is not None:
        return listed.span(1) if surely and ('"' in listed[1] or "'" in listed[1]) else None
    if name.endswith(("cookie", "cookies")):
        return None if (cookies := _COOKIES.match(text, at)) is None else cookies.span()
    return _bare(text, at, surely=surely, loose=bool(named["loose"]))


def _bare(text: str, at: int, *, surely: bool, loose: bool) -> Span | None:
    bare = _BARE.match(text, at)
    if bare is None or _is_code(text, bare, loose=loose) or not _tells(text[bare.end(1) : bare.end()], surely=surely):
        return None
    rest = _REST.match(text, bare.end())
    return (bare.end(1), bare.end() if rest is None else rest.end())


def _parted(name: str) -> str:
    """In lower case, its parts joined by `_`."""
    return _HUMP.sub("_", name).lower().replace("-", "_").replace(".", "_")


def _tells(value: str, *, surely: bool) -> bool:
    """Is it a secret, and no word for that there is none?"""
    bare = re.sub(rf"^{_SCHEME}", "", value, flags=re.IGNORECASE)
    if _SAYS_LITTLE.fullmatch(bare):
        return False
    return surely or (len(bare) >= _LONG and bare.isalnum() and is_mixed(bare))


def _is_code(text: str, bare: re.Match[str], *, loose: bool) -> bool:
    """A call, an attribute, a variable of such a name; or, after a blank, prose that goes on."""
    if bare[1]:  # `Bearer ...`
        return False
    value = bare[0]
    if (
        text[bare.end() : bare.end() + 1] in {"(", "["}
        or _CODE.fullmatch(value)
        or _NAMES_ONE.fullmatch(_parted(value))
    ):
        return True
    return loose and _WORDS.fullmatch(value) is not None

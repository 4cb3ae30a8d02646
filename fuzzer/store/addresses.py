"""What in a URL is a secret? PURE, in linear time.

The userinfo; tokens of the well-known issuers and the paths of hooks, wherever they stand; the value of a parameter
whose name says so, however the name is escaped; and one that was drawn at random, but where its name, or the folder
that it stands in, says that it chooses whom a gateway asks: without that another engine would be asked, and no record
could tell which one was.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote_plus

from fuzzer.store.httpwords import hooks, is_drawn
from fuzzer.store.issued import issued

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fuzzer.store.spans import Span

_AUTHORITY: Final = re.compile(r"[^:/?#]*://([^/?#]*)")
_OF_PATH: Final = re.compile(r"(?<![^&;/])([^&;=/]{1,200}+)=([^;/]*)")  # `/v1;name=value/x`
_OF_QUERY: Final = re.compile(r"(?<![^&;?#])([^&;=?#]{1,200}+)=([^&;#]*)")  # of the fragment too
_WHOLE: Final = re.compile(r"[^&#]*")  # of a value that is a secret, be there a `;` in it
_NAMES_ONE: Final = re.compile(
    r"key|token(?!iz|s)|secret|(?<!by)(?<!com)pass(?!t|ive|es)|auth(?!or(?!iz))|(?<![a-z])sig(?!nal)|signature|credential"
    r"|creds|cookie|session|pwd|(?<![a-z])(?:code|otp|pin|jwt|hmac|sid|sas|ticket|bearer)(?![a-z])",
    re.IGNORECASE,
)
_CHOOSES: Final = re.compile(
    r"model|engine|backend|deploy|pool|cluster|region|zone|replica|pod|node|instance|version|variant|route|target"
    r"|upstream|serv(?:er|ice)|shard|group|name|project|tenant|stage|slot|canary|lora|adapter|endpoint|workspace|account"
    r"|provider|worker|host|image|build|revision|commit|release|branch|checkpoint"
    r"|(?<![a-z])(?:id|org|env|gpu|app|tag|rev)(?![a-z])",
    re.IGNORECASE,
)
_FOLDER: Final = re.compile(  # of those that are served, by their ids
    r"(?:deployment|endpoint|engine|model|project|service|workspace|app)s?|serving|inference", re.IGNORECASE
)
_SAYS_LITTLE: Final = re.compile(r"true|false|yes|no|on|off|\**|\$\{?\w+\}?", re.IGNORECASE)
_PARTS: Final = re.compile(r"[^\W_]{8,}")


def secrets_of_url(url: str) -> Iterator[Span]:
    """Where each stands, as the URL has it. Some may overlap."""
    authority = _AUTHORITY.match(url)
    if authority is not None and "@" in authority[1]:
        yield authority.start(1), url.rindex("@", *authority.span(1))
    yield from secrets_beyond_user(url)


def secrets_beyond_user(url: str) -> Iterator[Span]:
    """The same without the userinfo, which has a form of its own."""
    authority = _AUTHORITY.match(url)
    yield from issued(url)
    path = 0 if authority is None else authority.end()
    yield from (span for span in hooks(url) if not _FOLDER.fullmatch(_before(url, path, span[0])))
    query = next((at for at in range(path, len(url)) if url[at] in "?#"), len(url))
    for parameter in _OF_PATH.finditer(url, path, query):
        if _is_secret(parameter):
            yield parameter.span(2)
    while (found := _OF_QUERY.search(url, query)) is not None:
        query = found.end()
        if _is_secret(found):
            whole = _WHOLE.match(url, query)
            query = query if whole is None else whole.end()
            yield found.start(2), query


def _before(url: str, path: int, start: int) -> str:
    """The folder of what begins at `start`; none where that is the first part of the path."""
    return url[url.rfind("/", path, start - 1) + 1 : start - 1] if start - 1 > path else ""


def _is_secret(parameter: re.Match[str]) -> bool:
    name, value = map(unquote_plus, parameter.groups())
    if _SAYS_LITTLE.fullmatch(value):
        return False
    is_random = any(map(is_drawn, _PARTS.findall(value))) and not _CHOOSES.search(name)
    return is_random or _NAMES_ONE.search(name) is not None or any(issued(value))

"""How is the target of a run reached again: by which URL, which headers, which curl line? PURE: from its record.

Its root alone may be another engine's: gateways route by query and by header. No record keeps a secret, nor the value
of a header: what is missing is named, in a form that nothing is sent with before it is filled in.
"""

from __future__ import annotations

import re
from contextlib import suppress
from ipaddress import ip_address
from shlex import quote
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, urlsplit

from fuzzer.report.words import argument
from fuzzer.store.lock import target_key
from fuzzer.store.masking import MASK, masked_url

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fuzzer.store import Run

HEADER_NAMES: Final = "header_names"  # of a record's settings
UNSAID: Final = "..."  # stands for the value of a header

_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9a-z-]+")
_DELIMITER: Final = re.compile(r"([/?&#])")
# Headers that say who asks, and not whom: with another credential it is the same engine.
_OF_THE_ASKER: Final = re.compile(r"auth|token|key|cookie|secret|user-agent|request-id|trace")


def url_of(run: Run) -> str:
    """The URL as it was given, with its path and query; secrets in it are masked."""
    return str(run.record.settings.get("url") or run.record.url)


def is_of_its_machine(url: str) -> bool:
    """Does a URL lead to the machine itself that asks?"""
    host = (urlsplit(url).hostname or "").rstrip(".")
    if host == "localhost" or host.endswith((".localhost", ".localdomain")):
        return True
    with suppress(ValueError):
        address = ip_address(host)
        return address.is_loopback or address.is_unspecified or address.is_link_local
    return False


def headers_of(run: Run) -> tuple[str, ...]:
    """The names of the headers that it was begun with, in lower case; none where its record does not say."""
    return _named(run.record.settings)


def _named(settings: Mapping[str, object]) -> tuple[str, ...]:
    kept = settings.get(HEADER_NAMES)
    names = kept if isinstance(kept, list) else []
    return tuple(name for name in names if isinstance(name, str) and _NAME.fullmatch(name))


def is_as_kept(url: str, kept: str) -> bool:
    """May `url` be the one that a record keeps? What was secret to the version that wrote it is masked there."""
    given, parts = (_DELIMITER.split(text.rstrip("/")) for text in (url, kept))
    return len(given) == len(parts) and all(map(_fits, given, parts))


def _fits(given: str, kept: str) -> bool:
    begin, mask, end = kept.partition(MASK)
    if not mask:
        return given == kept
    return len(given) >= len(begin) + len(end) and given.startswith(begin) and given.endswith(end)


def header_words(names: Iterable[str]) -> tuple[str, ...]:
    """Flags that name these headers: no command takes them before their values are filled in."""
    return tuple(word for name in names for word in ("--header", f"{name}: {UNSAID}"))


def header_flags(names: Iterable[str]) -> str:
    """The same as the end of a command line."""
    return "".join(f" {argument(word)}" for word in header_words(names))


def route_of(root: str, settings: Mapping[str, object]) -> str:
    """One text for whoever is asked: the target at that root, and what of query and headers may choose among engines.

    Of a header only its name is known; credentials choose nobody.
    """
    query, _ = _secret_parts(masked_url(str(settings.get("url") or "")))  # an older record may mask less
    pairs = parse_qsl(query, keep_blank_values=True)
    routing = sorted(f"{name}={value}" for name, value in pairs if MASK not in value)
    headers = [name for name in _named(settings) if _OF_THE_ASKER.search(name) is None]
    return "\n".join((_key(root), *routing, *headers))


def _key(root: str) -> str:
    try:
        return target_key(masked_url(root))
    except ValueError:  # no URL: nobody was asked there
        return root


def _secret_parts(url: str) -> tuple[str, bool]:
    """What of a URL a target's root lacks: its query, and whether it has userinfo."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "", False
    return parts.query, "@" in parts.netloc


def variable(header: str) -> str:
    """The variable of a shell that holds a header's value."""
    return f"HEADER_{re.sub(r'[^0-9A-Z]', '_', header.upper())}"


def in_shell(name: str) -> str:
    """A header as a word of a shell, which ends there where its variable is not set."""
    return f"""{quote(f"{name}: ")}"${{{variable(name)}:?}}\""""


def curl(root: str, url: str, mode: str, file: str, headers: Sequence[str], *, key: bool) -> str:
    """The line that sends a body to the target at `root`, of which `url` was given with its secrets masked.

    Secrets are named, not told; `key`: one is needed.
    """
    query, has_user = _secret_parts(url)
    path = "/v1/chat/completions" if mode == "chat" else "/v1/completions"
    words = ["curl -sS -N -H 'Content-Type: application/json'"]
    if key and "authorization" not in headers:
        words.append('-H "Authorization: Bearer $OPENAI_API_KEY"')
    elif has_user and "authorization" not in headers:
        words.append('-u "${URL_USER:?}:${URL_PASSWORD:?}"')
    words += [f"-H {in_shell(name)}" for name in headers]
    return " ".join(
        [*words, "--data-binary", quote(f"@{file}"), quote(f"{root}{path}?{query}" if query else f"{root}{path}")]
    )

"""What in a command line or a text is a secret? It is masked before anything is stored.

By place: the values of `--api-key` and `--header`, the userinfo of a URL, tokens in its query, `Bearer ...`, and what
`fuzzer.store.commands` finds in a command. And by value: a secret that is known is masked wherever it turns up, also in
what a server echoes.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from fuzzer.store.commands import secrets_of_command, spans

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MASK = "***"
COMMANDS = frozenset({"on_death", "engine_log_cmd"})  # settings that hold one

_SHORTEST = 6  # characters; a shorter "secret" (x, none) is in every text by chance
_URL = re.compile(r"[a-z][a-z0-9+.-]{0,30}://[^\s\"'<>]+", re.IGNORECASE)
_BEARER = re.compile(r"\b(bearer|basic)\s+[\w.~+/=-]{8,}", re.IGNORECASE)
_SECRET_NAME = re.compile(r"key|token|secret|passw|auth|sig(?!nal)|credential", re.IGNORECASE)
_FLAGS = frozenset({"--api-key", "--header"} | {f"--{name.replace('_', '-')}" for name in COMMANDS})
_PAIR = re.compile(r"([^&=]+)=([^&]*)")


def masked_argv(argv: Sequence[str]) -> tuple[str, ...]:
    """A command line that may be shown: the shape stays, the secrets go."""
    shown: list[str] = []
    flag = ""
    for word in argv:
        name, equals, value = word.partition("=")
        if flag:
            shown.append(_masked_value(flag, word))
        elif equals and name in _FLAGS:
            shown.append(f"{name}={_masked_value(name, value)}")
        else:
            shown.append(masked_text(word))
        flag = word if not flag and word in _FLAGS else ""
    return tuple(shown)


def _masked_value(flag: str, value: str) -> str:
    match flag:
        case "--api-key":
            return MASK
        case "--header":
            header, colon, _ = value.partition(":")
            return f"{header}: {MASK}" if colon else MASK
        case _:
            return masked_command(value)


def masked_command(command: str) -> str:
    """A command of the user's that may be shown, and is never to be run."""
    parts, at = [], 0
    for start, end in spans(command):
        parts += [command[at:start], MASK]
        at = end
    shown = "".join([*parts, command[at:]])
    return masked_text(Secrets(secrets_of_command(command)).out_of(shown))  # it may say one again elsewhere


def masked_url(url: str) -> str:
    """The URL without userinfo and without the values of query parameters that name a secret."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return MASK
    place = parts.netloc
    if "@" in place:
        place = f"{MASK}@{place.rpartition('@')[2]}"
    return urlunsplit(parts._replace(netloc=place, query=_PAIR.sub(_masked_pair, parts.query)))


def names_a_secret(name: str) -> bool:
    """Does a query parameter of this name hold a secret?"""
    return _SECRET_NAME.search(name) is not None


def _masked_pair(pair: re.Match[str]) -> str:
    return f"{pair[1]}={MASK}" if names_a_secret(pair[1]) else pair[0]


def masked_text(text: str) -> str:
    """Any text, its URLs and credentials masked."""
    return _BEARER.sub(rf"\1 {MASK}", _URL.sub(lambda url: masked_url(url[0]), text))


def masked_json(value: object) -> object:
    """The same JSON value, every text in it masked."""
    match value:
        case str():
            return masked_text(value)
        case dict():
            return {key: _masked_member(key, item) for key, item in value.items()}
        case list() | tuple():
            return [masked_json(item) for item in value]
        case _:
            return value


def _masked_member(key: str, item: object) -> object:
    if isinstance(item, str) and key in COMMANDS:
        return masked_command(item)
    return MASK if isinstance(item, str) and key in {"api_key", "header"} else masked_json(item)


class Secrets:
    """Secrets that are known by value. They are never shown: not by `repr`, not in an error."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        long = {value for value in values if len(value) >= _SHORTEST}
        self._forms = sorted(long | {json.dumps(value)[1:-1] for value in long}, key=len, reverse=True)

    def out_of(self, text: str) -> str:
        """`text` without them, also where it is JSON that escapes them."""
        for secret in self._forms:
            text = text.replace(secret, MASK)
        return text

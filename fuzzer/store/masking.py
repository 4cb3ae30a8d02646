"""What in a command line or a text is a secret? It is masked before anything is stored.

By place: the values of `--api-key` and `--header`, what `addresses` finds in a URL, `commands` in a command of the
user's and `foreign` in what others wrote, `Bearer ...`. By form: what is `issued`. And by value (`Secrets`): a secret
that is known is masked wherever it turns up, also in what a server echoes. What is masked stays what it was, but for
its words: no number and no truth value is touched, JSON is masked before it is written out, and a secret that might be
a name by chance (`ollama`) hides no name.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from fuzzer.store.addresses import secrets_of_url
from fuzzer.store.commands import secrets_of_command, spans
from fuzzer.store.foreign import secrets_of_text
from fuzzer.store.httpwords import are_plain
from fuzzer.store.issued import issued
from fuzzer.store.spans import replaced
from fuzzer.store.spelling import Spellings
from targets.base import Fault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

MASK = "***"
COMMANDS = frozenset({"on_death", "engine_log_cmd"})  # settings that hold one
# Those that hold a path or a name: what reads like a credential there ("/x/Basic Training.txt") is none.
PATHS = frozenset({"content", "contents", "tokenizer", "engine_log", "junit", "file", "model"})

_SHORTEST = 6  # characters; a shorter "secret" (x, none) is in every text by chance
_URL = re.compile(r"[a-z][a-z0-9+.-]{0,30}://[^\s\"'<>]+", re.IGNORECASE)
# `Bearer authentication`, `basic initialization` are words of a log.
_BEARER = re.compile(r"\b(bearer|basic)\s+(?!(?-i:[A-Za-z]?[a-z]+)(?![\w~+/=-]))[\w.~+/=-]{8,}", re.IGNORECASE)
_FLAGS = frozenset({"--api-key", "--header"} | {f"--{name.replace('_', '-')}" for name in COMMANDS})
# Members and columns that hold what somebody said, be it one word only; and names, be there blanks in them.
_SAID = frozenset(
    {"reason", "next_step", "signature", "text", "detail", "excerpt", "fault_text", "message", "code", "type"}
    | {"headers", "error", "hint", "last_words", "cause", "garble", "param", "fault", "finish_reason"}
    | {"death_signatures", "companion_faults", "companions_turned_away"}
)
# Words that stand in these by themselves: a key that is the same word (`length`) hides none of them.
_USUAL = {"fault": frozenset(Fault), "finish_reason": frozenset({"length", "stop", "content_filter", "tool_calls"})}
_NAMES = PATHS | frozenset({"engine", "engine_version", "deployment", "name", "version", "url", "host", "user"})


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
    shown = replaced(command, spans(command), MASK)
    return masked_text(Secrets(secrets_of_command(command)).out_of(shown))  # it may say one again elsewhere


def masked_url(url: str) -> str:
    """The URL without what in it is a secret; what chooses the engine that is asked stays."""
    try:
        urlsplit(url)
    except ValueError:
        return MASK
    return replaced(url, secrets_of_url(url), MASK)


def masked_urls(text: str) -> str:
    """Any text, the URLs in it masked: all that a path or a name can hold."""
    return _URL.sub(lambda url: masked_url(url[0]), text)


def masked_text(text: str) -> str:
    """Any text, its URLs and credentials masked."""
    shown = masked_urls(text)
    shown = replaced(shown, issued(shown), MASK)
    return _BEARER.sub(rf"\1 {MASK}", shown)


def masked_words(text: str) -> str:
    """Any text that others wrote, a log or an error: masked likewise, and what they name as secrets too."""
    shown = masked_text(text)
    return masked_text(replaced(shown, secrets_of_text(shown), MASK))


def masked_json(value: object, masked: Callable[[str], str] = masked_text) -> object:
    """The same JSON value, every text in it masked."""
    match value:
        case str():
            return masked(value)
        case dict():
            return {key: _masked_member(key, item, masked) for key, item in value.items()}
        case list() | tuple():
            return [masked_json(item, masked) for item in value]
        case _:
            return value


def _masked_member(key: str, item: object, masked: Callable[[str], str]) -> object:
    if isinstance(item, str) and key in COMMANDS:
        return masked_command(item)
    if isinstance(item, str) and key in {"api_key", "header"}:
        return MASK
    return masked_json(item, masked_urls if key in PATHS else masked)


class Secrets:
    """Secrets that are known by value. They are never shown: not by `repr`, not in an error.

    Those that are plain words are masked in texts; names (of models, engines, hosts, outcomes) may be the same word.
    """

    def __init__(self, values: Iterable[str] = ()) -> None:
        long = {value for value in values if len(value) >= _SHORTEST}
        self._all = Spellings(long)
        self._never_names = Spellings(value for value in long if not are_plain(value))

    def out_of(self, text: str) -> str:
        """`text` without them, also where it escapes them, and without what a cut has left of one."""
        return self._all.pieces_masked(self._all.masked(text, MASK), MASK)

    def out_of_name(self, name: str) -> str:
        """`name` without those that no name would hold by chance."""
        return self._never_names.masked(name, MASK)

    def out_of_json(self, value: Any, key: str = "") -> Any:  # noqa: ANN401  (any JSON)
        """The same JSON value, of the member `key`, without them in any of its texts."""
        if not self._all.values:
            return value
        match value:
            case str():
                return self.out_of(value) if _is_text(key, value) else self.out_of_name(value)
            case dict():
                within = key if key in _SAID else ""
                return {self.out_of_name(name): self.out_of_json(item, within or name) for name, item in value.items()}
            case list() | tuple():
                return [self.out_of_json(item, key) for item in value]
            case _:
                return value


def _is_text(key: str, value: str) -> bool:
    """Is it words, and no name? Names are one word each, but for a few that are told by their key."""
    return value not in _USUAL.get(key, ()) if key in _SAID else " " in value and key not in _NAMES

"""Which secrets was this process told, and what keeps them off its streams? A server may echo any of them."""

from __future__ import annotations

from base64 import b64decode, b64encode
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import unquote, unquote_plus, urlsplit

from fuzzer.finding import FindingKind
from fuzzer.model import Outcome, Role

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fuzzer.cli.common import CommonFlags
    from fuzzer.events import Event
    from fuzzer.store.masking import Secrets

_values: dict[str, None] = {}  # grows only: what was once secret stays so until the process ends
_told: list[Secrets] = []  # the one that knows all of them, once there is any


def keep(flags: CommonFlags) -> None:
    """From now on no secret of these flags is written to stdout, to stderr or into a record."""
    from fuzzer.store.masking import Secrets  # noqa: PLC0415  (heavy)

    _values.update(dict.fromkeys(secrets_of(flags)))
    _told[:] = [Secrets(_values)]


def told() -> tuple[str, ...]:
    """Every secret that this process was told, of whichever target."""
    return tuple(_values)


def hidden(text: str) -> str:
    """`text` without any secret that this process was told."""
    for secrets in _told:
        text = secrets.out_of(text)
    return text


def hidden_in_json(value: Any) -> Any:  # noqa: ANN401  (any JSON)
    """The same JSON value without any of them: its numbers, members and names stay what they are."""
    for secrets in _told:
        value = secrets.out_of_json(value)
    return value


def hidden_in_event(event: Event) -> Event:
    """The same event without any of them: whoever folds or cuts its texts cannot part a secret before it is found."""
    return cast("Event", _hidden_in("", event)) if _told else event


def _hidden_in(name: str, value: object) -> object:
    match value:
        case Enum():
            return value
        case str():
            return _told[0].out_of_json(value, name)
        case tuple():
            return tuple(_hidden_in(name, item) for item in value)
        case _ if is_dataclass(value) and not isinstance(value, type):
            return replace(value, **{one.name: _hidden_in(one.name, getattr(value, one.name)) for one in fields(value)})
        case _:
            return value


def secrets_of(flags: CommonFlags) -> tuple[str, ...]:
    """Every secret by value: key, headers, and what stands in the URLs, those of the environment's forward proxies
    too; in each form that goes over the wire. A key that is the name of an engine, or a part of one that the user gives
    as no secret (`ollama`), hides nothing.
    """
    from urllib.request import getproxies  # noqa: PLC0415  (heavy)

    from fuzzer.store.httpwords import are_plain, holds_secret  # noqa: PLC0415  (heavy)

    found = [flags.api_key or ""]
    for name, value in flags.headers:
        if holds_secret(name, value):
            scheme, _, rest = value.rpartition(" ")  # an echo may leave the scheme of `Bearer ...` out
            found += [value, rest, *(_of_basic(rest) if scheme.lower() == "basic" else ())]
    for url in (flags.url, flags.health_url, flags.metrics_url, *getproxies().values()):
        found += _of_url(url or "")
    names = _names(flags).lower()
    secrets = (one for one in found if one and not (are_plain(one) and one.lower() in names))
    return tuple(dict.fromkeys(secrets))


def _names(flags: CommonFlags) -> str:
    """What is called by its name, secret or not: engines, the model, the hosts, and what tables are full of."""
    from targets.table import DIALECTS  # noqa: PLC0415  (heavy)

    hosts = (_host(url) for url in (flags.url, flags.health_url, flags.metrics_url) if url)
    return "\n".join((*DIALECTS, flags.model or "", *hosts, *Outcome, *Role, *FindingKind))


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _of_basic(coded: str) -> tuple[str, ...]:
    """What the server reads in the credentials of a Basic header: user and password, and the password."""
    try:
        pair = b64decode(coded).decode()
    except ValueError:
        return ()
    return (pair, pair.partition(":")[2])


def _of_url(url: str) -> Iterator[str]:
    from fuzzer.store.addresses import secrets_beyond_user  # noqa: PLC0415  (heavy)

    try:
        parts = urlsplit(url)
        user, password = parts.username or "", parts.password or ""
    except ValueError:
        return
    secret = password or user
    if secret:
        yield from (secret, unquote(secret), b64encode(f"{unquote(user)}:{unquote(password)}".encode()).decode())
    for start, end in secrets_beyond_user(url):
        value = url[start:end]
        yield from (value, unquote(value), unquote_plus(value))

"""Which secrets was this process told, and what keeps them off its streams? A server may echo any of them."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlsplit

from fuzzer.finding import FindingKind
from fuzzer.model import Outcome, Role

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fuzzer.cli.flags import CommonFlags
    from fuzzer.store.masking import Secrets

_told: list[Secrets] = []  # grows only: what was once secret stays so until the process ends


def keep(flags: CommonFlags) -> None:
    """From now on no secret of these flags is written to stdout or stderr."""
    from fuzzer.store.masking import Secrets  # noqa: PLC0415  (heavy)

    _told.append(Secrets(secrets_of(flags)))


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
            found += [value, value.rpartition(" ")[2]]  # the scheme of `Bearer ...` may be left out by an echo
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


def _of_url(url: str) -> Iterator[str]:
    from fuzzer.store.masking import names_a_secret  # noqa: PLC0415  (heavy)

    try:
        parts = urlsplit(url)
        user, password = parts.username or "", parts.password or ""
    except ValueError:
        return
    secret = password or user
    if secret:
        yield from (secret, unquote(secret), b64encode(f"{unquote(user)}:{unquote(password)}".encode()).decode())
    raw = dict(pair.partition("=")[::2] for pair in parts.query.split("&"))
    for name, value in parse_qsl(parts.query):
        if names_a_secret(name):
            yield from (value, raw.get(name, ""))

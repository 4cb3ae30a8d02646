"""Which secrets was this process told, and what keeps them off its streams? A server may echo any of them."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, unquote, urlsplit

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


def secrets_of(flags: CommonFlags) -> tuple[str, ...]:
    """Every secret by value: key, headers, and what stands in the URLs, those of the environment's forward proxies
    too; in each form that goes over the wire.
    """
    from urllib.request import getproxies  # noqa: PLC0415  (heavy)

    found = [flags.api_key or ""]
    for _, value in flags.headers:
        found += [value, value.rpartition(" ")[2]]  # the scheme of `Bearer ...` may be left out by an echo
    for url in (flags.url, flags.health_url, flags.metrics_url, *getproxies().values()):
        found += _of_url(url or "")
    return tuple(dict.fromkeys(secret for secret in found if secret))


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

"""Which forward proxy of the environment does a request go through, if any? Read as curl reads it.

`HTTP_PROXY`, `HTTPS_PROXY` and `ALL_PROXY` name proxies, `NO_PROXY` the hosts that are asked without one: names (with
all that is below them), addresses and networks, each with a port or without. A variable that concerns no host that is
asked is not looked at. One that does and cannot be read is named; its value is told to nobody: it may hold a password.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import getproxies

import httpx

from targets.errors import UnreadableEnvironment

if TYPE_CHECKING:
    from collections.abc import Mapping

    Origin = tuple[str, str, int]  # scheme, host, port

SCHEMES = ("http", "https", "socks5", "socks5h")
_PORT = re.compile(r"(?P<host>.+):(?P<port>\d{1,5})")


def forward_proxies() -> Mapping[str, str]:
    """What is set now, by what it is for: http, https, all; and `no`, the hosts that it is not for."""
    return getproxies()


def proxy_for(origin: Origin, proxies: Mapping[str, str]) -> httpx.Proxy | None:
    """The proxy between us and this origin. Raises UnreadableEnvironment, which names a variable and no value."""
    scheme = next((name for name in (origin[0], "all") if proxies.get(name)), None)
    if scheme is None or is_spared(origin, proxies.get("no", "")):
        return None
    return _read(proxies[scheme], f"{scheme}_proxy")


def is_spared(origin: Origin, listed: str) -> bool:
    """Does a NO_PROXY of this content name the origin? What is no name, address or network in it names nobody."""
    return any(_names(entry, origin) for entry in re.split(r"[,\s]+", listed) if entry)


def _names(entry: str, origin: Origin) -> bool:
    scheme, host, port = origin
    wanted, told, rest = entry.rpartition("://")
    if told and wanted.lower() not in {scheme, "all"}:
        return False
    if rest == "*":
        return True
    if _is_among(host, rest):
        return True
    found = _PORT.fullmatch(rest)
    return found is not None and int(found["port"]) == port and _is_among(host, found["host"])


def _is_among(host: str, entry: str) -> bool:
    """Is it this address, in this network, of this name, or below it?"""
    host, entry = (_bare(one) for one in (host, entry))
    try:
        address = ip_address(host)
    except ValueError:
        domain = entry.removeprefix("*").removeprefix(".")
        return bool(domain) and (host == domain or host.endswith(f".{domain}"))
    with suppress(ValueError):
        return address in ip_network(entry, strict=False)
    return False


def _bare(host: str) -> str:
    """Without the brackets and the zone of an IPv6 address, and without the dot that ends a full name."""
    return re.sub(r"%[^/]*", "", host.replace("[", "").replace("]", "")).removesuffix(".").lower()


def _read(url: str, name: str) -> httpx.Proxy:
    text = url.strip()
    text = text if "://" in text else f"http://{text}"
    try:
        parts = urlsplit(text)
        known, host, _ = parts.scheme.lower() in SCHEMES, parts.hostname, parts.port  # a port may be none
        torn = "@" in f"{parts.path}{parts.query}{parts.fragment}"  # a password that was cut at its `/`, `?` or `#`
        proxy = httpx.Proxy(text) if known and host and not torn else None
    except (ValueError, httpx.InvalidURL):
        known, proxy = True, None
    if not known:
        raise UnreadableEnvironment(
            f"{_spelled(name)} names a proxy of a kind that cannot be spoken to: it takes {', '.join(SCHEMES)}. Change "
            "it, or name the target's host in NO_PROXY."
        )
    if proxy is None:
        raise UnreadableEnvironment(
            f"{_spelled(name)} cannot be read as the URL of a proxy: write http://user:password@host:port, with "
            "%23 for a # in the password, %2F for a /, and so on; or name the target's host in NO_PROXY."
        )
    return proxy


def _spelled(name: str) -> str:
    """The variable as it is spelt in the environment; where none is there, the system's own settings have it."""
    return next((one for one in (name, name.upper()) if os.environ.get(one)), f"{name.upper()} (of the system)")

"""Which addresses does one `--url` stand for, and which part of it may be shown?"""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from targets.errors import TargetUnusable

_API_TAIL = re.compile(r"/v1(/(chat/)?completions|/models)?$")
_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Address:
    """One server address, split into what is public and what is secret.

    `root` is scheme://host[:port][/prefix] without `/v1` and without a trailing slash. The secret parts stay out of
    `repr`: `basic` is the value of an Authorization header made from the userinfo, `query` goes with every request.
    """

    root: str
    origin: tuple[str, str, int]  # scheme, host, port
    query: str = field(default="", repr=False)
    basic: str | None = field(default=None, repr=False)

    def at(self, path: str) -> str:
        """The URL of a path below the root, with the query that came with the address."""
        url = self.root + path
        return f"{url}?{self.query}" if self.query else url


def parse(url: str, *, api: bool = True) -> Address:
    """Split a URL as the user gave it. `api=False` keeps its path as it is (a health or metrics URL).

    Raises TargetUnusable, which never quotes userinfo or query, where it is no http(s) URL.
    """
    text = url.strip()
    if "://" not in text:
        shown = text.rpartition("@")[2].partition("?")[0]
        raise TargetUnusable(f"{shown!r} is no URL: say http://{shown} or https://{shown}.")
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise TargetUnusable("The URL cannot be read: check its host and port (http://HOST:PORT).") from None
    scheme, host = parts.scheme.lower(), parts.hostname
    if scheme not in _DEFAULT_PORTS:
        raise TargetUnusable(f"The URL begins with {scheme}://: only http:// and https:// can be asked.")
    if not host or re.search(r"[\s\\^<>{}|`\"]", host):
        raise TargetUnusable("The URL names no usable host: write it as http://HOST:PORT.")
    path = re.sub(r"/{2,}", "/", parts.path).rstrip("/")
    if api:
        path = _API_TAIL.sub("", path)
    name = f"[{host}]" if ":" in host else host
    netloc = name if port is None else f"{name}:{port}"
    return Address(
        root=f"{scheme}://{netloc}{path}",
        origin=(scheme, host, port or _DEFAULT_PORTS[scheme]),
        query=parts.query,
        basic=_basic(parts.username, parts.password),
    )


def _basic(user: str | None, password: str | None) -> str | None:
    if user is None and password is None:
        return None
    pair = f"{unquote(user or '')}:{unquote(password or '')}"
    return "Basic " + b64encode(pair.encode()).decode()

"""Does a name say that its value is a secret, and does the secret itself stand there? PURE.

One part of the name has to say so: `--api-token`, `HF_TOKEN`, `X-Api-Key`; but not `--tokenizer`, not `--max-tokens`.
A reference (`$TOKEN`, `$(cat FILE)`) is none, nor is the file that holds one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_PART: Final = re.compile(
    r"[a-z0-9]*(?:passwords?|passwd|passphrase|secrets?|credentials?|token)"
    r"|(?:api|access|secret|private|auth|ssh|account)?keys?|(?:ssh|pg|require)?pass|pwd?|(?:master)?auth"
    r"|authorization|creds?|cookies?",
)
_NOT_ITSELF: Final = frozenset({"file", "path", "dir", "stdin", "fd", "env", "name", "type", "ttl"})  # where it is, ...
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_REFERENCE: Final = re.compile(
    r"""\\?["']?(?:(?:bearer|basic|token|apikey)\s+)?(?:\$\w*|\$\{\w+\}|\$\(.*\)?|`.*)\\?["']?""",
    re.IGNORECASE | re.DOTALL,
)
_MADE: Final = re.compile(r"\$\(|`")
_VARIABLE: Final = re.compile(r"\$\{?([A-Za-z_]\w*)")
_FILE: Final = re.compile(r"[~.]{0,2}/[\w./@%+~-]+\.(?:pem|key|crt|cer|p12|pfx|pub)")


def names_one(name: str) -> bool:
    """Is what is given under this name a secret?"""
    parts = re.split(r"[-_.]+", _HUMP.sub("_", name).lower())
    return parts[-1] not in _NOT_ITSELF and any(map(_PART.fullmatch, parts))


def is_told(text: str, start: int, end: int) -> bool:
    """Does the secret itself stand there, and not where to find it?"""
    value = text[start:end].strip()
    bare = value.strip("\"'\\")
    return bool(bare) and not _REFERENCE.fullmatch(value) and not _FILE.fullmatch(bare)


def referred_to(value: str) -> Iterator[str]:
    """The variables in a value; of a command that makes it, none."""
    return (name[1] for name in _VARIABLE.finditer(_MADE.split(value, maxsplit=1)[0]))


def are_references(value: str) -> bool:
    """Is each part between colons but a reference?"""
    return all(map(_REFERENCE.fullmatch, value.split(":")))

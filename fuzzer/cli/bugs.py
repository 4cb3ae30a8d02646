"""What is told of a fault of our own? Where it happened, so that it can be mended, and no secret of its user's.

It is no answer, and must not look like one: 1 would say that a cap does not hold.
"""

from __future__ import annotations

import os
import sys
import traceback
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from fuzzer.cli.exits import Exit
from fuzzer.cli.streams import say

if TYPE_CHECKING:
    from collections.abc import Iterator

CODE: Final = Exit.INCONCLUSIVE
LONGEST: Final = 20_000  # characters of a traceback: the end of it, which says what happened
SHORTEST: Final = 200  # characters of the exception's own words
FLAGS: Final = ("--api-key", "--header")
VARIABLES: Final = ("OPENAI_API_KEY", "CTXFUZZ_API_KEY", "CTXFUZZ_HEADER")


def sentence(bug: BaseException) -> str:
    """What became of the command."""
    said = " ".join(traceback.format_exception_only(bug)).strip()
    return (
        f"ctxfuzz itself is at fault here, and nothing was decided ({_discreet(said)[:SHORTEST]}). "
        "What was recorded is kept. Please report it."
    )


def tell(bug: BaseException) -> None:
    """The traceback, and what it means, to stderr."""
    say(_discreet("".join(traceback.format_exception(bug)))[-LONGEST:].rstrip())
    say(f"Error: {sentence(bug)}")


def _discreet(text: str) -> str:
    """Without what this process may have been told in confidence: it may not have come so far as to read its flags."""
    try:
        from fuzzer.store.masking import Secrets, masked_text  # noqa: PLC0415  (heavy)

        return masked_text(Secrets(_whatever_is_secret()).out_of(text))
    except Exception as error:  # noqa: BLE001  (what is at fault may be this very code)
        return f"not shown, for {type(error).__name__} kept it from being masked"


def _whatever_is_secret() -> Iterator[str]:
    values = [os.environ.get(name, "") for name in VARIABLES]
    for word, following in pairwise([*sys.argv[1:], ""]):
        flag, equals, value = word.partition("=")
        if flag in FLAGS:
            values.append(value if equals else following)
    for value in values:
        for line in value.splitlines():
            header, colon, content = line.partition(":")
            yield from (line.strip(), *content.split()) if colon else (header.strip(),)
    for name, value in os.environ.items():
        if name.lower().endswith("_proxy") and "@" in value:
            user = value.rpartition("@")[0].rpartition("://")[2] or value.rpartition("@")[0]
            password = user.partition(":")[2] or user
            yield from (user, password, *_cut(password))


def _cut(password: str) -> Iterator[str]:
    """What is left of one where a URL is parted at the signs that it ought not to have in its userinfo."""
    for sign in "#?/@:":
        yield from password.split(sign)

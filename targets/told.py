"""Which status does an answer tell: its own, or that of an error that a 200 holds in the place of an answer? Pure.

Who streams has said 200 before he knows what becomes of it, and says the rest inside.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from targets.failures import names_breakage

if TYPE_CHECKING:
    from targets.base import Reply, ServerError

CLOCKS = {408, 504, 524}  # whoever waited for the engine does so no longer
# Errors that bear a name and no number (Anthropic). Whoever gives his own 503 such a name turns it into an overload's.
_BY_NAME = {
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "overloaded_error": 503,
    "timeout_error": 504,
}


def told_status(reply: Reply) -> int | None:
    """The status that it tells; a 200 stays one where the error in it tells none.

    After a token only a clock's counts: whoever got that far was not turned away. None counts where the words name a
    failure of the machine. What is told of a 500, a 502 or a 503 is the word of whoever wrote it: no line was lost.
    """
    error = reply.error
    if reply.status != 200 or error is None or names_breakage(error.message):
        return reply.status
    code = numbered(error)
    return reply.status if code is None or (reply.events > 0 and code not in CLOCKS) else code


def numbered(error: ServerError) -> int | None:
    """The status of an error by the number or the name that it bears, or None."""
    code = str(error.code)
    number = int(code) if code.isascii() and code.isdigit() and len(code) == 3 else 0
    return number if 400 <= number < 600 else _BY_NAME.get(code) or _BY_NAME.get(str(error.type))


def spelled(reply: Reply) -> str:
    """How its status is said to a reader."""
    told = told_status(reply)
    if told != reply.status:
        return f"HTTP {told} inside a {reply.status}"
    return f"an error inside a {told}" if told == 200 and reply.error is not None else f"HTTP {told}"

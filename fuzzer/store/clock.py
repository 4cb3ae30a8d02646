"""What time is it, as runs.db writes it?"""

from __future__ import annotations

import re
import secrets
from datetime import UTC, datetime

_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's: nothing that is read as something else, sorts as it counts
_RUN_ID = re.compile(f"[{_DIGITS}]{{12}}")


def utc_text(moment: datetime) -> str:
    """UTC to the millisecond, such as 2026-11-29T17:00:00.000Z: sorts as text."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def utc_now() -> str:
    return utc_text(datetime.now(UTC))


def new_run_id() -> str:
    """12 characters: 9 for the millisecond, so that ids sort by their beginning, and 3 drawn at random."""
    moment = int(datetime.now(UTC).timestamp() * 1000)
    stamp = "".join(_DIGITS[moment >> shift & 31] for shift in range(40, -1, -5))
    return stamp + "".join(secrets.choice(_DIGITS) for _ in range(3))


def is_run_id(name: object) -> bool:
    """Is it an id as `new_run_id` gives them? Any other one was made by somebody else, for whoever reads it."""
    return isinstance(name, str) and _RUN_ID.fullmatch(name) is not None

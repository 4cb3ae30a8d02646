"""What does a run tell beside its probes? PURE: a capacity, a comparison, as one value of JSON and as plain lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Told:
    """`key` names `value` among the keys of the run's JSON; `text` are lines that are fit to be shown."""

    key: str
    value: dict[str, Any]
    text: str

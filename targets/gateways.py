"""Did a gateway ask more than once, or somebody else, before it answered? Pure: its own headers say so.

Such an answer hides what became of the first request: an engine may have died under it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

# header -> from how many on it tells of more than one request, and of what
_TELLS = {
    "x-litellm-attempted-fallbacks": (1, "it fell back"),
    "x-litellm-attempted-retries": (1, "it asked again"),
    "x-portkey-retry-attempt-count": (1, "it asked again"),
    "x-envoy-attempt-count": (2, "it asked again"),
}
_DEPLOYMENT = "x-litellm-model-id"


def asked_again(headers: Mapping[str, str]) -> str | None:
    """How a gateway says that this was not its first request, or None where it does not."""
    for name, (least, what) in _TELLS.items():
        value = headers.get(name, "").strip()
        if value.isascii() and value.isdigit() and int(value[:9]) >= least:
            return f"{what} ({name}: {value[:9]})"
    return None


def deployment(headers: Mapping[str, str]) -> str:
    """Which of the deployments behind a gateway answered, as it names it; empty where it does not."""
    return headers.get(_DEPLOYMENT, "")[:64]

"""Did a gateway ask more than once, or somebody else, before it answered? Pure: what it says of itself tells.

Such an answer hides what became of the first request: an engine may have died under it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from targets.base import Reply

_FELL_BACK = "it fell back"
_ASKED_AGAIN = "it asked again"
# header -> from how many on it tells of more than one request, and of what
_TELLS = {
    "x-litellm-attempted-fallbacks": (1, _FELL_BACK),
    "cf-aig-step": (1, _FELL_BACK),
    "helicone-fallback-index": (1, _FELL_BACK),
    "x-litellm-attempted-retries": (1, _ASKED_AGAIN),
    "x-portkey-retry-attempt-count": (1, _ASKED_AGAIN),
    "x-envoy-attempt-count": (2, _ASKED_AGAIN),
    "ngrok-aig-attempts": (2, _ASKED_AGAIN),
}
# headers that name who answered, of those that a gateway has behind it: one row a gateway
_NAMES = (
    ("x-litellm-model-id",),
    ("x-portkey-last-used-option-index",),
    ("cf-aig-provider", "cf-aig-model"),
    ("ngrok-aig-model",),
    ("x-kong-llm-model",),
    ("x-tfy-resolved-model",),
    ("x-inference-provider",),
)
_NAME_CHARS = 64


def asked_again(headers: Mapping[str, str]) -> str | None:
    """How a gateway says that this was not its first request, or None where it does not."""
    told = _told(headers, {_FELL_BACK, _ASKED_AGAIN})
    return None if told is None else f"{_TELLS[told][1]} ({told}: {_number(headers, told)})"


def fell_back(reply: Reply, models: Collection[str] = ()) -> bool:
    """Did a gateway let another answer because this model failed it? By its headers, or by none of the names."""
    return _told(reply.headers, {_FELL_BACK}) is not None or _another(models, reply.model) is not None


def stranger(reply: Reply, models: Collection[str], before: str) -> str | None:
    """Who answered in the place of a model of these names, or of the deployment `before`; or None.

    What is empty is not known. Whoever is named later in the answer gave the rest of it.
    """
    who = _another(models, reply.model) or _another([*models, before] if any(models) else [], reply.also)
    if who is not None:
        return f"{who} answered in the place of {next(filter(None, models))}"
    now = deployment(reply)
    return f"deployment {now} answered in the place of {before}" if before and now and now != before else None


def untold(reply: Reply, before: str) -> str | None:
    """That nobody knows who answered, where the deployment `before` was named when it did; or None."""
    return (
        f"it does not say who gave this answer, as it did before ({before})"
        if before and not deployment(reply)
        else None
    )


def deployment(reply: Reply) -> str:
    """Which of those behind a gateway answered, as it names it; empty where it does not."""
    told = (" ".join(filter(None, (reply.headers.get(name, "")[:_NAME_CHARS] for name in row))) for row in _NAMES)
    return next(filter(None, told), reply.provider[:_NAME_CHARS])


def _told(headers: Mapping[str, str], of: Collection[str]) -> str | None:
    tells = (name for name, (least, what) in _TELLS.items() if what in of and _number(headers, name) >= least)
    return next(tells, None)


def _number(headers: Mapping[str, str], name: str) -> int:
    value = headers.get(name, "").strip()
    return int(value[:9]) if value.isascii() and value.isdigit() else 0


def _another(models: Collection[str], now: str) -> str | None:
    known = {_bare(model) for model in models if model}
    return now if known and now and _bare(now) not in known else None


def _bare(model: str) -> str:
    """A model's name without its provider's: gateways spell both ways."""
    return model.rpartition("/")[2].casefold()

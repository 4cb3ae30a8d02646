"""Did a gateway ask more than once, or somebody else, before it answered? Pure: its own headers say so.

Such an answer hides what became of the first request: an engine may have died under it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from targets.base import Reply

_FALLBACKS = "x-litellm-attempted-fallbacks"
_DEPLOYMENT = "x-litellm-model-id"
# header -> from how many on it tells of more than one request, and of what
_TELLS = {
    _FALLBACKS: (1, "it fell back"),
    "x-litellm-attempted-retries": (1, "it asked again"),
    "x-portkey-retry-attempt-count": (1, "it asked again"),
    "x-envoy-attempt-count": (2, "it asked again"),
}


def asked_again(headers: Mapping[str, str]) -> str | None:
    """How a gateway says that this was not its first request, or None where it does not."""
    for name, (least, what) in _TELLS.items():
        number = _number(headers, name)
        if number >= least:
            return f"{what} ({name}: {number})"
    return None


def fell_back(reply: Reply, models: Collection[str] = ()) -> bool:
    """Did a gateway let another answer because this model failed it? By its headers, or by none of the names."""
    return _number(reply.headers, _FALLBACKS) > 0 or _is_another(models, reply.model)


def stranger(reply: Reply, models: Collection[str], before: str) -> str | None:
    """Who answered in the place of a model of these names, or of the deployment `before`; or None.

    What is empty is not known.
    """
    if _is_another(models, reply.model):
        return f"{reply.model} answered in the place of {next(filter(None, models))}"
    now = deployment(reply.headers)
    return f"deployment {now} answered in the place of {before}" if before and now and now != before else None


def deployment(headers: Mapping[str, str]) -> str:
    """Which of the deployments behind a gateway answered, as it names it; empty where it does not."""
    return headers.get(_DEPLOYMENT, "")[:64]


def _number(headers: Mapping[str, str], name: str) -> int:
    value = headers.get(name, "").strip()
    return int(value[:9]) if value.isascii() and value.isdigit() else 0


def _is_another(models: Collection[str], now: str) -> bool:
    known = {_bare(model) for model in models if model}
    return bool(known and now) and _bare(now) not in known


def _bare(model: str) -> str:
    """A model's name without its provider's: gateways spell both ways."""
    return model.rpartition("/")[2].casefold()

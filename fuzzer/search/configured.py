"""Which lengths does a model's own configuration make suspects? PURE: from the object of its config.json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fuzzer.search.suspects import Suspect

LENGTHS = ("max_position_embeddings", "original_max_position_embeddings", "n_positions", "n_ctx", "sliding_window")
NESTED = ("text_config", "llm_config")
ROPE = ("rope_scaling", "rope_parameters")
MOST_STRETCH = 10_000
NAMED = 4.0  # somebody's own number is likelier than a number that is only round


def suspects_in(config: Mapping[str, Any], whose: str) -> tuple[Suspect, ...]:
    """The lengths that it names, each once, under the name of its field: "drafter's max_position_embeddings"."""
    found: dict[int, str] = {}
    for level in (config, *(nested for name in NESTED if isinstance(nested := config.get(name), Mapping))):
        for name, value in _lengths(level):
            found.setdefault(value, f"{whose} {name}")
    return tuple(Suspect(value, name, NAMED) for value, name in found.items())


def _lengths(level: Mapping[str, Any]) -> list[tuple[str, int]]:
    named = [(name, _length(level, name)) for name in LENGTHS]
    for rope in (scaling for name in ROPE if isinstance(scaling := level.get(name), Mapping)):
        original = _length(rope, "original_max_position_embeddings")
        named.append(("original_max_position_embeddings", original))
        base, factor = original or _length(level, "max_position_embeddings"), rope.get("factor")
        if base is not None and isinstance(factor, int | float) and 1 < factor < MOST_STRETCH:
            named.append(("rope scaling", round(base * factor)))
    return [(name, value) for name, value in named if value is not None]


def _length(level: Mapping[str, Any], name: str) -> int | None:
    value = level.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 1 else None

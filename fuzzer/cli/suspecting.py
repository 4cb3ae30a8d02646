"""Which lengths does the user name as suspects: by number, and by the configuration of the model and its drafter?"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from fuzzer.errors import UsageFault
from fuzzer.search import Suspect
from fuzzer.search.configured import LENGTHS, NAMED, suspects_in

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

CONFIG = "config.json"


def suspected(
    numbers: Sequence[int], draft_config: Path | None = None, model_config: Path | None = None
) -> tuple[Suspect, ...]:
    """All of them. Raises UsageFault where a configuration cannot be read, or names no length."""
    named = [Suspect(value, "--suspect", NAMED) for value in numbers]
    for path, whose in ((draft_config, "drafter's"), (model_config, "model's")):
        if path is not None:
            named += _configured(path, whose)
    return tuple(named)


def _configured(path: Path, whose: str) -> tuple[Suspect, ...]:
    file = path / CONFIG if os.path.isdir(path) else path  # noqa: PTH112  (Path's own may raise)
    try:
        config = json.loads(file.read_bytes())
    except OSError as error:
        raise UsageFault(
            f"{file} cannot be read: {error.strerror}. Name a config.json, or the directory of a model that has one."
        ) from None
    except (ValueError, RecursionError):
        raise UsageFault(f"{file} is no JSON. Name a config.json, or the directory of a model that has one.") from None
    found = suspects_in(config, whose) if isinstance(config, dict) else ()
    if not found:
        raise UsageFault(
            f"{file} names no length ({', '.join(LENGTHS)}). Name the config.json of a model, or the length itself "
            "with --suspect."
        )
    return found

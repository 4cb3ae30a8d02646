"""Does a fuzz find, by itself and without being told the axis, what kills real engines under a cap?

CTXFUZZ_FUZZ=FILE keeps what was found, one JSON line a recipe.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.engines import recipes
from tests.engines.keeping import Engine, ctxfuzz

pytestmark = [pytest.mark.engine, pytest.mark.timeout(1800)]

BY_NAME = {recipe.name: recipe for recipe in recipes.VLLM_RECIPES}
SEED = "1"
NO_TEXT = ("--fail-on", "death,error,hang,truncated")


@contextmanager
def served(name: str, folder: Path) -> Iterator[Engine]:
    if name == "L1":
        with recipes.llamacpp(recipes.L1, folder) as engine:
            yield engine
    else:
        with recipes.vllm(BY_NAME[name], "0.32.0", folder) as engine:
            yield engine


# Each with its cap, and the sums of prompt + output at which its law says that the least of it must lie.
CASES = {
    "V2, 1 output token": (8_191, range(2_040, 2_053)),  # accepted drafts move it by up to k
    "V3": (1_000_000, range(131_073, 131_075)),
    "V4, 1 output token": (16_383, range(4_097, 4_099)),
    "L1": (8_191, range(1_027, 1_300)),
}


@pytest.mark.parametrize("name", CASES)
def test_it_is_found_and_made_small(name: str, tmp_path: Path) -> None:
    cap, sums = CASES[name]
    with served(name, tmp_path) as engine:
        # A model of random weights now and then says nothing at all: that is no failure of the engine's.
        asked = ("fuzz", "--url", engine.url, "--cap", str(cap), "--budget", "15m", "--seed", SEED, *NO_TEXT)
        more = ("--output-tokens", "64") if name == "L1" else ()  # its drafts are no longer than what is asked for
        code, found, said = ctxfuzz(tmp_path, *asked, *more, "--engine-log", str(engine.log), within_s=1_700)
        assert code == 1, said
        one = found["failures"][0]
        assert one["outcome"] == "death", said
        assert one["prompt_tokens"] + one["output_tokens"] in sums, one
        assert one["failed"] == one["asked"] == 2, one
        assert found["deaths"] == engine.deaths, said
    keep(name, found)


def keep(name: str, found: dict[str, Any]) -> None:
    if (path := os.environ.get("CTXFUZZ_FUZZ")) is None:
        return
    one = found["failures"][0]
    told = {key: one[key] for key in ("prompt_tokens", "output_tokens", "needs", "met", "probe", "signature", "report")}
    spent = {key: found[key] for key in ("seed", "cap", "deaths", "probes", "elapsed_s")}
    with Path(path).open("a", encoding="utf-8") as kept:
        kept.write(json.dumps({"recipe": name, **told, **spent}) + "\n")

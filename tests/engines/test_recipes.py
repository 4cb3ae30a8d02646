"""Does the command line find the exact edge of every engine that really dies at a length?

CTXFUZZ_EDGES=FILE keeps what was found, one JSON line a recipe: the table of docs/engines.md is made of them.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.engines import recipes
from tests.engines.keeping import Engine, ctxfuzz
from tests.engines.recipes import Recipe

pytestmark = [pytest.mark.engine, pytest.mark.timeout(1200)]

OLDER = [recipe for recipe in recipes.VLLM_RECIPES if recipe.name in {"V1", "V2, 1 output token"}]


@pytest.mark.parametrize("recipe", recipes.VLLM_RECIPES, ids=lambda one: one.name)
def test_vllm_is_bisected_to_its_exact_edge(recipe: Recipe, tmp_path: Path) -> None:
    with recipes.vllm(recipe, "0.32.0", tmp_path) as engine:
        check(recipe, "vllm 0.32.0", engine, *bisected(recipe, engine, tmp_path))


@pytest.mark.parametrize("recipe", OLDER, ids=lambda one: one.name)
def test_an_older_vllm_has_the_same_edge(recipe: Recipe, tmp_path: Path) -> None:
    with recipes.vllm(recipe, "0.28.0", tmp_path) as engine:
        check(recipe, "vllm 0.28.0", engine, *bisected(recipe, engine, tmp_path))


def test_a_server_whose_worker_died_is_helped_back_by_a_command_of_ours(tmp_path: Path) -> None:
    """transformers serve says 503 for ever, and its process lives: only `--on-death` can end it."""
    recipe = recipes.T1
    with recipes.transformers(recipe, tmp_path) as engine:
        model = str(tmp_path / "target")
        named = ("--mode", "text", "--model", model, "--tokenizer", model)
        helped = ("--on-death", f"kill -9 $(cat {tmp_path / 'engine.pid'})")
        check(recipe, "transformers 5.23.0", engine, *bisected(recipe, engine, tmp_path, *named, *helped))


def bisected(recipe: Recipe, engine: Engine, folder: Path, *more: str) -> tuple[dict[str, Any], str]:
    asked = ("bisect", "--url", engine.url, *recipe.ask, "--engine-log", str(engine.log), *more)
    _, found, said = ctxfuzz(folder, *asked, within_s=1_000)
    return found, said


def check(recipe: Recipe, name: str, engine: Engine, found: dict[str, Any], said: str) -> None:
    edge = (found["finding"], found["last_good"], found["first_bad"])
    assert edge == (recipe.finding, recipe.last_good, recipe.first_bad), said
    assert found["deaths"] == engine.deaths, said
    if recipe.signature:
        assert found["death_signatures"] == [recipe.signature], said
    keep(recipe, name, found)


def keep(recipe: Recipe, name: str, found: dict[str, Any]) -> None:
    if (path := os.environ.get("CTXFUZZ_EDGES")) is None:
        return
    told = {key: found[key] for key in ("last_good", "first_bad", "recommended_max_model_len", "cause")}
    spent = {key: found[key] for key in ("deaths", "probes", "elapsed_s")}
    with Path(path).open("a", encoding="utf-8") as kept:
        kept.write(json.dumps({"engine": name, "recipe": recipe.name, **told, **spent}) + "\n")

"""Are capacity and sameness what a real engine's own log says, and what its model makes them?"""

from __future__ import annotations

import importlib.util
import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.engines import recipes
from tests.engines.keeping import Engine, ctxfuzz
from tests.engines.recipes import Model, Recipe, speculating

pytestmark = [pytest.mark.engine, pytest.mark.timeout(1200)]

TARGET = Model("llama", 4096)
PLAIN = Recipe("plain", TARGET, ("--max-model-len", "4096"), (), "none", 0, 0)
DRAFTING = replace(PLAIN, serve=(*PLAIN.serve, *speculating(3)), drafter=replace(TARGET, seed=5))
WINDOWED = Recipe("a sliding window", Model("mistral", 1 << 17), ("--max-model-len", "131072"), (), "none", 0, 0)
LOG = re.compile(r"KV cache size: ([\d,]+) tokens, Maximum concurrency for [\d,]+ tokens per request: ([\d.]+)x")


def folder(at: Path, name: str) -> Path:
    made = at / name
    made.mkdir()
    return made


def logged(engine: Engine) -> tuple[int, float]:
    """The pool, and how many requests of the full window it holds, by the engine's own log."""
    found = LOG.search(engine.log.read_text())
    assert found is not None
    return int(found[1].replace(",", "")), float(found[2])


def test_the_pool_of_vllm_is_that_of_its_log_and_its_drafter_changes_nothing(tmp_path: Path) -> None:
    with (
        recipes.vllm(PLAIN, "0.32.0", folder(tmp_path, "plain")) as plain,
        recipes.vllm(DRAFTING, "0.32.0", folder(tmp_path, "drafting")) as drafting,
    ):
        against = ("--url", drafting.url, "--control", f"plain={plain.url}")
        code, told, said = ctxfuzz(tmp_path, "capacity", *against)
        assert code == 0, said
        assert (told["pool"]["tokens"], round(told["requests"][-1]["requests"], 2)) == logged(drafting)
        assert told["controls"][0]["pool"]["tokens"] == logged(plain)[0]
        assert told["controls"][0]["share"] < -0.2
        code, told, said = ctxfuzz(tmp_path, "same", *against, "--lengths", "64,3000", "--content", "words,needle")
    assert (code, told["verdict"]) == (0, "same"), said
    assert [(cell["by"], cell["compared"]) for cell in told["cells"]] == [("ids", 128)] * 4


def test_of_a_sliding_window_vllm_counts_requests_of_the_full_window(tmp_path: Path) -> None:
    with recipes.vllm(WINDOWED, "0.32.0", folder(tmp_path, "windowed")) as engine:
        code, told, said = ctxfuzz(tmp_path, "capacity", "--url", engine.url)
        pool, held = logged(engine)
    assert code == 0, said
    assert told["pool"]["tokens"] == pool
    assert {round(row["at_least"], 2) for row in told["requests"]} == {held}
    assert "blocks x block size" in told["warnings"][0]


def test_llama_cpp_with_a_lookup_drafter_says_the_same_and_another_model_does_not(tmp_path: Path) -> None:
    if importlib.util.find_spec("gguf") is None:
        pytest.skip("there is no gguf to write a model with: install the dependency group `engines`")
    from tests.engines.tiny_gguf import write_tiny_model  # noqa: PLC0415  (gguf is an engine's)

    write_tiny_model(tmp_path / "other.gguf", seed=8)
    lookup, another = ("-c", "8192", "--spec-type", "ngram-simple"), ("-c", "8192", "-m", str(tmp_path / "other.gguf"))
    with (
        recipes.llamacpp(lookup, folder(tmp_path, "lookup")) as drafting,
        recipes.llamacpp(("-c", "8192"), folder(tmp_path, "plain")) as plain,
        recipes.llamacpp(another, folder(tmp_path, "other")) as other,
    ):
        asked = ("same", "--url", drafting.url, "--lengths", "64,2048", "--content", "repeat,words")
        code, told, said = ctxfuzz(tmp_path, *asked, "--control", f"plain={plain.url}")
        assert (code, told["verdict"]) == (0, "same"), said
        assert {cell["by"] for cell in told["cells"]} == {"text"}
        code, told, said = ctxfuzz(tmp_path, *asked, "--control", f"other={other.url}")
        assert (code, told.get("verdict")) == (1, "different"), (told, said)
        code, told, said = ctxfuzz(tmp_path, "capacity", "--url", plain.url)
    assert (code, told["pool"]["tokens"], told["pool"]["slots"]) == (0, 8192, 1), said

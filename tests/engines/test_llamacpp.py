"""Is the edge of a real llama.cpp server found exactly, through deaths that really happen?

Its lookup drafter proposes the continuation of an earlier match, up to 1,022 tokens at once, and the server asserts
that the batch has room for all of them. A prompt of N + M + 1 = 1,024 tokens is the last that never drafts too much.
"""

from __future__ import annotations

import importlib.util
import signal
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.engines import recipes
from tests.engines.keeping import Engine, ctxfuzz, post

LAST_GOOD = 1024
OUTPUT = 34


@pytest.fixture
def llama(tmp_path: Path) -> Iterator[Engine]:
    """A server with a lookup drafter that is too eager for its batch."""
    if importlib.util.find_spec("gguf") is None:
        pytest.skip("there is no gguf to write a model with: install the dependency group `engines`")
    try:
        recipes.llama_server()
    except LookupError as missing:
        pytest.skip(str(missing))
    with recipes.llamacpp(recipes.L1, tmp_path) as engine:
        yield engine


def repeated(tokens: int) -> dict[str, object]:
    """A prompt that a lookup drafter finds itself in: few ids, in an order that comes again."""
    ids = [300 + (7 * at) % 97 for at in range(tokens)]
    return {"prompt": ids, "max_tokens": OUTPUT, "temperature": 0, "ignore_eos": True, "cache_prompt": False}


def test_the_edge_is_exact_and_both_sides_of_it_are_true(llama: Engine, tmp_path: Path) -> None:
    asked = ("bisect", "--url", llama.url, "--lo", "256", "--hi", "4096", "--content", "repeat")
    watched = ("--output-tokens", str(OUTPUT), "--engine-log", str(llama.log))
    code, found, said = ctxfuzz(tmp_path, *asked, *watched, within_s=240)
    assert (found["last_good"], found["first_bad"]) == (LAST_GOOD, LAST_GOOD + 1), said
    assert (code, found["finding"]) == (0, "death")
    # The drafter's tokens may be left below last_good, where nothing settled that they do not move the edge; and the
    # engine would round up what is no multiple of its step.
    assert found["recommended_max_model_len"] in {LAST_GOOD, LAST_GOOD - 256}
    assert found["deaths"] == llama.deaths >= 2
    assert set(llama.exits) == {-signal.SIGABRT}
    assert ["GGML_ASSERT" in words for words in found["death_signatures"]] == [True]

    assert post(llama.url, repeated(LAST_GOOD)).status_code == 200
    with pytest.raises(httpx.TransportError):
        post(llama.url, repeated(LAST_GOOD + 1))

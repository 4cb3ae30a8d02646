"""Are the figures of a measurement those that a real llama.cpp server logs for the very same requests?

It is watched while it decodes: if health polls or scrapes disturbed it, or our clock were off, the two would part.
"""

from __future__ import annotations

import importlib.util
import re
import statistics
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engines import recipes
from tests.engines.keeping import Engine, ctxfuzz

OUTPUT = 256
LOGGED = re.compile(rf" eval time = .*/\s+{OUTPUT} tokens .*,\s+([\d.]+) tokens per second")
LOOKUP = (*recipes.LOOKUP[:4], "--spec-ngram-simple-size-m", "8")


@pytest.fixture(params=[(), LOOKUP], ids=["no drafter", "lookup drafter"])
def llama(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    if importlib.util.find_spec("gguf") is None:
        pytest.skip("there is no gguf to write a model with: install the dependency group `engines`")
    try:
        recipes.llama_server()
    except LookupError as missing:
        pytest.skip(str(missing))
    with recipes.llamacpp(("-c", "4096", "-t", "1", *request.param), tmp_path) as engine:
        yield engine


def test_figures_are_the_engines_own_also_on_a_busy_machine(llama: Engine, tmp_path: Path) -> None:
    asked = ("--lengths", "2000", "--content", "repeat", "--repeats", "2", "--output-tokens", str(OUTPUT))
    code, told, said = ctxfuzz(tmp_path, "speed", "--url", llama.url, *asked)
    assert (code, told["finding"]) == (0, "none"), said
    (cell,) = told["cells"]
    (arm,) = cell["arms"]
    own = [float(found) for found in LOGGED.findall(llama.log.read_text(errors="replace"))][-len(arm["figures"]) :]
    apart = [figure / logged for figure, logged in zip(arm["figures"], own, strict=True)]
    low, middle, high = statistics.quantiles(apart)  # what scatters is the machine's doing, what all share is ours
    assert middle == pytest.approx(1, abs=0.02 + high - low), list(zip(arm["figures"], own, strict=True))
    drafting = llama.log.read_text(errors="replace").count("draft acceptance")
    assert (arm["drafts"] is not None and arm["drafts"] > 0) == (drafting > 0)
    assert arm["dead_drafter"] is None

"""Is the acceptance of a probe what the engine itself counted? vLLM logs its own figures every ten seconds."""

from __future__ import annotations

import re
from collections.abc import Iterator

import anyio
import pytest

from fuzzer.model import Baseline, Outcome, ProbeSpec, Role
from fuzzer.standing import Standing
from fuzzer.watch import scrape
from targets.scrape import DraftCounts
from tests.engines import recipes
from tests.engines.holding import held
from tests.engines.keeping import Engine

pytestmark = [pytest.mark.engine, pytest.mark.anyio]

QUIET = next(recipe for recipe in recipes.VLLM_RECIPES if recipe.name == "V5")
FIGURES = re.compile(r"SpecDecoding metrics:.*?Accepted: (\d+) tokens, Drafted: (\d+) tokens")
LOG_INTERVAL_S = 10.0


@pytest.fixture(scope="module")
def vllm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """A drafter with the target's own weights, which falls silent past its positions."""
    with recipes.vllm(QUIET, "0.32.0", tmp_path_factory.mktemp("engine")) as engine:
        yield engine


def asked(length: int) -> ProbeSpec:
    return ProbeSpec(length, 41, Role.SEARCH, "acceptance")


async def test_a_probes_acceptance_is_the_engines_own_and_its_silence_is_seen(vllm: Engine) -> None:
    async with held(vllm) as subject:
        seen = (await subject.inspection()).drafter
        short, fine = await subject.probe(asked(512))
        usual = short.draft.mean_acceptance_length if short.draft else None
        standing = Standing(baselines=((("ids", "words"), Baseline(mean_acceptance_length=usual)),))
        _, silent = await subject.probe(asked(3_000), standing=standing)
        counted = await scrape(subject.rig.target)
        assert counted is not None
        assert counted.draft is not None
        await logged(vllm, counted.draft)

    assert (seen.method, seen.tokens) == ("learned", 3), seen
    assert fine.outcome is Outcome.PASS, fine
    assert short.draft is not None
    assert (usual, short.draft.tokens_per_draft) == (4.0, 3.0), "the drafter has the target's weights: all is accepted"
    assert list(short.draft.accepted_per_position) == [10, 10, 10]
    assert silent.outcome is Outcome.DEGRADED, silent


async def logged(engine: Engine, counted: DraftCounts) -> None:
    """Return when the engine's log has told of all that its counters counted."""
    with anyio.fail_after(4 * LOG_INTERVAL_S):
        while figures(engine) != (counted.accepted_tokens, counted.draft_tokens):  # noqa: ASYNC110  (a file)
            await anyio.sleep(0.5)


def figures(engine: Engine) -> tuple[int, int]:
    """Accepted and drafted tokens of all that the engine has logged."""
    lines = [match.groups() for match in FIGURES.finditer(engine.log.read_text(errors="replace"))]
    return sum(int(accepted) for accepted, _ in lines), sum(int(drafted) for _, drafted in lines)

"""What does `transformers serve` owe? Text and chat only: no ids, no metrics, no tokenizer, no limit that it names."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from fuzzer.lifetime.revival import revive
from fuzzer.model import Outcome, ProbeSpec, Role
from targets.base import Mode
from tests.engines import recipes
from tests.engines.holding import Once, held
from tests.engines.keeping import Engine
from tests.engines.recipes import Model, Recipe

pytestmark = [pytest.mark.engine, pytest.mark.anyio]

PLAIN = Recipe("plain", Model("llama", 8192), (), (), "none", 0, 0)


@pytest.fixture(scope="module")
def serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with recipes.transformers(PLAIN, tmp_path_factory.mktemp("engine")) as engine:
        yield engine


def model(serve: Engine) -> str:
    return str(serve.folder / "target")


def asked(length: int, output_tokens: int = 8, mode: Mode = "text", *, stream: bool = True) -> ProbeSpec:
    return ProbeSpec(length, output_tokens, Role.SEARCH, "the contract", mode=mode, stream=stream)


async def test_it_is_recognised_by_what_it_lacks(serve: Engine) -> None:
    async with held(serve, model=model(serve)) as subject:
        assert subject.survey.engine == "transformers"
        assert not subject.survey.takes_ids
        assert not subject.survey.has_metrics
        assert subject.survey.limit is None


@pytest.mark.parametrize("stream", [True, False])
async def test_a_text_is_counted_as_it_was_meant(serve: Engine, stream: bool) -> None:
    async with held(serve, model=model(serve)) as subject:
        seen, verdict = await subject.probe(asked(700, stream=stream))
    assert verdict.outcome is Outcome.PASS, verdict
    assert seen.reply.usage.prompt_tokens == 700


async def test_a_server_that_is_killed_in_flight_died_and_comes_back(serve: Engine) -> None:
    deaths = serve.deaths
    async with held(serve, model=model(serve)) as subject:
        killed = Once(lambda: os.kill(serve.pid, signal.SIGKILL))
        _, verdict = await subject.probe(asked(64, 4_000), killed.at("decode"))
        assert (verdict.outcome, verdict.deaths) == (Outcome.DEATH, 1), verdict
        assert (await revive(subject.rig, asked(64), "1", lambda _took, _words: None)).came_back
    assert killed.done
    assert serve.deaths == deaths + 1


async def test_a_stopped_server_hangs_and_did_not_die(serve: Engine) -> None:
    deaths, process = serve.deaths, serve.pid
    async with held(serve, timeout_s=6.0, model=model(serve)) as subject:
        stopped = Once(lambda: os.kill(process, signal.SIGSTOP))
        try:
            _, verdict = await subject.probe(asked(64, 4_000), stopped.at("decode"))
        finally:
            os.kill(process, signal.SIGCONT)
    assert (verdict.outcome, verdict.deaths) == (Outcome.HANG, 0), verdict
    assert serve.deaths == deaths

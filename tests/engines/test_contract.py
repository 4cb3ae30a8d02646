"""Does each real engine behave as its dialect says, and does each of its deaths, hangs and refusals get its verdict?"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from fuzzer.lifetime.revival import revive
from fuzzer.model import Outcome, ProbeSpec, Role
from targets.base import Mode
from tests.engines import recipes
from tests.engines.holding import Once, held
from tests.engines.keeping import Engine

pytestmark = [pytest.mark.engine, pytest.mark.anyio]

LIMIT = 2048
LONG = 1_900  # output tokens: long enough to be killed in


@dataclass(frozen=True, slots=True)
class Contract:
    """What an engine owes. `clamps`: prompt + output over the limit is cut in silence, else refused."""

    name: str
    dialect: str
    start: Callable[[Path], AbstractContextManager[Engine]]
    version: str
    drafter: str
    clamps: bool = True


CONTRACTS = (
    Contract("llama.cpp", "llamacpp", partial(recipes.llamacpp, recipes.PLAIN_LLAMACPP), "b", "unknown"),
    Contract("vllm-0.32.0", "vllm", partial(recipes.vllm, recipes.PLAIN_VLLM, "0.32.0"), "0.32.0", "none"),
    Contract(
        "vllm-0.28.0", "vllm", partial(recipes.vllm, recipes.PLAIN_VLLM, "0.28.0"), "0.28.0", "none", clamps=False
    ),
)


@pytest.fixture(scope="module", params=CONTRACTS, ids=lambda one: one.name)
def owed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Contract, Engine]]:
    contract: Contract = request.param
    with contract.start(tmp_path_factory.mktemp("engine")) as engine:
        yield contract, engine


def asked(length: int, output_tokens: int = 8, mode: Mode = "ids", *, stream: bool = True) -> ProbeSpec:
    return ProbeSpec(length, output_tokens, Role.SEARCH, "the contract", mode=mode, stream=stream)


async def test_it_is_recognised_with_all_that_it_says_of_itself(owed: tuple[Contract, Engine]) -> None:
    contract, engine = owed
    async with held(engine) as subject:
        seen = await subject.inspection()
    assert (seen.engine, seen.limit, seen.disagreements) == (contract.dialect, LIMIT, ())
    assert (seen.version or "").startswith(contract.version)
    assert (seen.drafter.method, seen.prefix_cache) == (contract.drafter, True)
    assert (seen.metrics, seen.tokenize, seen.replicas, seen.traffic) == (True, True, 1, None)
    assert set(seen.takes) == {"ids", "text", "chat"}
    assert (seen.adds["ids"], seen.adds["text"], seen.adds["chat"] > 0) == (0, 0, True)


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("mode", ["ids", "text", "chat"])
async def test_a_prompt_is_counted_as_it_was_meant(owed: tuple[Contract, Engine], mode: Mode, stream: bool) -> None:
    async with held(owed[1]) as subject:
        seen, verdict = await subject.probe(asked(700, mode=mode, stream=stream))
        template = (await subject.inspection()).adds[mode] if mode == "chat" else 0
    assert verdict.outcome is Outcome.PASS, verdict
    assert (seen.reply.usage.prompt_tokens, seen.reply.usage.completion_tokens) == (700 + template, 8)


async def test_the_largest_prompt_passes_and_longer_ones_are_refused_for_their_length(
    owed: tuple[Contract, Engine],
) -> None:
    async with held(owed[1]) as subject:
        _, largest = await subject.probe(asked(LIMIT - 1, 1))
        beyond = [
            await subject.probe(asked(length, 1, stream=stream))
            for length in (LIMIT, LIMIT + 1)
            for stream in (True, False)
        ]
    assert largest.outcome is Outcome.PASS, largest
    assert [verdict.outcome for _, verdict in beyond] == [Outcome.REJECTED] * 4, beyond


async def test_prompt_and_output_over_the_limit_are_cut_in_silence_or_refused(owed: tuple[Contract, Engine]) -> None:
    contract, engine = owed
    async with held(engine) as subject:
        _, verdict = await subject.probe(asked(LIMIT - 10, 32))
    expected = (Outcome.PASS, True) if contract.clamps else (Outcome.REJECTED, False)
    assert (verdict.outcome, verdict.clamped) == expected, verdict


@pytest.mark.parametrize("stream", [True, False])
async def test_an_engine_that_is_killed_in_flight_died_and_comes_back(
    owed: tuple[Contract, Engine], stream: bool
) -> None:
    engine = owed[1]
    deaths = engine.deaths
    async with held(engine) as subject:
        killed = Once(lambda: os.kill(engine_process(engine), signal.SIGKILL))
        _, verdict = await subject.probe(asked(64, LONG, stream=stream), killed.at("decode" if stream else "prefill"))
        assert (verdict.outcome, verdict.deaths, verdict.blames) == (Outcome.DEATH, 1, "this"), verdict
        assert (await revive(subject.rig, asked(64), "1", lambda _took, _words: None)).came_back
        assert (await subject.probe(asked(64)))[1].outcome is Outcome.PASS
    assert killed.done
    assert engine.deaths == deaths + 1


async def test_an_engine_that_died_while_nobody_looked_is_never_a_pass(owed: tuple[Contract, Engine]) -> None:
    engine = owed[1]
    deaths = engine.deaths
    async with held(engine) as subject:
        os.kill(engine_process(engine), signal.SIGKILL)
        _, verdict = await subject.probe(asked(64))
        assert verdict.outcome in {Outcome.DEATH, Outcome.ABANDONED}, verdict
        assert (await revive(subject.rig, asked(64), "1", lambda _took, _words: None)).came_back
    assert engine.deaths == deaths + 1


async def test_a_stopped_engine_hangs_and_did_not_die(owed: tuple[Contract, Engine]) -> None:
    engine = owed[1]
    deaths, process = engine.deaths, engine_process(engine)
    async with held(engine, timeout_s=4.0) as subject:
        stopped = Once(lambda: os.kill(process, signal.SIGSTOP))
        try:
            _, verdict = await subject.probe(asked(64, LONG), stopped.at("decode"))
        finally:
            os.kill(process, signal.SIGCONT)
        assert (verdict.outcome, verdict.deaths) == (Outcome.HANG, 0), verdict
        assert (await revive(subject.rig, asked(64), "1", lambda _took, _words: None)).came_back
    assert engine.deaths == deaths


def engine_process(engine: Engine) -> int:
    """The process that computes: vLLM's engine is a child of the one that listens, llama.cpp's is that one itself."""
    assert sys.platform == "linux"
    names = {child: Path(f"/proc/{child}/cmdline").read_text() for child in descendants(engine.pid)}
    return next((child for child, name in names.items() if "EngineCore" in name), engine.pid)


def descendants(process: int) -> Iterator[int]:
    for child in map(int, Path(f"/proc/{process}/task/{process}/children").read_text().split()):
        yield child
        yield from descendants(child)

"""Do text and chat live through deaths, where only the target can count what is sent? And is a corpus what is sent?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import targets.sim
from fuzzer.cli import questions, session
from fuzzer.cli.flags import CommonFlags
from fuzzer.finding import FindingKind
from targets.base import Mode
from targets.sim.world import World
from tests.integration.playing import play

pytestmark = pytest.mark.anyio

WORLD = World.from_dict(
    {
        "bos": True,
        "chat_extra": 12,
        "limit": {"tokens": 8192},
        "restart": {"delay_s": 0.5, "loading_s": 0.3},
        "rules": [{"when": "P > 2048"}],
    }
)


@pytest.mark.parametrize("mode", ["text", "chat"])
async def test_the_edge_is_exact_although_the_tokenizer_dies_with_the_engine(mode: Mode, tmp_path: Path) -> None:
    async with targets.sim.running(WORLD) as sim:
        flags = CommonFlags(url=sim.url, db=tmp_path / "runs.db", seed=1, mode=mode)
        result = await play(flags, lo=1000, hi=3000, attribute_axis=False)
        finding = result.finding
        assert (finding.kind, finding.last_good, finding.first_bad) == (FindingKind.DEATH, 2048, 2049), finding
        assert result.run_row.deaths == sim.deaths >= 2


async def test_an_engine_that_dies_between_two_texts_is_waited_for(tmp_path: Path) -> None:
    """After its answer: the next prompt finds nobody who tokenizes."""
    world = World.from_dict(
        {"restart": {"delay_s": 0.8}, "rules": [{"when": "P > 2048", "at": "answer"}], "limit": {"tokens": 8192}}
    )
    async with targets.sim.running(world) as sim:
        flags = CommonFlags(url=sim.url, db=tmp_path / "runs.db", seed=1, mode="text")
        result = await play(flags, lo=1000, hi=3000, attribute_axis=False)
        assert (result.finding.last_good, result.finding.first_bad) == (2048, 2049), result.finding
        assert result.run_row.deaths == sim.deaths


@pytest.mark.parametrize("ask", [questions.to_sweep, questions.to_same])
async def test_a_corpus_takes_the_place_of_the_contents(ask: Any, tmp_path: Path) -> None:
    corpus = f"corpus:{tmp_path / 'corpus.txt'}"
    more = {"keep_going": False} if ask is questions.to_sweep else {}
    async with targets.sim.running(WORLD) as sim:
        flags = CommonFlags(url=sim.url, db=tmp_path / "runs.db", content=corpus)
        async with session.opened(flags, sample_s=0.1) as opened:
            assert ask(opened, (100, 200), ("words",), **more).contents == (corpus,)

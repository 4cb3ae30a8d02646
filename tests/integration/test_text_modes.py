"""Do text and chat live through deaths, where only the target can count what is sent? And is a corpus what is sent?"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import targets.sim
from fuzzer.cli import opening, questions, session
from fuzzer.cli.common import CommonFlags
from fuzzer.cli.exits import Exit, exit_of
from fuzzer.finding import FindingKind, Halt
from fuzzer.lifetime.canary import sing
from fuzzer.model import Corroboration
from fuzzer.prompts import PromptSource
from fuzzer.prompts.recipe import Recipe
from fuzzer.store import History
from targets.base import Fault, Mode, Reply
from targets.detect import connect
from targets.sim.world import World
from tests.integration.playing import play
from tests.integration.raw import Reader, Writer, chunk, request_of, reset, serving, whole
from tests.integration.staging import PAGES, SSE_HEAD, body, events, page, page_not_found, staged

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


@dataclass
class Brittle:
    """A server that a text of more than `most` words kills when it is to be tokenized; or it only hangs up on it.

    `tells`: its metrics say which life it is in.
    """

    most: int = 3000
    dies: bool = True
    tells: bool = False
    away_s: float = 0.5
    deaths: int = 0
    answers: int = 0
    lost: list[int] = field(default_factory=list)
    back_at: float = 0.0

    async def __call__(self, reader: Reader, writer: Writer) -> None:
        head, content = await request_of(reader)
        path = head.split(b" ")[1].decode()
        if time.monotonic() < self.back_at:
            return reset(writer)
        if path == "/tokenize":
            words = json.loads(content)["prompt"].split()
            if len(words) > self.most:
                self._lose(len(words))
                return reset(writer)
            writer.write(page({"tokens": [1000 + sum(word.encode()) % 29_000 for word in words] or [7]}))
        elif path == "/metrics" and self.tells:
            counted = f"vllm:request_success_total {self.answers}\n"
            writer.write(whole(200, f"process_start_time_seconds {1000 + self.deaths}\n{counted}".encode()))
        elif path == "/v1/completions":
            asked = json.loads(content)
            self.answers += 1
            number = len(asked["prompt"].split() if isinstance(asked["prompt"], str) else asked["prompt"])
            if asked.get("stream"):
                writer.write(SSE_HEAD + b"".join(map(chunk, events(asked, number))) + b"0\r\n\r\n")
            else:
                writer.write(page(body(asked, prompt_tokens=number)))
        else:
            writer.write(PAGES.get(path, page_not_found()))
        await writer.drain()
        return None

    def _lose(self, words: int) -> None:
        self.lost.append(words)
        if self.dies:
            self.deaths, self.answers = self.deaths + 1, 0
            self.back_at = time.monotonic() + self.away_s


async def bisected(server: Brittle, folder: Path, **more: Any) -> session.Result:
    async with serving(server) as port:
        flags = CommonFlags(url=f"http://127.0.0.1:{port}", db=folder / "runs.db", seed=1, mode="text", **more)
        return await play(flags, lo=1000, hi=4000, attribute_axis=False)


@pytest.mark.parametrize("tells", [False, True])
async def test_a_text_that_kills_in_tokenisation_is_asked_twice_and_no_more(tells: bool, tmp_path: Path) -> None:
    server = Brittle(tells=tells)
    result = await bisected(server, tmp_path)
    finding = result.finding
    assert (finding.kind, finding.halt, exit_of(finding)) == (FindingKind.INCONCLUSIVE, Halt.PROXY, Exit.INCONCLUSIVE)
    assert "kill the target in tokenisation, before any engine reads them: pass --tokenizer" in finding.reason
    assert finding.last_good is not None
    assert 1000 <= finding.last_good <= server.most
    assert finding.first_bad is None
    assert result.run_row.deaths == server.deaths == len(server.lost) == 2
    with History.open(tmp_path / "runs.db") as history:
        deaths = history.deaths(result.run_row.run)
    assert [death.seq for death in deaths] == [None, None]
    assert {death.corroboration for death in deaths} == {Corroboration.PROVEN if tells else Corroboration.PRESUMED}


async def test_a_text_after_which_the_engine_stays_away_is_named(tmp_path: Path) -> None:
    server = Brittle(away_s=60.0)
    result = await bisected(server, tmp_path, revival_timeout_s=1.0)
    assert (result.finding.halt, result.run_row.deaths, server.deaths) == (Halt.LOST, 1, 1)
    assert "(the target was lost while it tokenized" in result.finding.reason


async def test_a_death_in_tokenisation_is_of_max_deaths(tmp_path: Path) -> None:
    server = Brittle()
    result = await bisected(server, tmp_path, max_deaths=1)
    assert (result.finding.halt, server.deaths, result.run_row.deaths) == (Halt.DEATHS, 1, 1)


async def test_a_tokenizer_that_only_hangs_up_on_long_texts_is_no_death(tmp_path: Path) -> None:
    server = Brittle(dies=False)
    result = await bisected(server, tmp_path)
    assert "the target does not tokenize texts of" in result.finding.reason
    assert (result.finding.halt, result.run_row.deaths, len(server.lost)) == (Halt.PROXY, 0, 2)


async def test_a_canary_that_nobody_tokenizes_fails_as_if_it_had_been_sent() -> None:
    alive = True

    async def mortal(text: str) -> list[int] | Reply:
        ids = [1000 + sum(word.encode()) % 29_000 for word in text.split()]
        return ids if alive else Reply(sent=True, fault=Fault.RESET)

    async with staged() as stage:
        target, _ = await connect(stage.url)
        source = await PromptSource.open(tokenize=mortal)
        alive = False
        canary = await sing(target, source, Recipe("text", 16), 5.0)
        await target.aclose()
    assert (canary.ok, canary.fault, stage.lengths) == (False, "reset", [])


@pytest.mark.parametrize("ask", [questions.to_sweep, questions.to_same])
async def test_a_corpus_takes_the_place_of_the_contents(ask: Any, tmp_path: Path) -> None:
    corpus = f"corpus:{tmp_path / 'corpus.txt'}"
    more = {"keep_going": False} if ask is questions.to_sweep else {}
    async with targets.sim.running(WORLD) as sim:
        flags = CommonFlags(url=sim.url, db=tmp_path / "runs.db", content=corpus)
        async with opening.opened(flags, sample_s=0.1) as opened:
            assert ask(opened, (100, 200), ("words",), **more).contents == (corpus,)

"""Is an engine that comes back let do so, helped when it needs that, and called back only once it serves?"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest

from fuzzer.cli import opening
from fuzzer.cli.common import CommonFlags
from fuzzer.cli.rigging import rig_of
from fuzzer.events import Event, Note
from fuzzer.finding import FindingKind
from fuzzer.lifetime import comeback, relapse, revival
from fuzzer.lifetime.relapse import Vigil
from fuzzer.lifetime.revival import Revival, revive
from fuzzer.model import ProbeSpec, Role
from tests.integration.playing import play
from tests.integration.raw import Reader, Writer, request_of, reset, serving, whole
from tests.integration.staging import QUICK, Stage, page, staged, well

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]
SPEC = ProbeSpec(300, 8, Role.SEARCH, "")
EJECTED = whole(503, b"no healthy upstream", "server: envoy")
RATE = page({"error": {"message": "Rate limit reached for requests per minute"}}, 429)
NOBODY = page({"error": {"message": "Bad Gateway"}}, 502)


async def waited_for(
    stage: Stage, folder: Path, patience_s: float | None = None, stop: anyio.Event | None = None, **flags: Any
) -> Revival:
    given = {"url": stage.url, "db": folder / "runs.db", "revival_timeout_s": 20.0, **flags}
    async with opening.opened(CommonFlags(**given), pace=QUICK, sample_s=0.05) as opened:
        rig = await rig_of(opened, stop or anyio.Event())
        return await revive(rig, SPEC, "test", lambda _s, _words: None, Vigil(None, ended=True), patience_s=patience_s)


@dataclass(slots=True)
class Ejected:
    """One canary sings; the next ones get `says`, until so many were turned away (None: for ever)."""

    says: bytes
    until: int | None
    asked: int = 0

    async def __call__(self, writer: Writer, asked: Mapping[str, Any]) -> None:
        self.asked += 1
        if self.asked == 1 or (self.until is not None and self.asked > 1 + self.until):
            await well(writer, asked)
        else:
            writer.write(self.says)


@pytest.mark.parametrize(
    ("says", "until", "back"),
    [
        (EJECTED, 6, True),
        (EJECTED, None, False),
        (RATE, None, True),  # a door that is shut says nothing of who sang behind it
    ],
)
async def test_one_canary_is_not_back_where_the_next_ones_fail(
    says: bytes, until: int | None, back: bool, tmp_path: Path
) -> None:
    act = Ejected(says, until)
    async with staged(act, long=1) as stage:
        ended = await waited_for(stage, tmp_path, revival_timeout_s=10.0 if back else 2.0)
    assert ended.came_back == back
    assert until is None or act.asked >= 1 + until + 2


@dataclass(slots=True)
class Lazy:
    """Loads its model for whoever asks first, and gives that up with him."""

    load_s: float
    stage: Stage = field(default_factory=Stage)
    is_loaded: bool = False
    given_up: int = 0
    asked: anyio.Event = field(default_factory=anyio.Event)

    async def __call__(self, reader: Reader, writer: Writer) -> None:
        head, content = await request_of(reader)
        if b"/v1/completions" in head and not self.is_loaded:
            self.asked.set()
            with anyio.move_on_after(self.load_s) as load:
                await reader.read(1)
            if not load.cancelled_caught:
                self.given_up += 1
                return
            self.is_loaded = True
        request = asyncio.StreamReader()
        request.feed_data(head + content)
        await self.stage(request, writer)


async def test_a_load_that_ends_with_who_asked_for_it_is_given_more_time_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(revival, "FIRST_CANARY_S", 0.3)
    lazy = Lazy(load_s=0.8)
    async with serving(lazy) as port:
        lazy.stage.url = f"http://127.0.0.1:{port}"
        ended = await waited_for(lazy.stage, tmp_path)
    assert (ended.came_back, lazy.given_up) == (True, 2)


async def test_an_interrupt_is_heard_while_a_canary_waits_for_a_load(tmp_path: Path) -> None:
    lazy, stop = Lazy(load_s=60.0), anyio.Event()
    async with serving(lazy) as port, anyio.create_task_group() as tasks:
        lazy.stage.url = f"http://127.0.0.1:{port}"

        async def interrupt() -> None:
            await lazy.asked.wait()
            stop.set()

        tasks.start_soon(interrupt)
        with anyio.fail_after(20):
            ended = await waited_for(lazy.stage, tmp_path, stop=stop)
    assert not ended.came_back


@dataclass(slots=True)
class Helped:
    """Lives as often as it was `helped`, or from `back_at` on by itself. The `frail` first lives die of a canary."""

    helped: Path
    frail: int = 0
    back_at: float = float("inf")
    lost: int = 0

    @property
    def life(self) -> int:
        by_hand = len(self.helped.read_text().split()) if self.helped.exists() else 0
        return by_hand + (time.monotonic() >= self.back_at)

    async def say(self, writer: Writer, _asked: Mapping[str, Any]) -> None:
        told = f"process_start_time_seconds {1000 + self.life}\nvllm:request_success_total 0\n"
        writer.write(whole(200, told.encode()) if self.life > self.lost else NOBODY)

    async def __call__(self, writer: Writer, asked: Mapping[str, Any]) -> None:
        if self.life <= self.lost:
            writer.write(NOBODY)
        elif self.life <= self.frail:
            self.lost = self.life
            reset(writer)
        else:
            await well(writer, asked)

    async def come_back(self, folder: Path, patience_s: float | None = None) -> Revival:
        async with staged(self, pages={"/health": self.say, "/metrics": self.say}, long=1) as stage:
            return await waited_for(stage, folder, patience_s, on_death=f"echo helped >> '{self.helped}'")


async def test_what_dies_as_it_revives_is_helped_back_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relapse, "FIRST_PATIENCE_S", 0.05)
    engine = Helped(tmp_path / "helped", frail=2)
    ended = await engine.come_back(tmp_path)
    assert (ended.came_back, ended.relapses, engine.life) == (True, 2, 3)


@pytest.mark.parametrize(
    ("patience_s", "load_s", "lives"),
    [
        (5.0, 0.8, 1),  # on its way: it is not started anew
        (0.5, None, 1),  # nobody starts it but us
        (0.0, None, 1),
        (None, 0.0, 2),  # it is known to have died: nobody looks first
    ],
)
async def test_what_is_on_its_way_is_not_helped_again(
    patience_s: float | None, load_s: float | None, lives: int, tmp_path: Path
) -> None:
    engine = Helped(tmp_path / "helped")
    if load_s is not None:
        engine.back_at = time.monotonic() + load_s
    ended = await engine.come_back(tmp_path, patience_s)
    assert (ended.came_back, ended.relapses, engine.life) == (True, 0, lives)


def metrics_page(start: float, answers: int) -> bytes:
    told = f"process_start_time_seconds {start}\nvllm:request_success_total {answers}\n"
    return whole(200, told.encode())


@dataclass(slots=True)
class PutAway:
    """Turns the first long prompt away for two seconds, and is another process at the end of them, as it was idle."""

    turned_at: float = float("inf")
    answers: int = 0

    async def metrics(self, writer: Writer, _asked: Mapping[str, Any]) -> None:
        start = 1000 + 60 * (time.monotonic() > self.turned_at + 1.9)
        writer.write(metrics_page(start, self.answers))

    async def __call__(self, writer: Writer, asked: Mapping[str, Any]) -> None:
        if len(asked["prompt"]) > 900 and self.turned_at == float("inf"):
            self.turned_at = time.monotonic()
            writer.write(page({"error": {"message": "Rate limit reached"}}, 429, "retry-after: 2"))
        else:
            self.answers += 1
            await well(writer, asked)


async def test_an_engine_that_is_put_away_while_we_wait_died_of_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comeback, "LONG_WAIT_S", 1.0)
    engine, heard = PutAway(), list[Event]()
    async with staged(engine, pages={"/metrics": engine.metrics}, long=1) as stage:
        flags = CommonFlags(url=stage.url, db=tmp_path / "runs.db", seed=1)
        result = await play(flags, heard, lo=880, hi=920, confidence=0.5)
    assert (result.finding.kind, result.run_row.deaths) == (FindingKind.NONE, 0), result.finding
    assert any("while we waited" in event.text for event in heard if isinstance(event, Note))


@pytest.mark.parametrize(
    ("says", "health", "helped"), [(RATE, 200, False), (RATE, 429, False), (RATE, 503, True), (NOBODY, 200, True)]
)
async def test_who_is_healthy_behind_a_limit_is_not_restarted(
    says: bytes, health: int, helped: bool, tmp_path: Path
) -> None:
    act, mark = Ejected(says, None, asked=1), tmp_path / "helped"
    async with staged(act, pages={"/health": whole(health, b"")}, long=1) as stage:
        ended = await waited_for(stage, tmp_path, 0.0, revival_timeout_s=0.5, on_death=f"echo helped >> '{mark}'")
    assert (ended.came_back, mark.exists()) == (False, helped)


@dataclass(slots=True)
class Doomed:
    """Dies of the first long prompt; the life that is started then dies by itself, once nobody asks any more."""

    died_at: float = float("inf")
    answers: int = 0

    async def metrics(self, writer: Writer, _asked: Mapping[str, Any]) -> None:
        start = 1000 + 60 * (self.died_at < float("inf")) + 60 * (time.monotonic() > self.died_at + 1.8)
        writer.write(metrics_page(start, self.answers))

    async def __call__(self, writer: Writer, asked: Mapping[str, Any]) -> None:
        if len(asked["prompt"]) > 900 and self.died_at == float("inf"):
            self.died_at, self.answers = time.monotonic(), 0
            reset(writer)
        else:
            self.answers += 1
            await well(writer, asked)


async def test_what_dies_in_the_spacing_of_deaths_is_counted_as_nobodys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comeback, "LONG_WAIT_S", 0.5)
    engine = Doomed()
    async with staged(engine, pages={"/metrics": engine.metrics}, long=1) as stage:
        flags = CommonFlags(url=stage.url, db=tmp_path / "runs.db", seed=1, max_deaths=2, death_spacing_s=2.5)
        result = await play(flags, lo=880, hi=920, confidence=0.5)
    assert result.run_row.deaths == 2, result.finding

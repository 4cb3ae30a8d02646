"""What if the engine dies, is busy, or is left alone, before the first probe?"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from fuzzer.before.prelude import Prelude
from fuzzer.store import History, Store, audit
from targets import patience
from targets.base import Fault, Reply
from targets.detect import connect
from targets.errors import TargetBusy
from tests import forked
from tests.integration.raw import Handler, Reader, Writer, request_of, serving, whole
from tests.integration.staging import PAGES, Stage, page, page_not_found, staged

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]

ROOT = Path(__file__).parents[2]
BUSY = page({"error": {"message": "rate limit"}}, 429)


CTXFUZZ = [sys.executable, "-m", "fuzzer.cli"]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "OPENAI_API_KEY": ""}


async def ctxfuzz(folder: Path, *args: str) -> subprocess.CompletedProcess[bytes]:
    return await forked.run_process([*CTXFUZZ, *args], cwd=folder, env=environment())


class Frail(Stage):
    """Dies, of the first long text that it tokenizes, or else of the first prompt: nobody listens any more."""

    def __init__(self, die: Callable[[], None], *, tokenizes: bool) -> None:
        super().__init__(pages={} if tokenizes else {"/tokenize": page_not_found()}, act=self._lose, long=1)
        self.die = die

    async def _tokenize(self, writer: Writer, text: str) -> None:
        if len(text) < 1_000:
            await super()._tokenize(writer, text)
        else:
            await self._lose(writer, {})

    async def _lose(self, writer: Writer, _asked: Mapping[str, Any]) -> None:
        self.die()
        writer.close()


@asynccontextmanager
async def frail(*, tokenizes: bool, port: int = 0) -> AsyncIterator[int]:
    """Such an engine, for as long as it lives."""
    async with anyio.create_task_group() as tasks:
        ports: list[int] = []
        served = anyio.Event()

        async def serve() -> None:
            with anyio.CancelScope() as life:
                async with serving(Frail(life.cancel, tokenizes=tokenizes), port=port) as at:
                    ports.append(at)
                    served.set()
                    await anyio.sleep_forever()

        tasks.start_soon(serve)
        await served.wait()
        yield ports[0]
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("tokenizes", "of"),
    [(True, "as it tokenized the page of words"), (False, "of a short prompt that was to tell how it counts")],
)
async def test_a_death_before_the_first_probe_is_told_and_on_record(tokenizes: bool, of: str, tmp_path: Path) -> None:
    async with frail(tokenizes=tokenizes) as port:
        ended = await ctxfuzz(
            tmp_path, "bisect", "--url", f"http://127.0.0.1:{port}", "--lo", "100", "--hi", "900", "--json"
        )
    told = json.loads(ended.stdout)
    assert (ended.returncode, told["exit_code"]) == (4, 4), ended.stderr
    assert f"The engine died {of}" in told["error"]
    assert "--tokenizer DIR" in told["error"]
    with History.open(tmp_path / "runs.db") as history:
        run = history.get("last")
        (death,) = history.deaths(run.run)
        assert history.notes(run.run) == [told["error"]]
    assert (run.status, run.probes, run.deaths, death.seq) == ("halted", 0, 1, None)
    assert run.canaries == (0 if tokenizes else 1)
    assert audit(tmp_path / "runs.db").sound
    shown = await ctxfuzz(tmp_path, "show", "last")
    assert f"note: The engine died {of}" in shown.stdout.decode()


async def test_what_killed_before_the_first_probe_is_not_asked_again_past_the_budget(tmp_path: Path) -> None:
    asked = ("--lo", "100", "--hi", "900", "--max-deaths", "1")
    async with frail(tokenizes=True) as port:
        await ctxfuzz(tmp_path, "bisect", "--url", f"http://127.0.0.1:{port}", *asked)
    async with frail(tokenizes=True, port=port):
        ended = await ctxfuzz(tmp_path, "resume", "last", "--json")
    assert (ended.returncode, json.loads(ended.stdout)["exit_code"]) == (3, 3), ended.stderr
    assert b"The engine died 1x before a session's first probe" in ended.stdout
    with History.open(tmp_path / "runs.db") as history:
        run = history.get("last")
    assert (run.status, run.deaths) == ("halted", 1)


class Door(Stage):
    """Answers 429 at some paths, so many times."""

    def __init__(self, times: int, *paths: str) -> None:
        super().__init__()
        self.left = dict.fromkeys(paths, times)
        self.asked: list[str] = []

    async def __call__(self, reader: Reader, writer: Writer) -> None:
        head, content = await request_of(reader)
        path = head.split(b" ")[1].decode()
        self.asked.append(path)
        if self.left.get(path, 0) > 0:
            self.left[path] -= 1
            writer.write(BUSY)
        elif path == "/tokenize":
            await self._tokenize(writer, json.loads(content)["prompt"])
        else:
            writer.write(PAGES.get(path, page_not_found()))
        await writer.drain()


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "FIRST_S", 0.02)
    monkeypatch.setattr(patience, "MOST_S", 0.5)


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("path", ["/v1/models", "/tokenize"])
async def test_a_busy_door_is_knocked_at_again(path: str) -> None:
    """Else a tokenizer that is busy for a moment would be taken for none."""
    door = Door(3, path)
    async with serving(door) as port:
        target, survey = await connect(f"http://127.0.0.1:{port}")
        await target.aclose()
    assert (survey.model, survey.has_tokenize, door.asked.count(path)) == ("m", True, 4)


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("path", ["/v1/models", "/tokenize"])
async def test_one_that_stays_busy_is_left_alone(path: str) -> None:
    door = Door(1_000, path)
    async with serving(door) as port:
        with pytest.raises(TargetBusy, match=r"is busy: it answers 429 .*rate limit"):
            await connect(f"http://127.0.0.1:{port}")
    assert door.asked.count(path) <= 6


def asks_later(seconds: int) -> Handler:
    async def handler(reader: Reader, writer: Writer) -> None:
        await request_of(reader)
        writer.write(page({"error": "later"}, 429, f"retry-after: {seconds}"))
        await writer.drain()

    return handler


async def test_a_busy_target_leaves_with_3_and_one_object(tmp_path: Path) -> None:
    async with serving(asks_later(7_200)) as port:
        ended = await ctxfuzz(tmp_path, "probe", "100", "--url", f"http://127.0.0.1:{port}", "--json")
    told: dict[str, Any] = json.loads(ended.stdout)
    assert (ended.returncode, told["exit_code"]) == (3, 3), ended.stderr
    assert "is busy: it answers 429" in told["error"]


async def test_a_signal_is_heard_while_a_door_is_knocked_at(tmp_path: Path) -> None:
    asked = anyio.Event()
    later = asks_later(50)

    async def handler(reader: Reader, writer: Writer) -> None:
        await later(reader, writer)
        asked.set()

    async with serving(handler) as port:
        words = [*CTXFUZZ, "probe", "100", "--url", f"http://127.0.0.1:{port}"]
        async with await anyio.open_process(words, cwd=tmp_path, env=environment(), stdout=subprocess.DEVNULL) as child:
            await asked.wait()
            child.send_signal(signal.SIGTERM)
            with anyio.fail_after(20):
                assert child.stderr is not None
                said = b"".join([chunk async for chunk in child.stderr]).decode()
                await child.wait()
    assert child.returncode == 130, said
    assert "Interrupted; no run had begun." in said


@pytest.mark.parametrize(("status", "dead"), [(200, False), (429, False), (503, True)])
async def test_health_that_a_door_turns_away_does_not_tell_that_it_died(
    status: int, dead: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deaths: list[object] = []
    monkeypatch.setattr(Store, "death", lambda *_told, **_more: deaths.append(1))
    with Store.open(tmp_path / "runs.db") as store:
        async with staged() as stage:
            target, _ = await connect(stage.url)
            stage.pages = {"/health": whole(status, b"")}
            told = await Prelude(store, "run", target, 0.2, 0.0, None).count_death(Reply(sent=True, fault=Fault.RESET))
            await target.aclose()
    assert (told is not None, bool(deaths)) == (dead, dead)

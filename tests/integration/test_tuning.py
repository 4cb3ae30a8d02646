"""Do prompts fit a target that has no tokenizer to ask?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest

from fuzzer.before.tuning import tune
from fuzzer.cli.common import CommonFlags
from fuzzer.errors import RunStopped
from fuzzer.evidence import Canary
from fuzzer.finding import FindingKind
from fuzzer.model import Settings
from fuzzer.prompts import PromptSource
from fuzzer.rig import Rig
from targets.detect import connect
from targets.sim import running
from targets.sim.world import World
from tests.integration.playing import play
from tests.integration.raw import Handler, Reader, Writer, request_of, serving, whole

if TYPE_CHECKING:
    from pathlib import Path

    from targets.base import Mode

pytestmark = pytest.mark.anyio
EDGE = {"limit": {"tokens": 16_384}, "rules": [{"when": "P > 3000"}], "tokenize": False, "bos": True, "chat_extra": 7}


@pytest.mark.parametrize("mode", ["text", "chat"])
async def test_texts_are_exact_by_the_servers_own_usage(mode: Mode, tmp_path: Path) -> None:
    async with running(World.from_dict(EDGE)) as simulation:
        flags = CommonFlags(url=simulation.url, db=tmp_path / "runs.db", mode=mode, timeout_s=20)
        result = await play(flags, lo=1_000, hi=5_000)
    assert (result.finding.kind, result.finding.last_good, result.finding.first_bad) == (FindingKind.DEATH, 3000, 3001)
    assert all(seen.length == seen.spec.length for seen in result.observations[1:])


@pytest.mark.parametrize(("mode", "lo"), [("text", 64), ("chat", 100), ("chat", 430)])
async def test_what_tells_how_a_server_counts_stays_below_lo(mode: Mode, lo: int, tmp_path: Path) -> None:
    """Whatever is longer than lo kills, in the server's own count, and no death is allowed."""
    async with running(World.from_dict({**EDGE, "rules": [{"when": f"P > {lo}"}]})) as simulation:
        flags = CommonFlags(url=simulation.url, db=tmp_path / "runs.db", mode=mode, timeout_s=20, max_deaths=0)
        result = await play(flags, lo=lo, hi=5_000)
    assert (result.finding.last_good, sum(seen.deaths for seen in result.observations)) == (lo, 0)


@pytest.mark.parametrize(
    ("ground", "max_deaths", "sent"), [(100, 0, 0), (499, 0, 0), (500, 0, 2), (None, 0, 2), (100, 1, 2)]
)
async def test_where_no_death_is_allowed_no_short_prompt_that_is_longer_than_lo_is_counted_again(
    ground: int | None, max_deaths: int, sent: int
) -> None:
    async with running(World.from_dict(EDGE)) as simulation:
        target, _ = await connect(simulation.url)
        rig = Rig(target, await PromptSource.open(), Settings(max_deaths=max_deaths), stop=anyio.Event())
        asked: list[Canary] = []
        told = await rig.recount.of(rig, "ids", "words", ground=ground, deadline_s=20, tell=asked.append)
        await target.aclose()
    assert (len(told), len(asked)) == (sent, sent)


async def test_guessed_ids_that_are_refused_give_way_to_others(tmp_path: Path) -> None:
    """A vocabulary of 1,000 knows none of the first guesses."""
    world = World.from_dict({**EDGE, "vocabulary": 1_000, "bos": False})
    async with running(world) as simulation:
        flags = CommonFlags(url=simulation.url, db=tmp_path / "runs.db", timeout_s=20)
        result = await play(flags, lo=1_000, hi=5_000)
    assert result.finding.last_good == 3000


async def test_a_vocabulary_that_no_guess_fits_asks_for_a_tokenizer() -> None:
    async with running(World.from_dict({**EDGE, "vocabulary": 64})) as simulation:
        target, _ = await connect(simulation.url)
        rig = Rig(target, await PromptSource.open(), Settings(), stop=anyio.Event())
        with pytest.raises(RunStopped, match="--tokenizer DIR"):
            await tune(rig, "ids")
        await target.aclose()


def failing(status: int, body: bytes) -> Handler:
    """A server of one model that answers every generation with this status."""

    async def handler(reader: Reader, writer: Writer) -> None:
        head, _ = await request_of(reader)
        if head.startswith(b"GET /v1/models "):
            answer = whole(200, b'{"data":[{"id":"tiny"}]}', "content-type: application/json", "connection: close")
        else:
            answer = whole(status, body, "content-type: application/json", "connection: close")
        writer.write(answer)
        await writer.drain()

    return handler


@pytest.mark.parametrize(
    ("mode", "status", "body", "said"),
    [
        (
            "text",
            404,
            b'{"detail":"Not Found"}',
            "takes no prompts at /v1/completions (HTTP 404: Not Found): try --mode chat.",
        ),
        ("chat", 405, b"", "takes no prompts at /v1/chat/completions (HTTP 405): try --mode text."),
        ("ids", 404, b"", "takes no prompts at /v1/completions (HTTP 404): try --mode chat."),
        ("text", 500, b'{"error":{"message":"no adapter"}}', "sent as text (HTTP 500: no adapter): see its log"),
        ("text", 200, b'{"choices":[{"text":"a","finish_reason":"length"}]}', "The target tells no usage"),
        ("ids", 422, b'{"error":{"message":"extra"}}', "guesses at its vocabulary (HTTP 422: extra)"),
    ],
)
async def test_a_target_that_takes_no_trial_is_stopped_at_in_its_own_words(
    mode: Mode, status: int, body: bytes, said: str
) -> None:
    async with serving(failing(status, body)) as port:
        target, _ = await connect(f"http://127.0.0.1:{port}", engine="openai")
        rig = Rig(target, await PromptSource.open(), Settings(), stop=anyio.Event())
        with pytest.raises(RunStopped) as stopped:
            await tune(rig, mode)
        await target.aclose()
    assert said in str(stopped.value)

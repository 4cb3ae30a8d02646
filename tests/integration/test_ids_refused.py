"""What becomes of a run where the target looks as if it took token ids, and refuses them?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from fuzzer.cli import opening, questions, session
from fuzzer.cli.common import CommonFlags
from fuzzer.cli.exits import Exit, exit_of
from fuzzer.cli.sending import either_way
from fuzzer.events import Event, Note
from fuzzer.finding import Halt
from fuzzer.model import Outcome
from fuzzer.store import History
from tests.integration.raw import Writer
from tests.integration.staging import QUICK, page, page_not_found, staged, well

if TYPE_CHECKING:
    from pathlib import Path

    from fuzzer.cli.conduct import Ending
    from fuzzer.cli.watching import Listeners

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]

REFUSALS = {
    "vllm-like": page({"object": "error", "message": "prompt must be a string", "code": 400}, 400),
    "pydantic": page({"detail": [{"loc": ["body", "prompt"], "msg": "Input should be a valid string"}]}, 422),
    "gateway": page({"error": {"message": "Invalid type for 'prompt': expected a string", "type": "bad_request"}}, 400),
}


def refusing(answer: bytes) -> Any:
    async def act(writer: Writer, asked: Mapping[str, Any]) -> None:
        if isinstance(asked["prompt"], str):
            await well(writer, {**asked, "prompt": asked["prompt"].split()})
        else:
            writer.write(answer)

    return act


async def probed(url: str, folder: Path, **more: Any) -> tuple[session.Result, list[str]]:
    """What `ctxfuzz probe 300` comes to, and what it notes."""
    flags = CommonFlags(url=url, db=folder / "runs.db", output_tokens=8, timeout_s=20.0, **more)
    heard: list[Event] = []

    async def drive(opened: session.Session, listeners: Listeners, stop: anyio.Event) -> Ending:
        return await opened.run("probe", questions.to_probe(opened, 300), listeners, stop)

    async with opening.opened(flags, pace=QUICK, sample_s=0.05) as opened:
        ending = await either_way(drive)(opened, (heard.append,), anyio.Event())
    assert isinstance(ending, session.Result)
    return ending, [event.text for event in heard if isinstance(event, Note)]


@pytest.mark.parametrize("answer", REFUSALS.values(), ids=REFUSALS)
async def test_prompts_go_as_text_where_nobody_asked_for_ids(answer: bytes, tmp_path: Path) -> None:
    async with staged(refusing(answer), long=1) as stage:
        result, notes = await probed(stage.url, tmp_path)
    assert result.observations[-1].outcome is Outcome.PASS
    assert {seen.spec.mode for seen in result.observations} == {"text"}
    assert [note for note in notes if "prompts go as text from here on" in note and "refuses token ids" in note]
    with History.open(tmp_path / "runs.db") as history:
        text, ids = history.runs()
    assert (ids.status, ids.probes, text.status) == ("halted", 1, "done")


async def test_so_do_they_where_no_guess_at_the_vocabulary_is_taken(tmp_path: Path) -> None:
    async with staged(refusing(REFUSALS["gateway"]), long=1, pages={"/tokenize": page_not_found()}) as stage:
        result, notes = await probed(stage.url, tmp_path)
    assert result.observations[-1].outcome is Outcome.PASS
    assert any("refuses our guesses" in note and "prompts go as text" in note for note in notes)


async def test_ids_that_were_asked_for_are_not_replaced(tmp_path: Path) -> None:
    async with staged(refusing(REFUSALS["vllm-like"]), long=1) as stage:
        result, _ = await probed(stage.url, tmp_path, mode="ids")
    assert (result.finding.halt, exit_of(result.finding)) == (Halt.UNUSABLE, Exit.UNUSABLE)
    assert "the target refuses token ids (HTTP 400: prompt must be a string): send text: --mode text" in (
        result.finding.reason
    )


async def test_a_target_that_refuses_everything_is_asked_both_ways_and_no_more(tmp_path: Path) -> None:
    async def act(writer: Writer, asked: Mapping[str, Any]) -> None:
        writer.write(page({"error": {"message": "no such adapter"}}, 400))

    async with staged(act, long=1) as stage:
        result, _ = await probed(stage.url, tmp_path)
    assert result.finding.halt is Halt.UNUSABLE
    assert "no such adapter" in result.finding.reason
    with History.open(tmp_path / "runs.db") as history:
        assert [run.record.question["mode"] for run in history.runs()] == ["text", "ids"]

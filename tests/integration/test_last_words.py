"""Are the engine's last words kept with each death, from its log or from a command, and is a second bug noticed?"""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzzer.cli import session
from fuzzer.cli.common import CommonFlags
from fuzzer.enginelog import LogCommand, LogFile
from fuzzer.events import Event, Note
from fuzzer.finding import FindingKind
from fuzzer.store import Death, History
from targets.sim import running
from targets.sim.world import World
from tests.integration.playing import play

pytestmark = pytest.mark.anyio

INDEX, CUDA = "IndexError: index out of range in self", "CUDA error: an illegal memory access was encountered"
TWO_BUGS = World.from_dict(
    {
        "limit": {"tokens": 4096},
        "restart": {"delay_s": 0.1},
        "rules": [
            {"when": "P > 300 and P % 2 == 0", "symptom": "death", "last_words": INDEX},
            {"when": "P > 300 and P % 2 == 1", "symptom": "death", "last_words": CUDA},
        ],
    }
)


async def bisected(url: str, folder: Path, **where: str) -> tuple[session.Result, list[Death], list[str]]:
    """What a bisect found, the deaths that it recorded, and what it noted."""
    events: list[Event] = []
    flags = CommonFlags(url=url, db=folder / "runs.db", **where)  # type: ignore[arg-type]
    result = await play(flags, events, lo=302, hi=310, confidence=0.3)
    with History.open(folder / "runs.db") as history:
        deaths = history.deaths(result.run_row.run)
    return result, deaths, [event.text for event in events if isinstance(event, Note)]


async def test_a_second_bug_is_told_from_the_first_in_note_and_reason(tmp_path: Path) -> None:
    log = tmp_path / "engine.log"
    async with running(TWO_BUGS, log=log) as simulation:
        result, deaths, notes = await bisected(simulation.url, tmp_path, engine_log=str(log))
        assert len(deaths) == simulation.deaths
    assert {death.signature for death in deaths} == {INDEX, CUDA}
    assert all(death.signature in death.last_words for death in deaths)
    assert "another bug" in result.finding.reason
    assert len([text for text in notes if "died of something else" in text]) == 1


async def test_a_command_may_print_the_log_and_repeats_no_old_words(tmp_path: Path) -> None:
    log = tmp_path / "engine.log"
    async with running(TWO_BUGS, log=log) as simulation:
        _, deaths, _ = await bisected(simulation.url, tmp_path, engine_log_cmd=f"cat {log}")
    told = [death.last_words for death in deaths]
    assert told
    assert [words.count("IndexError") + words.count("CUDA error") for words in told] == [1] * len(told)


async def test_without_a_log_the_words_are_those_that_the_client_heard(tmp_path: Path) -> None:
    async with running(TWO_BUGS) as simulation:
        result, deaths, notes = await bisected(simulation.url, tmp_path, engine_log=str(tmp_path / "no.log"))
    assert result.finding.kind is FindingKind.DEATH
    assert all("EngineCore encountered an issue" in death.signature for death in deaths)
    assert notes == []


async def test_a_log_that_was_started_anew_is_read_from_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "engine.log"
    path.write_text("x" * 10_000)
    log = LogFile(str(path))
    await log.mark()
    assert (await log.last_words()).signature == ""
    path.write_text(f"{INDEX}\n")
    assert (await log.last_words()).signature == INDEX


async def test_a_command_that_fails_or_prints_nothing_has_no_words() -> None:
    log = LogCommand("exit 3")
    await log.mark()
    assert (await log.last_words()).signature == ""


async def test_what_the_log_names_as_a_secret_is_in_no_word_and_no_signature(tmp_path: Path) -> None:
    path = tmp_path / "engine.log"
    said = "RuntimeError: CUDA error: lost redis://cache:S3cretRedisPw99@r:6379 (api_key=['sk-live-7391'])"
    path.write_text(f"INFO: Authorization: Bearer hf_AbCdEfGhIjKl\nValueError: HF_TOKEN=hf_ZZZZZZZZZZ\n{said}\n")
    for log in (LogFile(str(path)), LogCommand(f"cat {path}")):
        words = await log.last_words()
        assert words.signature == "RuntimeError: CUDA error: lost redis://***@r:6379 (api_key=[***])"
        assert words.lines == f"ValueError: HF_TOKEN=***\n{words.signature}"

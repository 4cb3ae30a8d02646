"""Does a probe really have the company that it asks for, all the time, and is the edge in company found exactly?"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from fuzzer.cli import opening, questions
from fuzzer.cli.common import CommonFlags
from fuzzer.errors import Interrupted
from fuzzer.events import Event, ProbeEnded
from fuzzer.finding import FindingKind, Halt
from fuzzer.journal import recipe_of
from fuzzer.model import Outcome
from fuzzer.observation import Observation
from fuzzer.plans.again import AgainQuestion
from fuzzer.report.finding import finding_object
from fuzzer.store import History
from targets.sim import running
from targets.sim.simulation import Simulation
from targets.sim.world import World
from tests.integration.playing import QUICK, WORLDS, play
from tests.integration.raw import Writer
from tests.integration.staging import LONG, staged, well
from tests.integration.test_gateways import EDGE, Engine, bisect

pytestmark = pytest.mark.anyio
RESTART = "import urllib.request as u; u.urlopen(u.Request('{url}/sim/restart', method='POST'))"
ROUNDS = 150  # of companions
ALONE_TOGETHER = "P > 1000 and C != 4"  # anything but the probe and three others


def rules(*said: Mapping[str, object]) -> dict[str, object]:
    return {"limit": {"tokens": 32_768}, "rules": list(said)}


@asynccontextmanager
async def serving(world: dict[str, object]) -> AsyncIterator[Simulation]:
    async with running(World.from_dict(world)) as simulation:
        yield simulation


def flags_for(simulation: Simulation, tmp_path: Path, **more: object) -> CommonFlags:
    given: dict[str, object] = {"url": simulation.url, "db": tmp_path / "runs.db", "companions": 3, "timeout_s": 20.0}
    return CommonFlags(**given | more)  # type: ignore[arg-type]


async def probe(flags: CommonFlags, length: int) -> Observation:
    async with opening.opened(flags, pace=QUICK, sample_s=0.1) as opened:
        result = await opened.run("probe", questions.to_probe(opened, length), (), anyio.Event())
    assert result.observations[0].spec.companions == ()
    assert len(result.observations[-1].spec.companions) == flags.companions
    return result.observations[-1]


async def test_the_engine_sees_the_whole_company_from_the_first_token_to_the_last(tmp_path: Path) -> None:
    """And the canary after it sees nobody: else it would fail."""
    points = [{"when": ALONE_TOGETHER, "symptom": "error", "at": at} for at in ("arrival", "prefill", "decode")]
    canary = {"when": "P < 40 and C > 1", "symptom": "error"}
    world = rules(*points, canary) | {"speed": {"decode_s": 0.035, "prefill": 100_000}}
    async with serving(world) as simulation:
        seen = await probe(flags_for(simulation, tmp_path, output_tokens=64), 2_000)
    assert seen.outcome is Outcome.PASS, seen.reason
    assert seen.duration_s > 2.0  # so that somebody looked at the batch meanwhile
    assert not seen.contended


async def test_alone_it_is_another_condition(tmp_path: Path) -> None:
    async with serving(rules({"when": ALONE_TOGETHER, "symptom": "error"})) as simulation:
        seen = await probe(flags_for(simulation, tmp_path, companions=0), 2_000)
    assert seen.outcome is Outcome.ERROR


async def test_what_fails_a_companion_is_an_error_of_the_probe(tmp_path: Path) -> None:
    async with serving(rules({"when": "P == 512 and C >= 2", "symptom": "error", "message": "shape"})) as simulation:
        seen = await probe(flags_for(simulation, tmp_path), 2_000)
    assert seen.outcome is Outcome.ERROR
    assert "before the probe had left, a companion of 512 tokens: an error event in the stream: shape" in seen.reason


async def test_what_fails_a_companion_beside_the_probe_is_an_error_too(tmp_path: Path) -> None:
    late = {"when": "P == 512 and O > 600 and C == 2", "symptom": "error", "at": "decode", "message": "shape"}
    world = rules(late) | {"speed": {"decode_s": 0.001, "prefill": 1_000}}
    async with serving(world) as simulation:
        seen = await probe(flags_for(simulation, tmp_path, companions=1), 2_000)
    assert seen.outcome is Outcome.ERROR
    assert seen.reason.startswith("a complete answer, but a companion of 512 tokens")


async def test_without_the_company_that_was_asked_for_an_answer_shows_nothing(tmp_path: Path) -> None:
    async with serving(rules({"when": "P == 512 and C >= 3", "symptom": "busy", "status": 429})) as simulation:
        seen = await probe(flags_for(simulation, tmp_path), 2_000)
    assert seen.outcome is Outcome.INFRA
    assert "turned away: HTTP 429" in seen.reason
    assert "--companions" in seen.next_step


async def test_a_company_that_kills_by_itself_ends_the_run(tmp_path: Path) -> None:
    world = rules({"when": "P == 512 and C >= 3"}) | {"restart": {"delay_s": 0.1}}
    async with serving(world) as simulation:
        result = await play(flags_for(simulation, tmp_path), lo=1_000, hi=3_000)
    assert result.run_row.deaths == 1
    assert (result.finding.halt, result.finding.cap) == (Halt.PROXY, None)
    assert "before the probe had left, a companion of 512 tokens" in result.finding.reason


async def test_a_wedge_that_takes_four_requests_is_found_exactly(tmp_path: Path) -> None:
    async with running(World.load(WORLDS / "vllm-41125.toml")) as simulation:
        help_it = f'{sys.executable} -c "{RESTART.format(url=simulation.control_url)}"'
        flags = flags_for(simulation, tmp_path, timeout_s=0.8, on_death=help_it)
        with anyio.fail_after(120):
            result = await play(flags, lo=65_000, hi=999_000, confidence=0.5, attribute_axis=False)
    finding = result.finding
    assert (finding.kind, finding.last_good, finding.first_bad) == (FindingKind.HANG, 65_536, 65_537), finding.reason
    assert not any(seen.contended for seen in result.observations)
    told = finding_object(result.run_row, finding, result.observations, result.elapsed_s)
    assert told["conditions"]["concurrency"] == 4
    assert not any("companions" in words for words in finding.assumes)


async def test_a_run_in_company_goes_on_in_company_and_its_failure_repeats(tmp_path: Path) -> None:
    world = rules({"when": "P > 1500 and C >= 4"}) | {"restart": {"delay_s": 0.05}}
    async with serving(world) as simulation:
        flags = flags_for(simulation, tmp_path)
        stop = anyio.Event()

        def interrupt(event: Event) -> None:
            if isinstance(event, ProbeEnded) and event.observation.deaths:
                stop.set()

        async with opening.opened(flags, pace=QUICK, sample_s=0.1) as opened:
            question = questions.to_bisect(opened, {"lo": 1_000, "hi": 3_000, "confidence": 0.5}, ())
            with pytest.raises(Interrupted):
                await opened.run("bisect", questions.Asked("bisect", question), (interrupt,), stop)
        with History.open(flags.db) as history:
            run = history.runs()[0]
            intents = history.intents(run.run)
        again = replace(CommonFlags(url=flags.url, db=flags.db).restored(run.record.settings), url=flags.url)
        assert (again.companions, again.companion_length) == (3, 512)
        async with opening.opened(again, pace=QUICK, sample_s=0.1) as opened:
            result = await opened.resume(run, questions.recorded(run), (), anyio.Event())
        assert (result.finding.last_good, result.finding.first_bad) == (1_500, 1_501)

        killer = next(seen for seen in result.observations if seen.deaths)
        intent = next(one for one in intents if one.seq == killer.seq)
        once_more = AgainQuestion(run.run, killer.seq, intent.spec, killer.outcome)
        async with opening.opened(again, pace=QUICK, sample_s=0.1) as opened:
            repeated = await replace(opened, again=recipe_of(intent)).run("replay", once_more, (), anyio.Event())
    assert repeated.observations[-1].outcome is Outcome.DEATH


async def test_companions_whose_answers_are_short_are_there_to_the_end(tmp_path: Path) -> None:
    """The model ends theirs at once, and the probe takes as long as a hundred and more of them."""
    begun, plenty = 0, anyio.Event()

    async def act(writer: Writer, asked: Mapping[str, Any]) -> None:
        nonlocal begun
        if len(asked["prompt"]) == 128:
            begun += 1
            if begun == ROUNDS:
                plenty.set()
        elif len(asked["prompt"]) >= LONG:
            await plenty.wait()
        await well(writer, {**asked, "max_tokens": min(asked["max_tokens"], 3 if begun else 32)})

    async with staged(act, long=1) as stage:
        flags = CommonFlags(url=stage.url, db=tmp_path / "runs.db", companions=2, companion_length=128, timeout_s=60.0)
        async with opening.opened(flags, pace=QUICK, sample_s=0.05) as opened:
            result = await opened.run("probe", questions.to_probe(opened, LONG), [], anyio.Event())
    assert result.observations[-1].outcome is not Outcome.HANG
    assert begun >= ROUNDS


async def test_a_company_that_dies_behind_a_proxy_is_charged_for_it(tmp_path: Path) -> None:
    """Nothing but a 502 tells of it: health stays green, there are no metrics, and the engine is soon back."""
    engine = Engine(away_s=0.3, told="")
    result = await bisect(engine, tmp_path, companions=1, companion_length=EDGE + 1, max_deaths=2)
    assert (engine.deaths, result.run_row.deaths) == (1, 1)
    assert (result.finding.halt, result.finding.cap) == (Halt.PROXY, None)
    assert "--companion-length" in result.finding.reason

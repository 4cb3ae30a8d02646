"""Do the limits hold under stress: deaths, deadlines, load on the target, absence, signals, closed ends?"""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from fuzzer.cli import opening, questions
from fuzzer.cli.common import CommonFlags
from fuzzer.errors import AnotherEngine, RunStopped
from fuzzer.events import Event, Note
from fuzzer.finding import FindingKind, Halt
from fuzzer.model import Outcome
from fuzzer.store import History
from targets.base import Fault, Generation, Reply
from targets.sim import running
from targets.sim.world import World
from tests.integration.playing import QUICK, play
from tests.integration.staging import staged, well

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(180)]

ROOT = Path(__file__).parents[2]
DEADLY: dict[str, Any] = {
    "limit": {"tokens": 4096},
    "restart": {"delay_s": 0.1},
    "rules": [{"when": "P > 300", "symptom": "death"}],
}


def flags(url: str, folder: Path, **more: Any) -> CommonFlags:
    return CommonFlags(**{"url": url, "db": folder / "runs.db", "output_tokens": 8, "quiet": True, **more})


async def test_without_a_death_to_spare_nothing_above_lo_is_ever_sent(tmp_path: Path) -> None:
    async with running(World.from_dict(DEADLY)) as simulation:
        result = await play(flags(simulation.url, tmp_path, max_deaths=0), lo=200, hi=400)
        assert max(record.prompt_tokens for record in simulation.log) <= 200
        assert simulation.deaths == 0
    assert result.finding.last_good == 200


async def test_without_a_death_to_spare_nothing_is_sent_that_is_on_record_to_kill(tmp_path: Path) -> None:
    async with running(World.from_dict(DEADLY)) as simulation:
        await play(flags(simulation.url, tmp_path), lo=280, hi=400, resolution=64)
        told = simulation.deaths
        spared = flags(simulation.url, tmp_path, max_deaths=0)
        async with opening.opened(spared, pace=QUICK, sample_s=0.1) as opened:
            for ask in (
                lambda: questions.to_probe(opened, 399),
                lambda: questions.to_sweep(opened, [399, 500], (), keep_going=False),
                lambda: questions.to_speed(opened, [399], (), [1], 5),
                lambda: questions.to_bisect(opened, {"lo": 399, "hi": 500}, ()),
            ):
                with pytest.raises(RunStopped, match="killed this engine"):
                    ask()
            questions.to_sweep(opened, [200, 399], (), keep_going=False)  # the shortest alone is sent
    assert simulation.deaths == told > 0


async def test_deaths_that_were_not_by_length_hold_nothing_back(tmp_path: Path) -> None:
    world = World.from_dict({**DEADLY, "rules": [{"when": "N >= 5", "symptom": "death"}]})
    async with running(world) as simulation:
        worn = await play(flags(simulation.url, tmp_path), lo=200, hi=400)
        assert (worn.finding.kind, simulation.deaths > 0) == (FindingKind.NOT_LENGTH, True)
        spared = flags(simulation.url, tmp_path, max_deaths=0)
        async with opening.opened(spared, pace=QUICK, sample_s=0.1) as opened:
            questions.to_probe(opened, 399)  # it raises where a death at such a length is on record


async def test_restarts_that_grow_stop_the_run_at_the_revival_timeout(tmp_path: Path) -> None:
    """Like CrashLoopBackOff: each restart takes a hundred times as long as the one before; an edge costs two deaths."""
    world = World.from_dict({**DEADLY, "restart": {"delay_s": 0.1, "factor": 100.0}})
    async with running(world) as simulation:
        asked = flags(simulation.url, tmp_path, revival_timeout_s=3.0)
        result = await play(asked, lo=280, hi=400)
        assert simulation.deaths == 2
    assert (result.finding.kind, result.finding.halt) == (FindingKind.INCONCLUSIVE, Halt.LOST)


async def test_deaths_while_reviving_are_waited_out(tmp_path: Path) -> None:
    """The first two lives after a death are killed as soon as they serve."""
    async with running(World.from_dict(DEADLY)) as simulation, anyio.create_task_group() as tasks:

        async def keep_killing() -> None:
            known = set(simulation.pids())
            for _ in range(3):
                while known >= set(simulation.pids()):  # noqa: ASYNC110  (the simulator tells no event)
                    await anyio.sleep(0.01)
                known |= set(simulation.pids())
                if simulation.deaths < 3:
                    simulation.kill()

        tasks.start_soon(keep_killing)
        result = await play(flags(simulation.url, tmp_path), lo=200, hi=400, resolution=64)
        assert simulation.deaths >= 3
        tasks.cancel_scope.cancel()
    assert all(seen.revived for seen in result.observations)
    assert result.finding.last_good is not None
    assert 200 <= result.finding.last_good <= 300


def young(until_s: float) -> World:
    """Each life dies of its first request while it is young."""
    dies = {"when": f"AGE < {until_s} and N == 1", "at": "arrival", "last_words": "still warming up"}
    return World.from_dict({**DEADLY, "rules": [*DEADLY["rules"], dies]})


async def test_an_engine_that_dies_of_canaries_is_not_killed_beyond_the_budget(tmp_path: Path) -> None:
    """What it dies of while it is waited for is told, and is of --max-deaths."""
    async with running(young(until_s=60.0)) as simulation:
        result = await play(flags(simulation.url, tmp_path, max_deaths=3), lo=200, hi=400)
        deaths = simulation.deaths
    assert deaths == result.run_row.deaths == sum(seen.deaths for seen in result.observations) == 3
    assert result.finding.halt is Halt.DEATHS
    assert "it dies again as it revives: " in result.finding.reason
    assert "and --max-deaths is 3" in result.finding.reason


async def test_a_life_that_died_young_buys_the_next_one_time(tmp_path: Path) -> None:
    async with running(young(until_s=1.5)) as simulation:
        result = await play(flags(simulation.url, tmp_path), lo=280, hi=340, resolution=64)
        deaths = simulation.deaths
    assert deaths == result.run_row.deaths == sum(seen.deaths for seen in result.observations)
    assert all(seen.revived and seen.relapses <= 2 for seen in result.observations)  # a busy machine may take one more
    assert any(seen.relapses for seen in result.observations)
    assert result.finding.last_good is not None
    assert 280 <= result.finding.last_good <= 300


async def test_a_neighbour_that_arrives_in_the_middle_is_seen(tmp_path: Path) -> None:
    world = {"limit": {"tokens": 4096}, "rules": [{"when": "P > 250", "symptom": "slow", "seconds": 1.5}]}
    async with running(World.from_dict(world)) as simulation, anyio.create_task_group() as tasks:

        async def keep_asking() -> None:
            asking = {"model": "sim", "prompt": [100] * 20, "max_tokens": 1}
            async with httpx.AsyncClient(trust_env=False) as neighbour:
                while True:
                    await neighbour.post(f"{simulation.url}/v1/completions", json=asking)

        async with opening.opened(flags(simulation.url, tmp_path), sample_s=0.05) as opened:
            tasks.start_soon(keep_asking)
            result = await opened.run("probe", questions.to_probe(opened, 300), (), anyio.Event())
        tasks.cancel_scope.cancel()
    assert result.observations[-1].contended


async def test_a_supervisor_that_kills_a_slow_prefill_is_named(tmp_path: Path) -> None:
    world = World.from_dict(
        {
            "limit": {"tokens": 4096},
            "restart": {"delay_s": 0.1},
            "health": {"red_after_s": 0.3},
            "rules": [{"when": "P > 250", "symptom": "slow", "seconds": 30.0}],
        }
    )
    async with running(world) as simulation, anyio.create_task_group() as tasks:

        async def liveness() -> None:
            while not any(record.prompt_tokens >= 300 for record in simulation.log):  # noqa: ASYNC110
                await anyio.sleep(0.05)
            await anyio.sleep(2.0)
            simulation.kill()

        tasks.start_soon(liveness)
        async with opening.opened(flags(simulation.url, tmp_path, health_interval_s=0.2), sample_s=0.05) as opened:
            asked = questions.to_probe(opened, 300)
            result = await opened.run("probe", asked, (), anyio.Event())
    seen = result.observations[-1]
    assert seen.outcome is Outcome.DEATH
    assert "a liveness probe may have killed it" in seen.reason
    assert "liveness probe" in seen.next_step


async def test_health_is_asked_for_at_most_twice_a_second(tmp_path: Path) -> None:
    async with staged(well) as stage:
        began = anyio.current_time()
        async with opening.opened(flags(stage.url, tmp_path), sample_s=0.05) as opened:
            asked = questions.Asked("sweep", questions.to_sweep(opened, [100, 150, 200, 250], (), keep_going=False))
            await opened.run("sweep", asked, (), anyio.Event())
        took = anyio.current_time() - began
    polls = [head for head in stage.heads if head.startswith(b"GET /health")]
    assert len(stage.lengths) >= 8, "probes and canaries"
    assert 4 <= len(polls) <= 2 * took


def environment(**extra: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "OPENAI_API_KEY": "", "TERM": "xterm", **extra}


def begun(folder: Path, url: str, length: int, *more: str, **options: Any) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "fuzzer.cli", "probe", str(length), "--url", url, "--timeout", "8", *more]
    return subprocess.Popen(command, cwd=folder, env=environment(), **options)


async def ended(process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    with anyio.fail_after(120):
        return await anyio.to_thread.run_sync(process.communicate, None, abandon_on_cancel=True)


async def in_flight(simulation: Any, length: int) -> None:
    with anyio.fail_after(60):
        while not any(record.prompt_tokens >= length for record in simulation.log):  # noqa: ASYNC110
            await anyio.sleep(0.05)


SLOW = World.from_dict({"limit": {"tokens": 4096}, "rules": [{"when": "P > 250", "symptom": "slow", "seconds": 4.0}]})


async def test_a_suspended_process_does_not_turn_its_own_absence_into_a_hang(tmp_path: Path) -> None:
    """It sleeps longer than its deadline while the answer comes; the answer is still a pass."""
    async with running(SLOW) as simulation:
        process = begun(tmp_path, simulation.url, 300, "--json", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        await in_flight(simulation, 300)
        process.send_signal(signal.SIGSTOP)
        await anyio.sleep(10)
        process.send_signal(signal.SIGCONT)
        out, err = await ended(process)
    assert json.loads(out)["finding"] == "none", err.decode()


@pytest.mark.skipif(not hasattr(time, "CLOCK_BOOTTIME"), reason="no clock that goes on in a suspend")
async def test_a_line_that_died_while_the_machine_slept_is_no_death(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What woke us is seen first: the socket's end."""
    slept_s, told = 0.0, time.clock_gettime

    def through_sleep(clock: int) -> float:
        return told(clock) + (slept_s if clock == time.CLOCK_BOOTTIME else 0.0)

    monkeypatch.setattr(time, "clock_gettime", through_sleep)
    async with (
        running(World.from_dict({"limit": {"tokens": 4096}, "metrics": False})) as simulation,
        opening.opened(flags(simulation.url, tmp_path), pace=QUICK, sample_s=0.1) as opened,
    ):
        generate = opened.target.generate

        async def asleep_once(generation: Generation, body: bytes, **more: Any) -> Reply:
            nonlocal slept_s
            if generation.prompt.tokens < 300 or slept_s:
                return await generate(generation, body, **more)
            slept_s = 3600.0
            return Reply(sent=True, fault=Fault.RESET, fault_text="connection reset by peer", ended_s=1.0)

        monkeypatch.setattr(opened.target, "generate", asleep_once)
        question = questions.to_sweep(opened, [300], (), keep_going=False)
        result = await opened.run("sweep", questions.Asked("sweep", question), [], anyio.Event())
    asked = [seen for seen in result.observations if seen.spec.length == 300]
    assert [seen.outcome for seen in asked] == [Outcome.ABANDONED, Outcome.PASS]
    assert "3600 s" in asked[0].reason
    assert result.run_row.deaths == 0


@pytest.mark.parametrize("nohup", [False, True])
async def test_a_hang_up_ends_the_run_well_unless_it_was_told_to_outlive_one(nohup: bool, tmp_path: Path) -> None:
    async with running(SLOW) as simulation:
        heard = signal.SIG_IGN if nohup else signal.SIG_DFL  # whatever these tests themselves were started with
        process = begun(
            tmp_path,
            simulation.url,
            300,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=lambda: signal.signal(signal.SIGHUP, heard),
        )
        await in_flight(simulation, 300)
        process.send_signal(signal.SIGHUP)
        _, err = await ended(process)
    assert process.returncode == (0 if nohup else 130), err.decode()
    with History.open(tmp_path / "runs.db") as history:
        run = history.get("last")
        seen = history.observations(run.run)
    assert run.status == ("done" if nohup else "interrupted")
    assert seen[-1].outcome is (Outcome.PASS if nohup else Outcome.ABANDONED)


async def test_a_terminal_that_closes_takes_nothing_with_it(tmp_path: Path) -> None:
    async with running(SLOW) as simulation:
        ours, theirs = pty.openpty()
        process = begun(tmp_path, simulation.url, 300, stdout=theirs, stderr=theirs, stdin=subprocess.DEVNULL)
        os.close(theirs)
        await in_flight(simulation, 300)
        os.close(ours)
        await ended(process)
    assert process.returncode == 0
    with History.open(tmp_path / "runs.db") as history:
        assert history.get("last").status == "done"


async def test_a_narrow_locale_shows_escapes_and_ends_no_run(tmp_path: Path) -> None:
    async with staged(well) as stage:
        process = subprocess.Popen(  # noqa: ASYNC220  (only its start blocks)
            [sys.executable, "-m", "fuzzer.cli", "probe", "300", "--url", stage.url, "-v"],
            cwd=tmp_path,
            env=environment(PYTHONIOENCODING="ascii:strict"),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        out, err = await ended(process)
    assert process.returncode == 0, err.decode()
    assert out.isascii()


@pytest.mark.parametrize("now", [4000, 2048])
async def test_another_window_after_a_revival_is_told_and_ends_the_run_where_it_is_no_fit_to_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, now: int
) -> None:
    world = World.from_dict({"limit": {"tokens": 4096}, "rules": [{"when": "P > 300"}], "restart": {"delay_s": 0.05}})
    notes: list[str] = []

    def listen(event: Event) -> None:
        if isinstance(event, Note):
            notes.append(event.text)

    async with running(world) as sim:
        flags = CommonFlags(url=sim.url, db=tmp_path / "runs.db")
        async with opening.opened(flags, pace=QUICK, sample_s=0.1) as opened:
            assert await opened.target.limit() == 4096
            asked = questions.to_bisect(opened, {"lo": 299, "hi": 302}, [])

            async def since_it_came_back() -> int:
                return now

            monkeypatch.setattr(opened.target, "limit", since_it_came_back)
            ends = pytest.raises(AnotherEngine, match="limit was 4096 and is 2048") if now == 2048 else nullcontext()
            with ends:
                await opened.run("bisect", questions.Asked("bisect", asked), [listen], anyio.Event())
    told = any("limit of 4096 tokens; since it came back it is 4000" in note for note in notes)
    assert told == (now == 4000)


async def test_answers_are_clamped_at_the_limit_that_holds_since_the_revival(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World.from_dict(
        {"limit": {"tokens": 4096, "usable": 4000}, "rules": [{"when": "P == 300"}], "restart": {"delay_s": 0.05}}
    )
    async with (
        running(world) as sim,
        opening.opened(flags(sim.url, tmp_path, output_tokens=32), pace=QUICK, sample_s=0.1) as opened,
    ):

        async def since_it_came_back() -> int:
            return 4000

        monkeypatch.setattr(opened.target, "limit", since_it_came_back)
        asked = questions.Asked("sweep", questions.to_sweep(opened, [300, 3990], (), keep_going=True))
        result = await opened.run("sweep", asked, [], anyio.Event())
    last = result.observations[-1]
    assert (last.length, last.outcome, last.clamped, last.completion_tokens) == (3990, Outcome.PASS, True, 10)

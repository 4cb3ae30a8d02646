"""Is a lossy drafter called by name, from the first request to the report, and nothing where nothing is planted?"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from base64 import b64encode
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from xml.etree import ElementTree as ET

import anyio
import pytest
from click.testing import CliRunner

from fuzzer.cli import comparing, main, opening
from fuzzer.cli.common import CommonFlags
from fuzzer.errors import Interrupted, UsageFault
from fuzzer.events import Event, Note, RunStarted
from fuzzer.finding import Finding, FindingKind
from fuzzer.measure.sameness import Needles, Sameness, Verdict
from fuzzer.observation import Observation
from fuzzer.prompts.page import NEEDLES
from fuzzer.store import History
from targets.sim import Simulation, running
from targets.sim.world import World
from tests import forked
from tests.integration.playing import QUICK
from tests.integration.raw import Reader, Writer, request_of, serving, whole

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]
BASE = {"limit": {"tokens": 4096}, "restart": {"delay_s": 0.1}}
DRAFT = {"k": 7, "acceptance_length": 2.0}
LOSSY = {"draft": {**DRAFT, "lossy_from": 1000}}


@asynccontextmanager
async def two(target: dict[str, Any], control: dict[str, Any]) -> AsyncIterator[tuple[Simulation, Simulation]]:
    worlds = [World.from_dict({**BASE, **more}) for more in (target, control)]
    async with running(worlds[0]) as one, running(worlds[1]) as other:
        yield one, other


@dataclass(frozen=True)
class Told:
    same: Sameness
    finding: Finding
    target: list[Observation]

    @property
    def verdicts(self) -> dict[tuple[int, str], Verdict]:
        return {(cell.length, cell.content): cell.verdict for cell in self.same.cells}


def flags_for(url: str, folder: Path, **more: Any) -> CommonFlags:
    return CommonFlags(**{"url": url, "db": folder / "runs.db", "output_tokens": 48, "seed": 1, **more})


async def compared(
    folder: Path,
    target: Simulation,
    control: Simulation,
    lengths: Sequence[int] = (200, 1200),
    contents: Sequence[str] = ("words",),
    **more: Any,
) -> Told:
    """The command but for its flags, with graces that suit a simulator."""
    flags = flags_for(target.url, folder, **more)
    async with opening.opened(flags, pace=QUICK, sample_s=0.05) as opened:
        question = comparing.asked_of(opened, lengths, None, contents)
        told = await comparing.compared(opened, question, ("plain", control.url), (), anyio.Event(), sample_s=0.05)
    with History.open(flags.db) as history:
        recorded = comparing.recorded(history, told.run_row)
    assert recorded is not None
    return Told(recorded[0], told.finding, told.observations)


async def test_a_lossless_drafter_is_the_same_by_ids_and_no_prompt_is_stored(tmp_path: Path) -> None:
    async with two({"draft": DRAFT}, {}) as (target, control):
        told = await compared(tmp_path, target, control, contents=("words", "needle"), mode="text")
        assert len(target.log) == len(control.log)
    assert told.same.verdict is Verdict.SAME
    assert {(cell.by, cell.compared) for cell in told.same.cells} == {("ids", 48)}
    assert [seen.generated is None for seen in told.target] == [True] + [False] * 8, (
        "of the first, short prompt nothing"
    )
    needles = [cell.needles for cell in told.same.cells if cell.content == "needle"]
    assert needles == [Needles("neither", "neither")] * 2
    stored = b"".join([await path.read_bytes() async for path in anyio.Path(tmp_path).iterdir()])
    assert b"compared-200" in stored, "the recipe is"
    assert not any(needle.encode() in stored for needle in NEEDLES)


async def test_an_echo_of_the_prompt_is_no_failure_however_long_it_is(tmp_path: Path) -> None:
    """vLLM tells the prompt's ids beside those that were asked for: more than another event may hold."""
    wide = {"limit": {"tokens": 1 << 18}}
    async with two({**wide, "draft": DRAFT}, wide) as (target, control):
        told = await compared(tmp_path, target, control, lengths=(250_000,))
    assert told.verdicts == {(250_000, "words"): Verdict.SAME}
    assert told.same.cells[0].by == "ids"


async def test_a_lossy_drafter_is_called_by_name_where_it_is_and_nowhere_else(tmp_path: Path) -> None:
    async with two(LOSSY, {}) as (target, control):
        told = await compared(tmp_path, target, control)
    assert told.verdicts == {(200, "words"): Verdict.SAME, (1200, "words"): Verdict.DIFFERENT}
    assert told.same.verdict is Verdict.DIFFERENT
    parted = told.same.cells[1].divergence
    assert parted is not None
    assert parted.token is not None
    answers = [seen.generated for seen in told.target if seen.spec.length == 1200]
    assert answers[0] is not None
    assert answers[0].text.startswith(parted.before[-20:] or answers[0].text[:1])


async def test_a_server_that_tells_no_ids_is_compared_by_its_text(tmp_path: Path) -> None:
    async with two({**LOSSY, "dialect": "llamacpp"}, {"dialect": "llamacpp"}) as (target, control):
        told = await compared(tmp_path, target, control)
    assert [cell.by for cell in told.same.cells] == ["text", "text"]
    assert told.same.verdict is Verdict.DIFFERENT


async def test_an_engine_that_remembers_the_prompt_may_answer_the_second_time_from_its_cache(tmp_path: Path) -> None:
    remembers = {"dialect": "sglang", "cache": {"shown": True}}
    async with two({**remembers, **LOSSY}, remembers) as (target, control):
        told = await compared(tmp_path, target, control, lengths=(1200,))
    assert next(seen.cached_tokens or 0 for seen in told.target if seen.spec.compared == 2) > 1000
    assert told.same.verdict is Verdict.DIFFERENT


async def test_a_restless_engine_is_not_blamed_on_the_drafter(tmp_path: Path) -> None:
    async with two({"draft": DRAFT}, {"nondeterministic": 1.0}) as (target, control):
        told = await compared(tmp_path, target, control, lengths=(200,))
    assert told.same.verdict is Verdict.UNDECIDABLE
    assert "the control does not repeat itself" in told.same.cells[0].words


async def test_a_death_ends_it_and_the_control_is_not_asked_for_more(tmp_path: Path) -> None:
    rules = [{"when": "P > 1000", "symptom": "death"}]
    async with two({"draft": DRAFT, "rules": rules}, {}) as (target, control):
        told = await compared(tmp_path, target, control)
        assert target.deaths == 1
        assert max(record.prompt_tokens or 0 for record in control.log) == 200
    assert (told.finding.kind, told.finding.first_bad) == (FindingKind.DEATH, 1200)
    assert told.verdicts == {(200, "words"): Verdict.SAME, (1200, "words"): Verdict.UNDECIDABLE}
    assert told.same.cells[1].words == "not decidable: the target: death"


async def test_prompts_go_as_far_as_the_cap_that_was_recommended_here(tmp_path: Path) -> None:
    async with running(World.from_dict(BASE)) as target:
        flags = flags_for(target.url, tmp_path)
        async with opening.opened(flags, pace=QUICK, sample_s=0.05) as opened:
            assert max(comparing.asked_of(opened, None, None, ("words",)).lengths) == 4096 - 48
            opened.record("verify", Finding(FindingKind.CLEAN_LIMIT, "it holds", cap=2000), {})
            assert max(comparing.asked_of(opened, None, None, ("words",)).lengths) == 2000 - 48
            with pytest.raises(UsageFault, match="above the cap of 2000"):
                comparing.asked_of(opened, (1990,), None, ("words",))
            assert comparing.asked_of(opened, (1990,), 3000, ("words",)).lengths == (1990,)


@asynccontextmanager
async def behind_a_password(url: str, heads: list[bytes]) -> AsyncIterator[str]:
    """The server behind a gate that hears each head and lets in who says `u:secretpw`: the URL with that in it."""
    there = urlsplit(url)

    async def gate(reader: Reader, writer: Writer) -> None:
        head, content = await request_of(reader)
        heads.append(head)
        if b64encode(b"u:secretpw") not in head:
            writer.write(whole(401, b"{}"))
            return
        answers, asks = await asyncio.open_connection(there.hostname, there.port)
        asks.write(head.replace(b"\r\n", b"\r\nConnection: close\r\n", 1) + content)
        while data := await answers.read(65536):
            writer.write(data)
        asks.close()

    async with serving(gate) as port:
        yield f"http://u:secretpw@127.0.0.1:{port}"


async def test_a_control_is_asked_with_the_secret_in_its_url_and_never_with_its_mask(tmp_path: Path) -> None:
    heads, told = list[bytes](), list[Event]()
    async with two({**LOSSY}, {}) as (target, control), behind_a_password(control.url, heads) as url:
        async with opening.opened(flags_for(target.url, tmp_path), pace=QUICK, sample_s=0.05) as opened:
            asked, stop = comparing.asked_of(opened, [1200], None, ["words"]), anyio.Event()
            result = await comparing.compared(opened, asked, ("plain", url), (), stop, sample_s=0.05)
            with History.open(tmp_path / "runs.db") as history:
                same, plain = comparing.recorded(history, result.run_row) or pytest.fail("it is on record")
            assert (same.verdict, plain.run is None) == (Verdict.DIFFERENT, False)
            asked_before = len(heads)
            await comparing.ask_control(opened, result, (told.append,), stop, sample_s=0.05)
        assert len(heads) == asked_before
    assert all(b64encode(b"u:secretpw") in head for head in heads)
    assert [type(event) for event in told] == [Note]
    assert "the control plain could not be asked: its URL held a secret" in str(told[0])


def read(folder: Path, *args: str) -> str:
    """What a command says that touches no target."""
    done = CliRunner().invoke(main, [*args, "--db", str(folder / "runs.db")])
    assert done.exit_code == 0, done.output
    return done.stdout


async def test_the_command_leaves_with_1_and_every_reader_of_the_record_knows(tmp_path: Path) -> None:
    quick = {"metrics": False}  # nobody samples for seconds who else is there
    async with two({**LOSSY, **quick}, quick) as (target, control):
        asked = ("--url", target.url, "--control", f"plain={control.url}", "--lengths", "1200", "--json")
        command = [sys.executable, "-m", "fuzzer.cli", "same", *asked]
        done = await forked.run_process(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == 1, done.stderr.decode()
    told = json.loads(done.stdout)
    assert (told["schema"], told["verdict"]) == ("ctxfuzz.same/1", "different")
    assert told["conditions"]["output_tokens"] == 128
    assert told["control"]["name"] == "plain"
    words = told["cells"][0]["words"]
    assert words in read(tmp_path, "show", told["run"])
    assert json.loads(read(tmp_path, "show", told["run"], "--json"))["same"]["cells"] == told["cells"]
    assert words in read(tmp_path, "report", told["run"])
    assert f"    {'length':>6}" in read(tmp_path, "report", told["run"], "--format", "md")
    suite = ET.fromstring(read(tmp_path, "report", told["run"], "--format", "junit"))
    assert (suite.get("failures"), suite.get("errors")) == ("1", "0")
    shown = (read(tmp_path, "show", told["run"], "--json"), read(tmp_path, "report", told["run"], "--format", "json"))
    assert json.loads(shown[0]) == json.loads(shown[1])
    assert "2 runs" in read(tmp_path, "audit")


async def test_a_control_that_was_interrupted_goes_on_and_the_verdict_is_told(tmp_path: Path) -> None:
    quick = {"metrics": False}
    stop, begun = anyio.Event(), 0

    def stop_at_the_control(event: Event) -> None:
        nonlocal begun
        begun += isinstance(event, RunStarted)
        if begun == 2:
            stop.set()

    async with two({**LOSSY, **quick}, quick) as (target, control):
        async with opening.opened(flags_for(target.url, tmp_path), pace=QUICK, sample_s=0.05) as opened:
            asked, plain = comparing.asked_of(opened, [1200], None, ["words"]), ("plain", control.url)
            with pytest.raises(Interrupted):
                await comparing.compared(opened, asked, plain, (stop_at_the_control,), stop, sample_s=0.05)
        command = [sys.executable, "-m", "fuzzer.cli", "resume", "last", "--json"]
        done = await forked.run_process(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == 1, done.stderr.decode()
    assert json.loads(done.stdout)["verdict"] == "different"
    assert "differs after" in read(tmp_path, "show", json.loads(done.stdout)["run"])

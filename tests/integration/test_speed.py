"""Is all that is planted in a simulated engine called by its name, and nothing else, also side by side with others?"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import anyio
import httpx
import pytest

from fuzzer.cli import measuring, opening, questions, session
from fuzzer.cli.common import CommonFlags
from fuzzer.cli.exits import Exit, exit_of
from fuzzer.errors import Interrupted, UsageFault
from fuzzer.events import Event, Note, ProbeEnded
from fuzzer.finding import Finding, FindingKind
from fuzzer.measure.reading import Mark
from fuzzer.measure.scatter import Spread
from fuzzer.measure.speed import Measured
from fuzzer.model import Role, Settings
from fuzzer.plans.question import BisectQuestion
from fuzzer.plans.speed import SpeedQuestion
from fuzzer.report.speed import Arm, notes, rows
from fuzzer.store import History, RunRecord, Store, audit
from targets.sim import Simulation, running
from targets.sim.world import World
from tests import forked

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]
QUICK = Settings(grace_failure_s=0.4, grace_pass_s=0.05)
STEP_S = 0.006
PACE: dict[str, Any] = {"limit": {"tokens": 4096}, "speed": {"decode_s": STEP_S}, "restart": {"delay_s": 0.1}}
DRAFTER = {"draft": {"k": 3, "acceptance_length": 2.0}}
DIES = {"rules": [{"when": "P > 300", "symptom": "death", "last_words": "CUDA error"}]}


def paced(**more: object) -> World:
    return World.from_dict({**PACE, "speed": {"decode_s": STEP_S, **more}})


@asynccontextmanager
async def worlds(*of: World | Mapping[str, Any]) -> AsyncIterator[list[Simulation]]:
    async with AsyncExitStack() as stack:
        made = [one if isinstance(one, World) else World.from_dict({**PACE, **one}) for one in of]
        yield [await stack.enter_async_context(running(one)) for one in made]


async def measure(
    simulations: list[Simulation],
    db: Path,
    hear: Callable[[Event], None] | None = None,
    *,
    stop: anyio.Event | None = None,
    flags: Mapping[str, Any] | None = None,
    **asked: Any,
) -> session.Result:
    """`ctxfuzz speed` of the first simulation, the others its controls: a, b, ..."""
    target, *others = simulations
    cells: dict[str, Any] = {"lengths": (200,), "contents": ("words",), "concurrencies": (1,), "repeats": 1} | asked

    def ask(opened: session.Session) -> SpeedQuestion:
        return questions.to_speed(opened, **cells)

    controls = [(name, one.url) for name, one in zip("abc", others, strict=False)]
    common = CommonFlags(url=target.url, db=db, output_tokens=24, **(flags or {}))
    listeners = [] if hear is None else [hear]
    async with opening.opened(common, pace=QUICK, sample_s=0.1) as opened:
        return await measuring.side_by_side(
            opened, ask, controls, listeners, stop or anyio.Event(), sample_s=0.1
        )  # fmt: skip


def arms_of(result: session.Result, db: Path) -> tuple[Arm, ...]:
    with History.open(db) as history:
        return measuring.recorded(history, result.run_row)


def the_cell(result: session.Result, db: Path) -> Measured:
    (arm,) = arms_of(result, db)
    (cell,) = arm.cells.values()
    return cell


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


async def test_where_nothing_is_planted_nothing_is_called(db: Path) -> None:
    async with worlds(DRAFTER) as simulations:
        result = await measure(simulations, db)
    cell = the_cell(result, db)
    assert cell.reliable
    assert not cell.left_out
    assert cell.spread[0] is not Spread.BIMODAL
    assert arms_of(result, db)[0].dead_drafter(rows(arms_of(result, db))[0].cell) is None
    assert (result.finding.kind, exit_of(result.finding)) == (FindingKind.NONE, Exit.ANSWERED)


async def test_the_first_runs_are_no_figures(db: Path) -> None:
    async with worlds(paced(first_run_s=0.6, first_runs=5)) as simulations:
        result = await measure(simulations, db)
    cell = the_cell(result, db)
    assert max(cell.warm_ups) > 0.6
    assert cell.first_token_s is not None
    assert cell.first_token_s < 0.3, "none of the slow runs is in the figure"
    assert cell.reliable


@pytest.mark.parametrize("tokens", [2, 3_000], ids=["short requests", "one that is there all along"])
async def test_a_neighbour_is_seen_and_its_cells_are_asked_again(db: Path, tokens: int) -> None:
    begun, gone = anyio.Event(), anyio.CancelScope()
    roles: list[Role] = []

    def heed(event: Event) -> None:
        if isinstance(event, ProbeEnded):
            roles.append(event.observation.spec.role)
            if Role.WARM_UP in roles:
                begun.set()
            if Role.MEASURE in roles:
                gone.cancel()

    async with worlds({}) as (simulation,):
        body = {"model": "sim", "prompt": [5, 6, 7], "max_tokens": tokens, "ignore_eos": True}

        async def be_there() -> None:
            await begun.wait()
            async with httpx.AsyncClient(trust_env=False, timeout=60) as client:
                with gone:
                    while True:
                        await client.post(f"{simulation.url}/v1/completions", json=body)

        async with anyio.create_task_group() as group:
            group.start_soon(be_there)
            result = await measure([simulation], db, heed, flags={"allow_busy": True}, repeats=2)
    cell = the_cell(result, db)
    assert cell.left_out[Mark.CONTENDED] >= 1
    assert cell.reliable
    assert any("taken while others were served: not averaged" in note for note in notes(arms_of(result, db)))


async def test_a_bimodal_cell_is_called_an_operational_fact(db: Path) -> None:
    fast, slow = 1 / (2 * STEP_S), 1 / (12 * STEP_S)
    async with worlds(paced(slow_share=0.5, slow_factor=6.0, decode_s=2 * STEP_S)) as simulations:
        result = await measure(simulations, db, repeats=4)
    cell = the_cell(result, db)
    kind, modes = cell.spread
    assert kind is Spread.BIMODAL, cell.speeds
    assert modes is not None
    assert modes.low == pytest.approx(slow, rel=0.2)
    # A busy machine slows the quick steps most, so the fast mode is held to its own figures: exactly; and to what was
    # planted where these agree, for then nobody was in its way.
    quick = [one for one in cell.speeds if one > math.sqrt(slow * fast)]
    assert modes.high == pytest.approx(geometric_mean(quick))
    assert modes.low < modes.high < 1.1 * fast
    if max(quick) < 1.03 * min(quick):
        assert modes.high / modes.low == pytest.approx(6, rel=0.2)
    assert any("bimodal (*), an operational fact and not noise" in note for note in notes(arms_of(result, db)))


async def test_a_dead_drafter_is_called_by_its_name_in_its_cell_alone(db: Path) -> None:
    silent = {**DRAFTER, "rules": [{"when": "P > 300", "symptom": "speculation-off"}]}
    async with worlds(silent) as simulations:
        result = await measure(simulations, db, lengths=(200, 400))
    told = [note for note in notes(arms_of(result, db)) if "drafter" in note]
    assert told == ["400 words cold, target: the drafter is dead in this cell: 0 of 23 drafts accepted"]


async def test_arms_take_turns_and_their_factors_multiply(db: Path) -> None:
    events: list[Event] = []
    eager = {"draft": {"k": 7, "acceptance_length": 5.0}}
    async with worlds(eager, {}, paced(decode_s=6 * STEP_S)) as simulations:
        result = await measure(simulations, db, events.append, repeats=2)
    (row,) = rows(arms_of(result, db))
    assert row.ratio is not None
    assert all(factor.value > 1.5 for factor in row.factors)
    assert row.factors[0].value * row.factors[1].value == pytest.approx(row.ratio.value)

    whose, told = "", []
    for event in events:
        if isinstance(event, Note) and event.text.endswith(":"):
            whose = event.text[:-1]
        elif isinstance(event, ProbeEnded) and event.observation.spec.role is Role.MEASURE:
            told.append(whose)
    assert told[:6] == ["target", "a", "b", "b", "a", "target"]
    with History.open(db) as history:
        runs = [one.record for one in history.runs()]
    assert sorted(str(one.settings.get("control", "")) for one in runs) == ["", "a", "b"]
    assert audit(db).sound


async def test_a_control_that_dies_ends_with_its_finding_and_the_target_goes_on(db: Path) -> None:
    events: list[Event] = []
    async with worlds({}, DIES) as simulations:
        with anyio.fail_after(60):
            result = await measure(simulations, db, events.append, lengths=(200, 400))
    target, control = arms_of(result, db)
    assert control.run is not None
    assert control.run.finding is not None
    assert (control.run.finding.kind, control.run.finding.first_bad) == (FindingKind.DEATH, 400)
    assert len(target.cells) == 2
    assert all(cell.reliable for cell in target.cells.values())
    assert [row.ratio is None for row in rows((target, control))] == [False, True]
    assert any(
        isinstance(one, Note) and "the control a ended early: 400 prompt tokens: death" in one.text for one in events
    )
    assert any("a has not come to its end: 400 prompt tokens: death" in note for note in notes((target, control)))


async def test_a_target_that_dies_ends_with_its_finding_and_the_control_goes_on(db: Path) -> None:
    async with worlds(DIES, {}) as simulations:
        with anyio.fail_after(60):
            result = await measure(simulations, db, lengths=(200, 400))
    assert (result.finding.kind, result.finding.first_bad) == (FindingKind.DEATH, 400)
    _, control = arms_of(result, db)
    assert len(control.cells) == 2


async def test_concurrency_is_a_cell_of_its_own(db: Path) -> None:
    async with worlds({}) as simulations:
        result = await measure(simulations, db, concurrencies=(1, 3))
    found = [(row.cell.concurrency, row.figures[0]) for row in rows(arms_of(result, db))]
    assert [number for number, _ in found] == [1, 3]
    assert all(cell is not None and cell.reliable for _, cell in found)


async def test_companions_are_not_asked_for_twice(db: Path) -> None:
    async with worlds({}) as simulations:
        with pytest.raises(UsageFault, match="--concurrency"):
            await measure(simulations, db, flags={"companions": 2})


async def test_an_interrupted_measurement_goes_on_in_all_its_arms(db: Path) -> None:
    stop, ended = anyio.Event(), list[Event]()

    def heed(event: Event) -> None:
        ended.extend([event] if isinstance(event, ProbeEnded) else [])
        if len(ended) == 5:
            stop.set()

    async with worlds({}, {}) as simulations:
        with pytest.raises(Interrupted):
            await measure(simulations, db, heed, stop=stop)
        with History.open(db) as history:
            (run,) = [one for one in history.runs() if measuring.controls_of(one)]
        flags = CommonFlags(url=simulations[0].url, db=db, output_tokens=24)
        async with opening.opened(flags, pace=QUICK, sample_s=0.1) as opened:
            result = await measuring.resumed(opened, run, (), anyio.Event())
    target, control = arms_of(result, db)
    assert all(cell.reliable for arm in (target, control) for cell in arm.cells.values())
    assert len(target.cells) == len(control.cells) == 1
    with History.open(db) as history:
        assert sorted(one.status for one in history.runs()) == ["done", "done"]


async def test_a_control_whose_url_is_masked_is_told_and_the_others_go_on_without_it(db: Path) -> None:
    heard = list[Event]()
    async with worlds({}) as (target,):
        flags, masked = CommonFlags(url=target.url, db=db, output_tokens=24), ("plain", "http://***@127.0.0.1:9")

        def ask(opened: session.Session) -> SpeedQuestion:
            return questions.to_speed(opened, lengths=(200,), contents=("words",), concurrencies=(1,), repeats=1)

        async with opening.opened(flags, pace=QUICK, sample_s=0.1) as opened:
            result = await measuring.side_by_side(opened, ask, [masked], [heard.append], anyio.Event(), sample_s=0.1)
    assert exit_of(result.finding) == Exit.ANSWERED
    [told] = [event.text for event in heard if isinstance(event, Note) and event.level == "warning"]
    assert told.startswith("the control plain could not be asked: its URL held a secret")


async def quick(folder: Path, *args: str) -> subprocess.CompletedProcess[bytes]:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return await forked.run_process([sys.executable, "-m", "tests.chaos.quick", *args], cwd=folder, env=env)


async def test_the_command_prints_its_table_show_prints_it_again_and_the_report_draws_it(tmp_path: Path) -> None:
    async with worlds(DRAFTER, {}) as (target, control):
        asked = ("--lengths", "200,400", "--output-tokens", "24", "--repeats", "1", "--control", f"plain={control.url}")
        ahead = await quick(tmp_path, "speed", "--url", target.url, *asked, "--dry-run", "--json")
        assert json.loads(ahead.stdout)["expected_probes"] == 2 * (1 + 2 * 3)
        assert not target.log
        done = await quick(tmp_path, "speed", "--url", target.url, *asked, "--json", "-q")
        assert done.returncode == 0, done.stderr.decode()
    told = json.loads(done.stdout)
    assert told["schema"] == "ctxfuzz.speed/1"
    assert [arm["name"] for arm in told["arms"]] == ["target", "plain"]
    assert [cell["length"] for cell in told["cells"]] == [200, 400]
    for cell in told["cells"]:
        fast, slow = cell["arms"]
        of_the_figures = fast["decode_tokens_per_s"] / slow["decode_tokens_per_s"]
        assert cell["ratio"]["value"] == pytest.approx(of_the_figures), "one figure each"
        assert fast["mean_acceptance_length"] == pytest.approx(2, rel=0.2)
        assert (slow["mean_acceptance_length"], fast["provisional"], cell["factors"]) == (None, False, [])

    shown = (await quick(tmp_path, "show", told["run"])).stdout.decode()
    assert "arms: plain -> target" in shown
    assert f"{told['cells'][0]['arms'][1]['decode_tokens_per_s']:,.1f} -> " in shown
    assert json.loads((await quick(tmp_path, "show", told["run"], "--json")).stdout)["speed"]["cells"] == told["cells"]

    remember_a_cap(tmp_path / "runs.db", told, 480)
    page = (await quick(tmp_path, "report", told["run"])).stdout.decode()
    assert page.count("<polyline") == 2
    assert page.count("cap 480") == 2, "over the speed and over the acceptance"


def remember_a_cap(db: Path, told: Mapping[str, Any], cap: int) -> None:
    """A bisect of the same build, and the same drafter, that recommended this cap."""
    engine, limit = told["engine"], told["advertised_max_model_len"]
    build = (told["url"], told["model"], engine["name"], "bisect", engine["version"], limit)
    record = RunRecord("bisect", (), *build, BisectQuestion(lo=1, hi=cap + 1, draft_tokens=3).to_json())
    with Store.open(db) as store:
        run = store.begin(record)
        finding = Finding(FindingKind.DEATH, "it dies", last_good=cap, first_bad=cap + 1, cap=cap)
        store.finish(run, finding, "done", at_s=1.0)

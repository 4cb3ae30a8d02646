"""What settles a death on record, and what is sent of it where none is allowed: of a gate, a resume, a replay?"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from fuzzer.cli import comparing, opening, questions
from fuzzer.cli.common import CommonFlags
from fuzzer.cli.memory import with_deaths
from fuzzer.cli.sparing import MOST_ASKED_AGAIN, heed, with_deadly
from fuzzer.errors import Interrupted, RunStopped
from fuzzer.events import Event, Note, ProbeEnded
from fuzzer.finding import Finding, FindingKind
from fuzzer.observation import Observation
from fuzzer.plans.fuzz import FuzzQuestion
from fuzzer.plans.known import Deadly
from fuzzer.plans.same import SameQuestion
from fuzzer.plans.sweep import SweepQuestion
from fuzzer.plans.verify import VerifyQuestion
from fuzzer.store import History
from targets.sim import running
from targets.sim.world import World
from tests.integration.playing import QUICK
from tests.integration.test_cli_replay import quick
from tests.integration.test_killed_before import (
    CAPPED,
    ISLAND,
    KILLED,
    QUESTION,
    at,
    changed,
    recalled,
    recommended,
    record,
    session,
)

WIDE = replace(QUESTION, hi=100_000)
MENDED = replace(CAPPED, last_good=90_000, first_bad=None, verified_up_to=90_000, cap=90_000)
GATE = VerifyQuestion(cap=90_000, far=180_000, modes=("ids",), limit=131_072)
OTHERWISE = changed(content="repeat")
SAMPLED = FuzzQuestion(cap=90_000, most_samples=9)
HELD = Finding(FindingKind.CLEAN_LIMIT, "", last_good=89_999, cap=90_000)
WORLD = {"limit": {"tokens": 4_096}, "model": "m", "version": "1", "restart": {"delay_s": 0.1}}


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


def test_the_lowest_death_above_an_edge_settles_those_above_it(db: Path) -> None:
    """An engine that was mended is bisected once more, and not once for each death that found its edge."""
    record(db, ISLAND, at(50_001), at(55_000), at(95_000), KILLED)
    mended = record(db, MENDED, asked=replace(WIDE, known_bad=(32_768, 50_001)))
    assert recommended(db, mended)[0] == 0
    assert recalled(db, hi=100_000)[0] == (95_000,)  # no cap admitted it
    again = record(db, None, at(55_000), plan="probe")
    code, said = recommended(db, mended)
    assert (code, f"run {again} recorded" in said) == (3, True)


def test_a_death_below_the_edge_of_its_run_is_settled_by_itself_alone(db: Path) -> None:
    record(db, ISLAND, at(50_001), KILLED)
    for known_bad in ((50_001,), (30_000, 50_001)):
        mended = record(db, MENDED, asked=replace(WIDE, known_bad=known_bad))
        assert recommended(db, mended)[0] == 3
        assert recalled(db, hi=100_000)[0] == (32_768,)


@pytest.mark.parametrize("axis", ["prompt", "output"])
def test_what_samples_met_or_what_output_did_is_no_edge(db: Path, axis: str) -> None:
    sampled = SAMPLED if axis == "prompt" else replace(QUESTION, axis="output")
    record(
        db,
        replace(ISLAND, first_bad=32_768),
        KILLED,
        at(55_000),
        plan="fuzz" if axis == "prompt" else "bisect",
        asked=sampled,
    )
    assert recalled(db, hi=100_000)[0] == (32_768, 55_000)
    assert [one.length for one in with_deadly(session(db), GATE).known_bad] == [32_768, 55_000]


def test_a_gate_asks_the_lowest_death_above_an_edge_for_all(db: Path) -> None:
    record(db, ISLAND, at(50_001), at(55_000), at(89_990), KILLED)
    gate = with_deadly(session(db), GATE)
    assert [one.length for one in gate.known_bad] == [32_768, 50_001]
    held = record(db, HELD, plan="verify", asked=gate)
    assert recommended(db, held) == (0, "--max-model-len 90000\n")
    other = record(db, HELD, plan="verify", asked=replace(gate, known_bad=(Deadly(32_768, "ids", stream=True),)))
    assert recommended(db, other)[0] == 3


def test_a_gate_does_not_ask_without_end(db: Path) -> None:
    deaths = [at(1_000 * (1 + nth)) for nth in range(MOST_ASKED_AGAIN)]
    record(db, None, *deaths, plan="fuzz", asked=SAMPLED)
    assert len(with_deadly(session(db), GATE).known_bad) == MOST_ASKED_AGAIN
    record(db, None, at(60_000), plan="probe")
    with pytest.raises(RunStopped, match=f"at {MOST_ASKED_AGAIN + 1} lengths on record.*Bisect"):
        with_deadly(session(db), GATE)


@pytest.mark.anyio
async def test_a_gate_says_before_it_begins_what_killed_before(db: Path) -> None:
    async with running(World.from_dict(WORLD)) as target:
        run = record(db, None, at(3_000), plan="probe", url=target.url)
        told = await quick(db.parent, "verify", "--url", target.url, "--cap", "4096", "--mode", "ids", "--dry-run")
        assert f"run {run} recorded that 3000 tokens killed this build" in told.stderr.decode()
        assert told.returncode == 0
        assert target.deaths == 0


@pytest.mark.anyio
async def test_a_run_that_goes_on_without_a_death_to_spend_heeds_what_others_saw_since(db: Path) -> None:
    stop = anyio.Event()

    def stopping(event: Event) -> None:
        if isinstance(event, ProbeEnded):
            stop.set()

    async with running(World.from_dict(WORLD)) as target:
        flags = CommonFlags(url=target.url, db=db, mode="ids", max_deaths=0)
        async with opening.opened(flags, pace=QUICK, sample_s=0.1) as opened:
            asked = questions.Asked("bisect", questions.to_bisect(opened, {"lo": 3_000, "hi": 4_000}, ()))
            with pytest.raises(Interrupted):
                await opened.run("bisect", asked, (stopping,), stop)
            with History.open(db) as history:
                begun = history.get("last")
            heed(opened, begun)
            record(db, None, replace(OTHERWISE, length=3_001), plan="probe", url=opened.target.url)
            heed(opened, begun)
            killed = record(db, None, replace(OTHERWISE, length=3_000), plan="probe", url=opened.target.url)
            with pytest.raises(RunStopped, match=f"3000 tokens are not sent: run {killed}"):
                heed(opened, begun)
        told = await quick(db.parent, "resume", begun.run)
        assert (told.returncode, f"run {killed} recorded" in told.stderr.decode()) == (3, True)
        assert len([one for one in target.log if one.prompt_tokens >= 3_000]) == 0


@pytest.mark.parametrize(
    ("asked", "since", "known_bad"),
    [
        (QUESTION, KILLED, (32_768,)),
        (replace(QUESTION, known_bad=(50_000,)), KILLED, (32_768, 50_000)),
        (replace(QUESTION, known_bad=(32_768,)), KILLED, (32_768,)),
        (QUESTION, at(60_001), ()),
        (QUESTION, OTHERWISE, ()),
        (replace(QUESTION, axis="output"), KILLED, ()),  # whose lengths are others
        (SweepQuestion(lengths=(45_000,)), KILLED, None),  # recommends nothing
    ],
)
def test_a_bisect_that_goes_on_asks_what_another_run_saw_kill_since(
    db: Path, asked: questions.Question, since: Observation, known_bad: tuple[int, ...] | None
) -> None:
    record(db, None, at(1_000), plan="probe")  # before it began: an older version went on over it
    name = record(db, None, plan="sweep" if known_bad is None else "bisect", asked=asked)
    with History.open(db) as history:
        run = history.get(name)
    assert heed(session(db), run) == []
    killed = record(db, None, since, plan="probe")
    question, notes = with_deaths(asked, heed(session(db), run))
    assert getattr(question, "known_bad", None) == known_bad
    assert [killed in note.text for note in notes] == [True] * (known_bad is not None and 32_768 in known_bad)


@pytest.mark.parametrize(
    ("since", "is_told"), [(KILLED, True), (at(89_990), False), (changed(mode="chat"), False), (OTHERWISE, False)]
)
def test_a_gate_does_not_go_on_over_what_another_run_saw_kill_since(
    db: Path, since: Observation, is_told: bool
) -> None:
    record(db, None, at(1_000), plan="probe")
    name = record(db, None, at(2_000), plan="verify", asked=GATE)
    with History.open(db) as history:
        run = history.get(name)
    assert heed(session(db), run) == []
    killed = record(db, None, since, plan="probe")
    if is_told:
        with pytest.raises(RunStopped, match=f"Run {killed} recorded, since run {name} began, that 32768"):
            heed(session(db), run)
    else:
        assert heed(session(db), run) == []


@pytest.mark.anyio
async def test_an_island_that_was_met_while_a_bisect_was_interrupted_is_under_no_cap_of_it(db: Path) -> None:
    island = {**WORLD, "rules": [{"when": "P == 1000", "symptom": "death"}]}
    stop = anyio.Event()

    def stopping(event: Event) -> None:
        if isinstance(event, ProbeEnded) and event.observation.length >= 2_000:
            stop.set()

    async with running(World.from_dict(island)) as target:
        flags = CommonFlags(url=target.url, db=db, mode="ids")
        async with opening.opened(flags, pace=QUICK, sample_s=0.1) as opened:
            asked = questions.Asked("bisect", questions.to_bisect(opened, {"lo": 2_000, "hi": 9_000}, ()))
            with pytest.raises(Interrupted):
                await opened.run("bisect", asked, (stopping,), stop)
        with History.open(db) as history:
            begun = history.get("last").run
        await quick(db.parent, "probe", "1000", "--url", target.url)
        await target.up()
        told = await quick(db.parent, "resume", begun, "--json")
        assert json.loads(told.stdout)["recommended_max_model_len"] in {None, *range(1_000)}, told.stderr.decode()
        assert "recorded that 1000 tokens killed this build" in told.stderr.decode()


def test_a_cap_that_was_searched_over_outputs_is_held_against_the_record_too(db: Path) -> None:
    run = record(db, CAPPED, asked=replace(QUESTION, axis="output"))
    assert recommended(db, run)[0] == 0
    record(db, None, OTHERWISE, at(49_999), plan="probe")
    assert recommended(db, run)[0] == 0
    killed = record(db, ISLAND, KILLED)
    code, said = recommended(db, run)
    assert (code, f"run {killed} recorded" in said) == (3, True)
    record(db, CAPPED, asked=replace(QUESTION, known_bad=(32_768,)))
    assert recommended(db, run)[0] == 0


@pytest.mark.parametrize(
    ("plan", "asked", "is_spared"),
    [
        ("verify", replace(GATE, max_deaths=0), True),
        ("verify", replace(GATE, cap=30_000, max_deaths=0), False),
        ("bisect", replace(QUESTION, known_good=45_000, lo=10_000), True),
        ("bisect", replace(QUESTION, lo=10_000), False),
        ("bisect", replace(QUESTION, axis="output"), False),
        ("sweep", SweepQuestion(lengths=(1_000, 45_000)), False),  # only the shortest is sent
        ("sweep", SweepQuestion(lengths=(45_000,)), True),
        ("same", SameQuestion(lengths=(1_000, 45_000)), True),  # all are
        ("fuzz", SAMPLED, False),  # sends nothing
    ],
)
def test_each_plan_is_held_to_what_it_would_send_without_a_death(
    db: Path, plan: str, asked: questions.Question, is_spared: bool
) -> None:
    name = record(db, None, replace(OTHERWISE, length=5_000), plan=plan, asked=asked)  # its own it has weighed
    record(db, None, OTHERWISE, plan="probe")
    with History.open(db) as history:
        run = history.get(name)
    heed(session(db), run)
    if is_spared:
        with pytest.raises(RunStopped, match="max-deaths 0"):
            heed(session(db, max_deaths=0), run)
    else:
        heed(session(db, max_deaths=0), run)


@pytest.mark.anyio
async def test_a_control_is_sent_nothing_that_killed_it_before_where_no_death_is_allowed(db: Path) -> None:
    notes: list[Event] = []
    async with running(World.from_dict(WORLD)) as target, running(World.from_dict(WORLD)) as control:
        record(db, None, at(1_000), plan="probe", url=control.url)
        flags = CommonFlags(url=target.url, db=db, mode="ids", max_deaths=0, seed=1)
        async with opening.opened(flags, pace=QUICK, sample_s=0.1) as opened:
            question = questions.to_same(opened, (1_000,), ())
            plain = ("plain", control.url)
            await comparing.compared(opened, question, plain, (notes.append,), anyio.Event(), sample_s=0.1)
        assert [one.prompt_tokens for one in target.log if one.prompt_tokens >= 1_000]
        assert not [one.prompt_tokens for one in control.log if one.prompt_tokens >= 1_000]
    assert any(isinstance(one, Note) and "1000 tokens are not sent" in one.text for one in notes)

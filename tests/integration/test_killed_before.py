"""What of the record keeps a cap down, or a length from being sent: which failures, of which build, asked how?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from click.testing import CliRunner

from fuzzer.before.preflight import Company
from fuzzer.cli import main, opening, questions
from fuzzer.cli.common import CommonFlags
from fuzzer.cli.memory import remembered
from fuzzer.cli.sparing import killed, spare, spare_under
from fuzzer.errors import RunStopped
from fuzzer.finding import Finding, FindingKind
from fuzzer.model import FAIL_ON_DEFAULT, Corroboration, Outcome, Role
from fuzzer.observation import Observation
from fuzzer.plans.bisect import BisectQuestion
from fuzzer.plans.verify import VerifyQuestion
from fuzzer.store import History, Intent, RunRecord, Store
from targets.sim import running
from targets.sim.world import World

if TYPE_CHECKING:
    from fuzzer.cli.questions import Question
    from fuzzer.cli.session import Session
    from fuzzer.events import Note

URL = "http://host:8000"
QUESTION = BisectQuestion(lo=40_000, hi=60_000, limit=131_072)
KILLED = Observation(
    seq=1,
    spec=QUESTION.spec(32_768, Role.SEARCH, "the edge is in .."),
    outcome=Outcome.DEATH,
    length=32_768,
    length_source="inferred",
    deaths=1,
    blames="this",
)
ISLAND = Finding(FindingKind.DEATH, "", last_good=50_000, first_bad=50_001, islands=((32_768, 32_768),))
CAPPED = replace(ISLAND, islands=(), cap=50_000, verified_up_to=50_000)


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


def record(
    db: Path,
    finding: Finding | None,
    *seen: Observation,
    late: str = "",
    version: str = "1",
    plan: str = "bisect",
    asked: Question = QUESTION,
    url: str = URL,
) -> str:
    """A run that saw this. `late`: the end of the engine that its first probe left hanging."""
    told = RunRecord(plan, ("ctxfuzz",), url, "m", "vllm", plan, version, 131_072, asked.to_json())
    with Store.open(db) as store:
        run = store.begin(told)
        for seq, one in enumerate(seen, 1):
            store.intend(run, Intent(seq, one.spec, 1.0, one.length, "0" * 64, 5))
            store.complete(run, replace(one, seq=seq), {})
        if late:
            store.death(run, 1, at_s=9.0, corroboration=Corroboration.PROVEN, signature=late)
        store.finish(run, finding, "done", at_s=9.0)
    return run


def session(db: Path, max_deaths: int = 12, *, drafts: bool | None = None) -> Session:
    flags = SimpleNamespace(db=db, fail_on=FAIL_ON_DEFAULT, url=URL, headers=(), max_deaths=max_deaths)
    survey = SimpleNamespace(model="m", version="1", engine="vllm")
    told = {"flags": flags, "target": SimpleNamespace(url=URL), "survey": survey, "company": Company(1, drafts=drafts)}
    return cast("Session", SimpleNamespace(**told))


def recalled(db: Path, **asked: Any) -> tuple[tuple[int, ...], list[Note]]:
    question, notes = remembered(session(db), replace(QUESTION, **asked))
    return question.known_bad, notes


def changed(**spec: Any) -> Observation:
    return replace(KILLED, spec=replace(KILLED.spec, **spec))


def at(length: int, **more: Any) -> Observation:
    return replace(KILLED, spec=replace(KILLED.spec, length=length), length=length, **more)


WEDGED = replace(KILLED, outcome=Outcome.HANG, deaths=0, blames=None, wedged=True)


@pytest.mark.parametrize("seen", [KILLED, WEDGED, changed(output_tokens=1), changed(role=Role.SINGLE)])
def test_what_killed_or_wedged_this_build_is_asked_again_under_a_cap(db: Path, seen: Observation) -> None:
    run = record(db, ISLAND, seen)
    known_bad, [note] = recalled(db)
    assert known_bad == (32_768,)
    assert run in note.text
    assert recalled(db, limit=50_000) == (known_bad, [note])  # the limit that a cap set is no other engine


@pytest.mark.parametrize(
    "seen",
    [
        replace(KILLED, blames="nobody"),
        replace(KILLED, outcome=Outcome.ERROR, deaths=0, blames=None),
        changed(content="repeat"),
        changed(cache="warm"),
        changed(companions=(512,)),
        changed(output_tokens=33),
        at(60_001),
    ],
)
def test_what_was_asked_otherwise_or_had_another_end_keeps_no_cap_down(db: Path, seen: Observation) -> None:
    record(db, replace(ISLAND, first_bad=None), seen)
    assert recalled(db) == ((), [])


def test_another_build_and_deaths_that_were_not_by_length_say_nothing(db: Path) -> None:
    record(db, ISLAND, KILLED, version="2")
    record(db, replace(ISLAND, kind=FindingKind.NOT_LENGTH), KILLED)
    assert recalled(db) == ((), [])


def test_of_an_edge_its_lowest_death_stands_for_all(db: Path) -> None:
    record(db, ISLAND, at(55_000), at(50_001), KILLED, at(52_000))
    assert recalled(db)[0] == (32_768, 50_001)
    record(db, None, at(58_000))  # a run that never ended found no edge
    assert recalled(db)[0] == (32_768, 50_001, 58_000)


def test_what_a_later_run_cleared_is_settled_until_it_kills_again(db: Path) -> None:
    record(db, ISLAND, KILLED)
    record(db, CAPPED)  # never asked that length
    assert recalled(db)[0] == (32_768,)
    record(db, CAPPED, asked=replace(QUESTION, known_bad=(32_768,), content="repeat"))
    assert recalled(db)[0] == (32_768,)
    record(db, CAPPED, asked=replace(QUESTION, known_bad=(32_768,)))
    assert recalled(db) == ((), [])
    spare(session(db, max_deaths=0), 32_768)
    record(db, None, KILLED, plan="probe")
    assert recalled(db)[0] == (32_768,)


@pytest.mark.parametrize(("seen", "late"), [(KILLED, ""), (WEDGED, ""), (replace(WEDGED), "its watchdog ended it")])
def test_without_a_death_to_spare_a_wedge_is_no_better(db: Path, seen: Observation, late: str) -> None:
    record(db, None, seen, late=late)
    with pytest.raises(RunStopped, match="32768 tokens"):
        spare(session(db, max_deaths=0), 32_768)
    spare(session(db, max_deaths=0), 32_767)
    with History.open(db) as history:
        [known] = history.known_failures(URL, "m", "1")
        assert known.observation == history.observations(known.run)[0]
    assert (known.observation.outcome, known.observation.deaths) == (
        (seen.outcome, seen.deaths) if not late else (Outcome.DEATH, 1)
    )


def recommended(db: Path, run: str) -> tuple[int, str]:
    told = CliRunner().invoke(main, ["recommend", run, "--db", str(db)])
    return told.exit_code, told.output if told.exception is None else f"{told.output}{told.exception}"


def test_no_cap_is_printed_that_admits_what_another_run_saw_kill(db: Path) -> None:
    run = record(db, CAPPED, at(50_001))
    assert recommended(db, run) == (0, "--max-model-len 50000\n")
    for harmless in (changed(content="repeat"), at(50_001), at(49_999), replace(KILLED, blames="nobody")):
        record(db, None, harmless, plan="probe")
        assert recommended(db, run) == (0, "--max-model-len 50000\n")
    killed = record(db, None, KILLED, plan="probe")
    code, said = recommended(db, run)
    assert code != 0
    assert "--max-model-len" not in said
    assert f"run {killed} recorded: 32768 tokens killed this build" in said
    cleared = record(db, CAPPED, asked=replace(QUESTION, known_bad=(32_768,)))
    assert recommended(db, cleared)[0] == recommended(db, run)[0] == 0
    again = record(db, None, KILLED, plan="probe")
    for older in (cleared, run):
        code, said = recommended(db, older)
        assert (code, f"run {again} recorded" in said) == (3, True)


@pytest.mark.parametrize("seen", [KILLED, changed(mode="chat"), changed(stream=False)])
def test_no_gate_makes_a_cap_of_what_another_run_saw_kill(db: Path, seen: Observation) -> None:
    gate = VerifyQuestion(cap=50_000, far=100_000, modes=("ids",), limit=131_072)
    held = Finding(FindingKind.CLEAN_LIMIT, "", last_good=49_999, cap=50_000)
    run = record(db, held, plan="verify", asked=gate)
    assert recommended(db, run)[0] == 0
    record(db, None, changed(content="repeat"), at(50_001), plan="probe")
    assert recommended(db, run)[0] == 0
    killed = record(db, None, seen, plan="probe")
    code, said = recommended(db, run)
    assert (code, f"run {killed} recorded" in said) == (3, True)


def test_without_a_death_to_spare_a_gate_sends_nothing_that_killed_under_its_cap(db: Path) -> None:
    record(db, None, at(49_990), plan="probe")  # with its output it is longer than the cap
    spare_under(session(db, max_deaths=0), 50_000)
    record(db, None, KILLED, plan="probe")
    spare_under(session(db), 50_000)
    spare_under(session(db, max_deaths=0), 32_768)
    with pytest.raises(RunStopped, match="what a cap of 50000 admits is not sent"):
        spare_under(session(db, max_deaths=0), 50_000)


@pytest.mark.parametrize(
    ("url", "hosts", "clears"),
    [
        ("http://localhost:8000", ("gpu-a", "gpu-b"), False),
        ("http://127.0.0.1:8000", ("gpu-a", "gpu-b"), False),
        ("http://[::1]:8000", ("gpu-a", "gpu-b"), False),
        ("http://localhost:8000", ("gpu-a", "gpu-a"), True),
        ("http://engine:8000", ("gpu-a", "gpu-b"), True),
    ],
)
def test_the_localhost_of_another_host_clears_no_death(
    url: str, hosts: tuple[str, str], clears: bool, db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for host, seen, asked in zip(
        hosts, ((KILLED,), ()), (QUESTION, replace(QUESTION, known_bad=(32_768,))), strict=True
    ):
        monkeypatch.setattr("socket.gethostname", lambda host=host: host)
        record(db, CAPPED, *seen, asked=asked, url=url)
    with History.open(db) as history:
        assert [run.host for run in history.runs()] == [*reversed(hosts)]
        assert (killed(history, url, "m", "1") == []) is clears


@pytest.mark.anyio
async def test_a_cap_is_rounded_to_what_the_engine_can_be_set_to(tmp_path: Path) -> None:
    """llama.cpp makes 50,176 of 50,000: what it holds is in the finding, so that all who read it say one number."""
    for dialect, round_to in (("llamacpp", 256), ("vllm", 16)):
        async with running(World.from_dict({"dialect": dialect, "limit": {"tokens": 50_000}})) as sim:
            flags = CommonFlags(url=sim.url, db=tmp_path / "runs.db")
            async with opening.opened(flags, sample_s=0.1) as opened:
                assert opened.survey.limit == (50_176 if dialect == "llamacpp" else 50_000)
                asked = {"lo": 100, "hi": 4_000}
                assert questions.to_bisect(opened, asked, ()).round_to == round_to
                assert questions.to_bisect(opened, {**asked, "round_to": 1_000}, ()).round_to == (
                    1_024 if dialect == "llamacpp" else 1_000
                )

"""What does an engine that changed, or another one, make of the record: a gate, a known ground, a run that goes on?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import anyio
import pytest

from fuzzer.cli import opening, questions
from fuzzer.cli.acquaintance import require_same_drafter
from fuzzer.cli.common import CommonFlags
from fuzzer.cli.memory import last_cap, remembered
from fuzzer.cli.publishing import gathered
from fuzzer.cli.sparing import asked_again, killed, with_deadly
from fuzzer.errors import AnotherEngine, Interrupted, RunStopped
from fuzzer.events import ProbeEnded
from fuzzer.finding import Finding, FindingKind
from fuzzer.model import Outcome, Role
from fuzzer.observation import Observation
from fuzzer.plans.bisect import BisectQuestion, bisect
from fuzzer.plans.known import Deadly
from fuzzer.plans.verify import VerifyQuestion, checks, verify
from fuzzer.store import History, RunRecord
from targets.scrape import DraftCounts, Scrape
from targets.sim import running
from targets.sim.world import World as Simulated
from tests.integration.playing import QUICK
from tests.integration.test_killed_before import (
    CAPPED,
    ISLAND,
    KILLED,
    QUESTION,
    URL,
    at,
    changed,
    recommended,
    record,
    session,
)
from tests.unit.worlds import World, play, prompt_above

if TYPE_CHECKING:
    from fuzzer.cli.session import Session

GATE = VerifyQuestion(cap=50_000, far=100_000, modes=("ids",), limit=50_000)
HELD = Finding(FindingKind.CLEAN_LIMIT, "", last_good=49_999, cap=50_000)
DEADLY = Deadly(32_768, "ids", stream=True)
DRAFTED = Observation(
    seq=1,
    spec=QUESTION.spec(64, Role.BASELINE, "what a short prompt shows"),
    outcome=Outcome.PASS,
    length=64,
    length_source="usage",
    draft=DraftCounts(10.0, 30.0, 5.0),
)
PLAIN = replace(DRAFTED, draft=None)


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


def elsewhere(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: host)


def gate(db: Path) -> VerifyQuestion:
    return with_deadly(session(db), GATE)


def test_a_gate_takes_up_what_killed_under_its_cap_as_it_was_sent(db: Path) -> None:
    assert gate(db) == GATE
    first = record(db, ISLAND, KILLED)
    whole = changed(stream=False)
    second = record(db, None, whole, at(49_990), at(50_001), changed(content="repeat"), plan="probe")
    record(db, None, changed(mode="chat"), plan="probe")  # this gate sends no chat
    known = gate(db).known_bad
    assert known == (Deadly(32_768, "ids", stream=False, run=second), DEADLY._replace(run=first))
    assert [
        f"run {one.run} recorded that 32768 tokens killed" in said
        for one, said in zip(known, asked_again(gate(db)), strict=True)
    ] == [True, True]
    assert asked_again(QUESTION) == []
    assert VerifyQuestion.from_json(gate(db).to_json()) == gate(db)
    assert VerifyQuestion.from_json({k: v for k, v in GATE.to_json().items() if k != "known_bad"}) == GATE


def test_what_killed_before_is_sent_right_after_the_short_prompt(db: Path) -> None:
    question = replace(GATE, known_bad=(DEADLY,))
    played = play(verify(question), World(limit=50_000).answer)
    assert [seen.length for seen in played.log[:2]] == [64, 32_768]
    assert played.finding.cap == 50_000
    told = [check for check in checks(question, played.log) if "killed this build before" in check.name]
    assert [(check.name, check.result) for check in told] == [
        ("ids: 32768 + 32, streamed, which killed this build before", "ok")
    ]
    played = play(verify(question), World(lambda asked: Outcome.DEATH if asked.prompt == 32_768 else None).answer)
    assert (played.finding.kind, played.finding.first_bad, played.finding.cap) == (FindingKind.DEATH, 32_768, None)
    assert len(played.log) == 2


def test_a_gate_that_asked_again_what_killed_speaks_for_its_cap_and_for_no_other(db: Path) -> None:
    older = record(db, CAPPED)
    record(db, None, KILLED, plan="probe")
    passed = record(db, HELD, plan="verify", asked=replace(GATE, known_bad=(DEADLY,)))
    assert recommended(db, passed) == (0, "--max-model-len 50000\n")
    assert recommended(db, older)[0] == 3
    again = record(db, None, KILLED, plan="probe")
    code, said = recommended(db, passed)
    assert (code, f"run {again} recorded" in said) == (3, True)


@pytest.mark.anyio
async def test_a_gate_dies_of_what_killed_before_at_once_and_only_once(db: Path) -> None:
    world = {"limit": {"tokens": 4_096}, "model": "m", "version": "1", "restart": {"delay_s": 0.1}}
    island = {"rules": [{"when": "P == 3000", "symptom": "death", "last_words": "CUDA error"}]}
    async with running(Simulated.from_dict(world | island)) as target:
        flags = CommonFlags(url=target.url, db=db, mode="ids")
        async with opening.opened(flags, pace=QUICK, sample_s=0.1) as opened:
            run = record(db, None, at(3_000), plan="probe", url=opened.target.url)
            question = questions.to_verify(opened, 4_096, None)
            assert question.known_bad == (Deadly(3_000, "ids", stream=True, run=run),)
            result = await opened.run("verify", questions.Asked("verify", question), (), anyio.Event())
        assert (result.finding.kind, result.finding.first_bad, result.finding.cap) == (FindingKind.DEATH, 3_000, None)
        assert target.deaths == 1


@pytest.mark.parametrize(("drafts", "is_sent"), [(0, False), (2, False), (3, True), (5, True)])
def test_ground_that_passed_with_fewer_drafts_is_not_known_to_one_that_drafts_more(drafts: int, is_sent: bool) -> None:
    question = BisectQuestion(lo=1_000, hi=50_000, max_deaths=0, known_good=20_000, known_good_drafts=drafts)
    played = play(bisect(question), World(prompt_above(9_000), k=3).answer)
    assert (20_000 in [seen.length for seen in played.log]) is is_sent


def test_of_what_is_known_to_pass_that_with_most_drafts_counts(db: Path) -> None:
    found = replace(CAPPED, verified_up_to=45_000)
    record(db, CAPPED, PLAIN)
    record(db, found, DRAFTED)
    question, _ = remembered(session(db), replace(QUESTION, max_deaths=0))
    assert (question.known_good, question.known_good_drafts) == (45_000, 3)


@pytest.mark.parametrize(("cleared_with", "is_cleared"), [(PLAIN, False), (DRAFTED, True)])
def test_without_the_drafter_no_death_with_it_is_cleared(db: Path, cleared_with: Observation, is_cleared: bool) -> None:
    record(db, ISLAND, DRAFTED, KILLED)
    record(db, CAPPED, cleared_with, asked=replace(QUESTION, known_bad=(32_768,)))
    with History.open(db) as history:
        assert (killed(history, URL, "m", "1") == []) is is_cleared


def test_a_death_that_told_nothing_of_a_drafter_is_cleared_by_whoever_passes(db: Path) -> None:
    record(db, ISLAND, KILLED)
    record(db, CAPPED, DRAFTED, asked=replace(QUESTION, known_bad=(32_768,)))
    with History.open(db) as history:
        assert killed(history, URL, "m", "1") == []


def local(db: Path, url: str) -> Session:
    opened = cast("Any", session(db))
    opened.target.url = opened.flags.url = url
    return cast("Session", opened)


@pytest.mark.parametrize(("url", "is_known"), [("http://localhost:8000", False), ("http://engine:8000", True)])
def test_nothing_is_trusted_of_the_localhost_of_another_host(
    db: Path, url: str, is_known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere(monkeypatch, "gpu-a")
    run = record(db, replace(CAPPED, first_bad=60_000), at(60_000), url=url)
    elsewhere(monkeypatch, "gpu-b")
    mine = record(db, None, url=url)
    opened = local(db, url)
    question, _ = remembered(opened, QUESTION)
    assert question.trust_hi is is_known
    assert question.known_good == (50_000 if is_known else None)
    assert last_cap(opened) == (50_000 if is_known else None)
    with History.open(db) as history:
        assert gathered(history, mine, db).cap == (50_000 if is_known else None)
        assert gathered(history, run, db).cap == 50_000


def test_a_cap_that_the_record_speaks_against_is_no_last_cap(db: Path) -> None:
    record(db, replace(CAPPED, cap=30_000, verified_up_to=30_000))
    run = record(db, CAPPED)
    assert last_cap(session(db)) == 50_000
    record(db, None, KILLED, plan="probe")
    assert last_cap(session(db)) == 30_000
    with History.open(db) as history:
        assert gathered(history, run, db).cap == 30_000


@pytest.mark.anyio
async def test_a_comparison_that_allows_no_death_sends_nothing_that_killed(db: Path) -> None:
    async with (
        running(Simulated.from_dict({"limit": {"tokens": 4_096}, "model": "m", "version": "1"})) as target,
        opening.opened(CommonFlags(url=target.url, db=db, max_deaths=0), sample_s=0.1) as opened,
    ):
        record(db, None, at(3_000), plan="probe", url=opened.target.url)
        questions.to_same(opened, (64, 2_999), ())
        with pytest.raises(RunStopped, match="3000 tokens are not sent"):
            questions.to_same(opened, (64, 3_000), ())


RECORD = RunRecord("bisect", ("ctxfuzz",), URL, "m", "vllm", "bisect", "1", None, QUESTION.to_json())
ON = Scrape(0.0, {"": 1.0}, {"vllm:prompt_tokens_total": 9.0}, prompt_tokens=9.0, draft=DraftCounts(0.0, 0.0, 0.0))
OFF = replace(ON, draft=None)


@pytest.mark.parametrize(
    ("seen", "now", "words"), [(PLAIN, ON, "was off and is on"), (DRAFTED, OFF, "was on and is off")]
)
def test_a_run_does_not_go_on_with_a_drafter_that_was_switched(seen: Observation, now: Scrape, words: str) -> None:
    with pytest.raises(AnotherEngine, match=f"the drafter {words}"):
        require_same_drafter(RECORD, [seen], now)
    require_same_drafter(RECORD, [], now)
    require_same_drafter(replace(RECORD, engine="sglang"), [seen], now)
    require_same_drafter(RECORD, [seen], None)
    for of_a_router in (Scrape(0.0), Scrape(0.0, monotone={"process_cpu_seconds_total": 3.0})):
        require_same_drafter(RECORD, [seen], of_a_router)
    require_same_drafter(RECORD, [replace(seen, outcome=Outcome.DEATH)], now)
    same = ON if seen.draft else OFF
    require_same_drafter(RECORD, [seen], same)


@pytest.mark.anyio
@pytest.mark.parametrize("drafts_later", [True, False])
async def test_a_real_engine_that_drafts_now_ends_a_run_that_began_without(db: Path, drafts_later: bool) -> None:
    plain = {"limit": {"tokens": 4_096}}
    drafter = {"draft": {"k": 3, "acceptance_length": 1.45}}
    begun, later = (plain, plain | drafter) if drafts_later else (plain | drafter, plain)
    stop = anyio.Event()

    def stopping(event: object) -> None:
        if isinstance(event, ProbeEnded):
            stop.set()

    async with running(Simulated.from_dict(begun)) as target:
        port = int(target.url.rpartition(":")[2])
        async with opening.opened(CommonFlags(url=target.url, db=db), pace=QUICK, sample_s=0.1) as opened:
            asked = questions.Asked("bisect", BisectQuestion(lo=100, hi=2_000, limit=4_096))
            with pytest.raises(Interrupted):
                await opened.run(
                    "bisect", asked, (lambda event: stop.set() if "Ended" in type(event).__name__ else None,), stop
                )
    async with running(Simulated.from_dict(later), port=port) as target:
        async with opening.opened(CommonFlags(url=target.url, db=db), pace=QUICK, sample_s=0.1) as opened:
            with History.open(db) as history:
                run = history.get("last")
                assert any(seen.outcome is Outcome.PASS for seen in history.observations(run.run))
            with pytest.raises(AnotherEngine, match="the drafter was"):
                await opened.resume(run, asked, (), anyio.Event())
        assert target.deaths == 0

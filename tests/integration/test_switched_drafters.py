"""What does an engine whose drafter was switched on, or off, make of caps, edges and deaths on record?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from click.testing import CliRunner

from fuzzer.before.preflight import read
from fuzzer.cli import main, opening, questions
from fuzzer.cli.common import CommonFlags
from fuzzer.cli.memory import last_cap, remembered
from fuzzer.cli.past import has_drafter
from fuzzer.cli.publishing import gathered
from fuzzer.cli.sparing import killed
from fuzzer.journal import STARTS, measured
from fuzzer.observation import Observation
from fuzzer.store import History, Intent, RunRecord, Store
from fuzzer.store.errors import Unreadable
from targets.scrape import DraftCounts, Scrape
from targets.sim import running
from targets.sim.world import World
from tests.integration.playing import QUICK
from tests.integration.tampering import forged
from tests.integration.test_between_runs import DRAFTED, PLAIN
from tests.integration.test_killed_before import CAPPED, ISLAND, KILLED, QUESTION, URL, at, record, session

SILENT = replace(DRAFTED, draft=DraftCounts(0.0, 0.0, 0.0))
VARIED = replace(DRAFTED, draft=DraftCounts(10.0, 27.0, 5.0))


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


def test_a_cap_that_was_found_without_a_drafter_is_none_for_an_engine_that_has_one(db: Path) -> None:
    older = record(db, replace(CAPPED, cap=30_000), DRAFTED)
    record(db, CAPPED, PLAIN)
    assert last_cap(session(db)) == last_cap(session(db, drafts=False)) == 50_000
    assert last_cap(session(db, drafts=True)) == 30_000
    with History.open(db) as history:
        assert gathered(history, older, db).cap == 30_000


def test_an_engine_that_shows_a_drafter_takes_no_ground_of_one_without(db: Path) -> None:
    record(db, CAPPED, PLAIN)
    for drafts, ground in ((None, 50_000), (False, 50_000), (True, None)):
        assert remembered(session(db, drafts=drafts), QUESTION)[0].known_good == ground
    record(db, replace(CAPPED, verified_up_to=45_000), VARIED)
    question, _ = remembered(session(db, drafts=True), QUESTION)
    assert (question.known_good, question.known_good_drafts) == (45_000, None)


def test_a_hi_that_failed_with_a_drafter_is_not_known_to_fail_without(db: Path) -> None:
    failed = at(60_000)
    record(db, replace(CAPPED, first_bad=60_000), DRAFTED, failed)
    for drafts, is_trusted in ((None, True), (True, True), (False, False)):
        assert remembered(session(db, drafts=drafts), QUESTION)[0].trust_hi is is_trusted
    record(db, replace(CAPPED, first_bad=60_000), PLAIN, failed)
    assert remembered(session(db, drafts=False), QUESTION)[0].trust_hi


def test_a_run_whose_answers_cannot_be_read_stops_no_other(db: Path) -> None:
    theirs = record(db, CAPPED, DRAFTED)
    with forged(db) as other:
        other.execute("UPDATE outcomes SET observation_json = json_set(observation_json, '$.draft', 5)")
    with History.open(db) as history, pytest.raises(Unreadable):
        history.observations(theirs)
    question, _ = remembered(session(db), QUESTION)
    assert (question.known_good, question.known_good_drafts) == (50_000, 0)
    assert remembered(session(db, drafts=True), QUESTION)[0].known_good is None
    assert last_cap(session(db, drafts=True)) is None


@pytest.mark.parametrize("known_bad", ['["a"]', "[null]", "5", "{}"])
def test_a_run_of_others_that_names_no_lengths_stops_nobody(db: Path, known_bad: str) -> None:
    record(db, ISLAND, DRAFTED, KILLED)
    theirs = record(db, CAPPED, PLAIN, asked=replace(QUESTION, known_bad=(32_768,)))
    with forged(db) as other:
        asked = "json_set(question_json, '$.known_bad', json(?))"
        other.execute(f"UPDATE runs SET question_json = {asked} WHERE run = ?", (known_bad, theirs))
    assert last_cap(session(db)) is None
    assert remembered(session(db), QUESTION)[0].known_bad == (32_768,)
    assert CliRunner().invoke(main, ["show", theirs, "--db", str(db)]).exit_code == 0


@pytest.mark.parametrize(
    ("died_with", "passed_with", "is_cleared"),
    [(SILENT, PLAIN, False), (SILENT, SILENT, True), (VARIED, PLAIN, False), (VARIED, VARIED, True)],
)
def test_a_death_beside_a_drafter_of_unknown_k_is_cleared_only_beside_one(
    db: Path, died_with: Observation, passed_with: Observation, is_cleared: bool
) -> None:
    record(db, ISLAND, died_with, KILLED)
    record(db, CAPPED, passed_with, asked=replace(QUESTION, known_bad=(32_768,)))
    with History.open(db) as history:
        assert (killed(history, URL, "m", "1") == []) is is_cleared


ENGINE = Scrape(0.0, {"": 1.0}, {"vllm:prompt_tokens_total": 9.0}, prompt_tokens=9.0)
ROUTER = Scrape(0.0, monotone={"process_cpu_seconds_total": 3.0}, running=0.0)  # counts no engine's work


def test_the_metrics_tell_of_a_drafter_before_anything_is_asked() -> None:
    drafting = replace(ENGINE, draft=DraftCounts(0.0, 0.0, 0.0))
    told = [read(seen).drafts for seen in ([], [Scrape(0.0)], [ROUTER], [ENGINE], [drafting])]
    assert told == [None, None, None, False, True]
    assert read([drafting, replace(drafting, starts={"": 900.0})]).drafts is None  # several engines


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("dialect", "k", "has"), [("vllm", 3, True), ("vllm", 0, False), ("llamacpp", 3, None), ("llamacpp", 0, None)]
)
async def test_only_an_engine_that_counts_no_drafts_without_one_tells_so(
    db: Path, dialect: str, k: int, has: bool | None
) -> None:
    drafter = {"draft": {"k": k, "acceptance_length": 1.4}} if k else {}
    async with (
        running(World.from_dict({"dialect": dialect, "limit": {"tokens": 4_096}, **drafter})) as target,
        opening.opened(CommonFlags(url=target.url, db=db), sample_s=0.1) as opened,
    ):
        assert has_drafter(opened) is has


@pytest.mark.anyio
async def test_without_a_death_to_spend_a_drafter_that_was_switched_on_kills_nothing(db: Path) -> None:
    """A run without it found that all passes; with it 2,000 tokens are too many."""
    plain = {"limit": {"tokens": 4_096}, "version": "1", "rules": [{"when": "SPEC and P > 2000", "symptom": "death"}]}
    drafting = {**plain, "draft": {"k": 7, "acceptance_length": 1.2}}
    asked = {"lo": 100, "hi": 4_000}
    async with running(World.from_dict(plain)) as target:
        port = int(target.url.rpartition(":")[2])
        async with opening.opened(CommonFlags(url=target.url, db=db), pace=QUICK, sample_s=0.1) as opened:
            question = questions.to_bisect(opened, asked, ())
            await opened.run("bisect", questions.Asked("bisect", question), (), anyio.Event())
    for world, deaths in ((plain, 0), (drafting, 0)):
        async with running(World.from_dict(world), port=port) as target:
            flags = CommonFlags(url=target.url, db=db, max_deaths=0)
            async with opening.opened(flags, pace=QUICK, sample_s=0.1) as opened:
                question, _ = remembered(opened, questions.to_bisect(opened, asked, ()))
                assert (question.known_good is None) is (world is drafting)
                found = await opened.run("bisect", questions.Asked("bisect", question), (), anyio.Event())
            assert (target.deaths, found.finding.verified_up_to) == (deaths, 100 if world is drafting else 4_000)


def test_a_probe_that_left_before_the_metrics_could_be_read_shows_no_drafter_and_no_lack_of_one(db: Path) -> None:
    told = RunRecord("bisect", ("ctxfuzz",), URL, "m", "vllm", "bisect", "1", None, QUESTION.to_json())
    with Store.open(db) as store:
        run = store.begin(told)
        for seq, starts in enumerate([{}, {"": 1.0}], 1):
            spec = replace(PLAIN.spec, length=1_000 + seq)
            store.intend(run, Intent(seq, spec, 1.0, spec.length, "0" * 64, 5, {STARTS: starts}))
            store.complete(run, replace(PLAIN, seq=seq, spec=spec, length=spec.length), {})
        assert measured(store, run) == {2}

"""What do later sessions and later runs take from the record: where they go on, in which life, and what they trust?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import anyio
import pytest

from fuzzer.before.preflight import Company
from fuzzer.cli import opening, questions
from fuzzer.cli.common import CommonFlags
from fuzzer.cli.memory import remembered
from fuzzer.errors import AnotherEngine, Interrupted, UsageFault
from fuzzer.finding import Finding, FindingKind, Halt
from fuzzer.journal import STARTS, StoreJournal, deaths_before_probes, last_seen_engine, settle
from fuzzer.model import Corroboration, Outcome, ProbeSpec, Role
from fuzzer.observation import Observation
from fuzzer.plans.bisect import BisectQuestion, bisect, next_step
from fuzzer.plans.ledger import Ledger
from fuzzer.store import History, Intent, RunRecord, Store, audit
from targets.scrape import Scrape
from targets.sim import running, world
from tests.unit.worlds import World, play, prompt_above

if TYPE_CHECKING:
    from fuzzer.cli.session import Session

URL = "http://host:8000"
QUESTION = BisectQuestion(lo=1_000, hi=50_000)
RECORD = RunRecord("bisect", ("ctxfuzz",), URL, "m", "vllm", "bisect", "0.32.0", None, QUESTION.to_json())
FOUND = Finding(FindingKind.DEATH, "why", last_good=20_000, first_bad=20_001, verified_up_to=20_000)


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


def intent(seq: int, spec: ProbeSpec) -> Intent:
    return Intent(seq, spec, started_s=100.0 * seq, sent_tokens=spec.length, body_sha256="0" * 64, body_bytes=5)


def write(store: Store, run: str, seen: Observation) -> None:
    store.intend(run, intent(seen.seq, seen.spec))
    store.complete(run, seen, {})


@pytest.mark.parametrize("trouble", [{"outcome": Outcome.INFRA}, {"revived": False}])
def test_a_halted_run_goes_on_where_it_halted_however_often(db: Path, trouble: dict[str, object]) -> None:
    log = play(bisect(QUESTION), World(prompt_above(20_000)).answer).log
    last = next(seen for seen in log if seen.deaths)
    before = [seen for seen in log if seen.seq < last.seq]
    with Store.open(db) as store:
        run = store.begin(RECORD)
        for seen in before:
            write(store, run, seen)
        for again in range(2):
            write(store, run, replace(last, seq=last.seq + again, **trouble))  # type: ignore[arg-type]
            halted = next_step(Ledger(QUESTION, store.observations(run)))
            assert isinstance(halted, Finding)
            store.finish(run, halted, "halted", at_s=9.0)
            store.reopen(run, (), at_s=9.0)
            assert isinstance(next_step(Ledger(QUESTION, store.observations(run))), ProbeSpec)
        marks = [seen.seq for seen in store.observations(run) if seen.resumed_after]
        assert marks == [last.seq, last.seq + 1]
    assert audit(db).problems == []


def test_a_session_that_had_asked_for_more_did_not_end_with_the_probe_before(db: Path) -> None:
    """Its next question was asked by what was known then: a replay that knows otherwise would ask for another one."""
    log = play(bisect(QUESTION), World(prompt_above(20_000)).answer).log
    with Store.open(db) as store:
        run = store.begin(RECORD)
        write(store, run, log[0])
        store.intend(run, intent(log[1].seq, log[1].spec))
        store.reopen(run, (), at_s=9.0)
        assert [seen.seq for seen in store.observations(run) if seen.resumed_after] == []


def test_a_probe_that_nobody_saw_end_is_written_into_its_life(db: Path) -> None:
    spec = QUESTION.spec(30_000, Role.SEARCH, "")
    with Store.open(db) as store:
        run = store.begin(RECORD)
        seen = play(bisect(QUESTION), World(prompt_above(20_000)).answer).log
        died = next(at for at, each in enumerate(seen) if each.deaths)
        for each in seen[: died + 3]:
            write(store, run, each)
        store.intend(run, intent(90, spec))
        settle(store, run, None)
        last = store.observations(run)[-1]
    assert (last.outcome, last.incarnation, last.ordinal, last.fresh) == (Outcome.ABANDONED, 1, 2, False)


def test_a_death_before_a_sessions_first_probe_hides_no_death_of_a_probe(db: Path) -> None:
    seen = play(bisect(QUESTION), World(prompt_above(20_000)).answer).log
    died = next(each for each in seen if each.deaths)
    with Store.open(db) as store:
        run = store.begin(RECORD)
        store.death(run, None, at_s=0.0, corroboration=Corroboration.PROVEN)
        store.finish(run, None, "halted", at_s=0.0)
        store.reopen(run, (), at_s=0.0)
        write(store, run, died)  # and then it was killed: the death has no row yet
        settle(store, run, None)
        assert [death.seq for death in store.deaths(run)] == [None, died.seq]
        store.death(run, None, at_s=9.0, corroboration=Corroboration.PROVEN)  # of what that session asked first
        settle(store, run, None)
        assert (len(store.deaths(run)), deaths_before_probes(store, run)) == (3, 2)


def look(life: int) -> Scrape:
    return Scrape(0.0, {"engine": float(life)})


def left(store: Store, run: str, seq: int, life: int) -> ProbeSpec:
    """A probe leaves an engine that is in this life; 0: nothing is seen of it."""
    spec = QUESTION.spec(30_000, Role.SEARCH, "")
    store.intend(run, replace(intent(seq, spec), recipe={STARTS: dict(look(life).starts) if life else {}}))
    return spec


def passed(store: Store, run: str, seq: int, life: int, **more: object) -> None:
    seen = Observation(seq, left(store, run, seq, life), Outcome.PASS, 30_000, "usage")
    seen = replace(seen, **more)  # type: ignore[arg-type]
    store.complete(run, seen, {})
    for _ in range(seen.deaths):
        store.death(run, None, at_s=0.0, corroboration=Corroboration.PRESUMED)


@pytest.mark.parametrize(
    ("before", "at_intent", "now", "deaths"),
    [
        (1, 1, 1, 0),
        (1, 1, 2, 1),
        (1, 2, 2, 1),  # it died before that session's first probe, which did not live to tell
        (1, 2, 3, 2),
        (1, 0, 2, 1),
        (1, 2, None, 1),  # nobody is there yet
        (0, 2, 2, 0),
    ],
)
def test_every_two_looks_at_the_engine_are_compared(
    db: Path, before: int, at_intent: int, now: int | None, deaths: int
) -> None:
    with Store.open(db) as store:
        run = store.begin(RECORD)
        passed(store, run, 1, before)
        store.finish(run, None, "interrupted", at_s=1.0)
        store.reopen(run, (), at_s=1.0)
        left(store, run, 2, at_intent)  # kill -9
        settle(store, run, None if now is None else look(now))
        settle(store, run, None if now is None else look(now))  # and once more: nothing is charged twice
        last = store.observations(run)[-1]
        assert (last.outcome, last.deaths, len(store.deaths(run))) == (Outcome.ABANDONED, deaths, deaths)
        assert (last.corroboration is None) == (deaths == 0)


def test_the_life_that_a_death_was_seen_to_begin_is_known(db: Path) -> None:
    with Store.open(db) as store:
        run = store.begin(RECORD)
        passed(store, run, 1, 1)
        passed(store, run, 2, 2, deaths=1, blames="nobody")  # as it left, it showed that another life had ended
        assert last_seen_engine(store, run) == look(2)
        left(store, run, 3, 3)
        settle(store, run, look(3))
        assert len(store.deaths(run)) == 2
        assert last_seen_engine(store, run) == look(3)


def test_who_was_looked_at_is_known_to_who_goes_on_but_not_what_was_told_and_may_be_mended(db: Path) -> None:
    with Store.open(db) as store:
        run = store.begin(RECORD)
        passed(store, run, 1, 2)
        passed(store, run, 2, 0)
        left(store, run, 3, 3)  # kill -9
        assert [dict(seen.starts) for seen in StoreJournal(store, run).engines()] == [{"engine": 2}, {}, {"engine": 3}]
        settle(store, run, None)
        passed(store, run, 4, 2, several=True)
        passed(store, run, 5, 2)
        assert StoreJournal(store, run).engines() == [look(2)]


@pytest.mark.parametrize("end", [{"deaths": 1}, {"deaths": 2}, {"wedged": True}])
def test_an_end_that_is_on_record_is_not_charged_again(db: Path, end: dict[str, object]) -> None:
    with Store.open(db) as store:
        run = store.begin(RECORD)
        passed(store, run, 1, 1, **end)
        known = len(store.deaths(run))
        left(store, run, 2, 2)
        settle(store, run, look(2))
        assert len(store.deaths(run)) == known


def test_a_death_before_a_sessions_first_probe_is_not_charged_again(db: Path) -> None:
    with Store.open(db) as store:
        run = store.begin(RECORD)
        passed(store, run, 1, 1)
        store.finish(run, None, "interrupted", at_s=1.0)
        store.reopen(run, (), at_s=1.0)
        store.death(run, None, at_s=1.0, corroboration=Corroboration.PROVEN)  # of what that session asked first
        assert last_seen_engine(store, run) is None


@pytest.mark.anyio
async def test_of_two_resumes_the_later_one_leaves_a_run_that_has_ended_alone(db: Path) -> None:
    """The run was read before the earlier one sealed it."""
    stop = anyio.Event()
    stop.set()
    asked = questions.Asked("bisect", BisectQuestion(lo=100, hi=200))
    async with running(world.World.from_dict({"limit": {"tokens": 4096}})) as target:
        async with opening.opened(CommonFlags(url=target.url, db=db), sample_s=0.1) as opened:
            with pytest.raises(Interrupted):
                await opened.run("bisect", asked, (), stop)
            with Store.open(db) as store:
                read_before = store.get("last")
                store.reopen(read_before.run, (), at_s=0.0)
                seal = store.finish(read_before.run, FOUND, "done", at_s=1.0)
            with pytest.raises(UsageFault, match=f"{read_before.run} has ended meanwhile"):
                await opened.resume(read_before, asked, (), anyio.Event())
        assert target.log == []
    with History.open(db) as history:
        assert history.get("last").seal == seal


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("now", "is_same"),
    [
        ({"limit": 4_000}, True),
        ({"limit": 2_048}, False),
        ({"limit": None}, True),  # it is not loaded yet, or not any more
        ({"version": None}, True),  # a gateway's rate keeps it back
        ({"version": "0.0.1"}, False),
    ],
)
async def test_a_window_that_was_fitted_to_memory_anew_is_the_same_engines(
    db: Path, now: dict[str, Any], is_same: bool
) -> None:
    stop = anyio.Event()
    stop.set()
    asked = questions.Asked("bisect", BisectQuestion(lo=100, hi=200))
    async with (
        running(world.World.from_dict({"limit": {"tokens": 4096}})) as target,
        opening.opened(CommonFlags(url=target.url, db=db), sample_s=0.1) as opened,
    ):
        with pytest.raises(Interrupted):
            await opened.run("bisect", asked, (), stop)
        with Store.open(db) as store:
            begun = store.get("last")
        later = replace(opened, survey=replace(opened.survey, **now))
        changed = "max_model_len was 4096" if "limit" in now else "version was"
        error, words = (Interrupted, None) if is_same else (AnotherEngine, changed)
        with pytest.raises(error, match=words):
            await later.resume(begun, asked, (), stop)


def recall(db: Path, question: BisectQuestion) -> BisectQuestion:
    survey = SimpleNamespace(model="m", version="0.32.0", engine="vllm")
    flags, target = CommonFlags(url=URL, db=db), SimpleNamespace(url=URL)
    session = SimpleNamespace(flags=flags, target=target, survey=survey, company=Company(1))
    return remembered(cast("Session", session), question)[0]


def conclude(db: Path, finding: Finding, deadly: int = 50_000, **more: object) -> None:
    """A run with one death, at `hi`, which came to this finding."""
    spec = replace(QUESTION.spec(deadly, Role.SEARCH, "the edge is in .."), wait_s=2.0)
    plain = Observation(seq=1, spec=spec, outcome=Outcome.DEATH, length=deadly, length_source="inferred", deaths=1)
    with Store.open(db) as store:
        run = store.begin(RECORD)
        write(store, run, replace(plain, **more))  # type: ignore[arg-type]
        store.finish(run, finding, "halted" if finding.halt else "done", at_s=9.0)


def test_what_a_run_concluded_is_remembered(db: Path) -> None:
    conclude(db, FOUND)
    assert recall(db, QUESTION) == replace(QUESTION, trust_hi=True, known_good=20_000)
    assert recall(db, replace(QUESTION, limit=60_000)).known_good is None


def test_a_mixed_search_decides_cold_and_remembers_what_was_cold(db: Path) -> None:
    conclude(db, FOUND)
    question = replace(QUESTION, cache="mixed")
    assert recall(db, question) == replace(question, trust_hi=True, known_good=20_000)


@pytest.mark.parametrize("other", [{"companions": 1}, {"cache": "warm"}, {"output_tokens": 1}, {"axis": "output"}])
def test_what_was_seen_under_other_conditions_is_not_trusted(db: Path, other: dict[str, object]) -> None:
    conclude(db, FOUND)
    question = replace(QUESTION, **other)  # type: ignore[arg-type]
    assert recall(db, question) == question


@pytest.mark.parametrize(
    ("finding", "known_bad"),
    [
        (replace(FOUND, kind=FindingKind.NOT_LENGTH, halt=Halt.NOT_LENGTH), ()),
        (replace(FOUND, kind=FindingKind.INCONCLUSIVE, halt=Halt.TIME), (50_000,)),
    ],
)
def test_what_came_to_no_answer_is_not_trusted(db: Path, finding: Finding, known_bad: tuple[int, ...]) -> None:
    """But a death is one, whatever its run came to."""
    conclude(db, finding)
    assert recall(db, QUESTION) == replace(QUESTION, known_bad=known_bad)


def test_ground_on_which_another_run_saw_a_death_is_not_known(db: Path) -> None:
    conclude(db, FOUND)
    conclude(db, replace(FOUND, last_good=9_000, first_bad=9_001, verified_up_to=9_000), deadly=9_001)
    assert recall(db, QUESTION).known_good == 9_000


def test_ground_is_known_by_what_passed(db: Path) -> None:
    conclude(db, replace(FOUND, last_good=30_000, verified_up_to=None))
    assert recall(db, QUESTION).known_good is None


def test_a_failure_among_others_requests_is_not_trusted(db: Path) -> None:
    conclude(db, FOUND, contended=True)
    assert not recall(db, QUESTION).trust_hi

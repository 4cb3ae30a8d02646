"""What do later sessions and later runs take from the record: where they go on, in which life, and what they trust?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from fuzzer.cli.memory import remembered
from fuzzer.finding import Finding, FindingKind, Halt
from fuzzer.journal import deaths_before_probes, settle
from fuzzer.model import FAIL_ON_DEFAULT, Corroboration, Observation, Outcome, ProbeSpec, Role
from fuzzer.plans.bisect import BisectQuestion, bisect, next_step
from fuzzer.plans.ledger import Ledger
from fuzzer.store import Intent, RunRecord, Store, audit
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


def recall(db: Path, question: BisectQuestion) -> BisectQuestion:
    survey = SimpleNamespace(model="m", version="0.32.0")
    flags = SimpleNamespace(db=db, fail_on=FAIL_ON_DEFAULT)
    session = SimpleNamespace(flags=flags, target=SimpleNamespace(url=URL), survey=survey)
    return remembered(cast("Session", session), question)[0]


def conclude(db: Path, finding: Finding, **more: object) -> None:
    """A run with one death at `hi`, which came to this finding."""
    spec = replace(QUESTION.spec(50_000, Role.SEARCH, "the edge is in .."), wait_s=2.0)
    plain = Observation(seq=1, spec=spec, outcome=Outcome.DEATH, length=50_000, length_source="inferred", deaths=1)
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
    "finding",
    [
        replace(FOUND, kind=FindingKind.NOT_LENGTH, halt=Halt.NOT_LENGTH),
        replace(FOUND, kind=FindingKind.INCONCLUSIVE, halt=Halt.TIME),
    ],
)
def test_what_came_to_no_answer_is_not_trusted(db: Path, finding: Finding) -> None:
    conclude(db, finding)
    assert recall(db, QUESTION) == QUESTION


def test_ground_is_known_by_what_passed(db: Path) -> None:
    conclude(db, replace(FOUND, last_good=30_000, verified_up_to=None))
    assert recall(db, QUESTION).known_good is None


def test_a_failure_among_others_requests_is_not_trusted(db: Path) -> None:
    conclude(db, FOUND, contended=True)
    assert not recall(db, QUESTION).trust_hi

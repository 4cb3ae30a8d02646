"""Is a failure pinned on the right length and the right sum, and does a session that ended not end the run?"""

from __future__ import annotations

from dataclasses import replace

import pytest

from fuzzer.finding import FindingKind, Halt
from fuzzer.model import Outcome, ProbeSpec, Role
from fuzzer.observation import Observation
from fuzzer.plans.answers import Answers
from fuzzer.plans.bisect import BisectQuestion, bisect, next_step
from fuzzer.plans.ledger import Ledger
from fuzzer.search import cause_of, suspects_within
from fuzzer.search.suspects import Axis
from tests.unit.worlds import Played, World, drafts_above, play, prompt_above

QUESTION = BisectQuestion(lo=1_000, hi=50_000)


# --- an engine that dies a while after its answer ---


class Late:
    """Answers everything, and is gone a few seconds after each prompt above `edge`: the next one finds nobody."""

    def __init__(self, edge: int, world: World) -> None:
        self.edge, self.world, self.dying = edge, world, False

    def answer(self, spec: ProbeSpec) -> Observation:
        seen = self.world.answer(spec)
        if self.dying:
            self.dying = False
            return replace(seen, outcome=Outcome.ABANDONED, deaths=1, blames="nobody")
        self.dying = seen.outcome is Outcome.PASS and spec.length > self.edge
        return seen


@pytest.mark.parametrize("limit", [None, 50_001])
def test_an_engine_that_dies_after_its_answers_is_not_taken_for_a_good_one(limit: int | None) -> None:
    late = Late(20_000, World(limit=limit))
    played = play(bisect(replace(QUESTION, limit=limit, max_deaths=60)), late.answer)
    assert (played.finding.kind, played.finding.last_good) == (FindingKind.DEATH, 20_000)
    assert play(bisect(replace(QUESTION, limit=limit)), Late(20_000, World(limit=limit)).answer).finding.kind in {
        FindingKind.DEATH,
        FindingKind.INCONCLUSIVE,
    }


class Restarted(Late):
    """As late, but a supervisor is quicker than the next probe: another life answers that, or dies of it too."""

    def answer(self, spec: ProbeSpec) -> Observation:
        seen, was_dying = self.world.answer(spec), self.dying
        self.dying = seen.outcome is Outcome.PASS and spec.length > self.edge
        return replace(seen, deaths=seen.deaths + 1, blames=seen.blames or "nobody") if was_dying else seen


@pytest.mark.parametrize("max_deaths", [1, 2, 3, 12, 30])
@pytest.mark.parametrize("later", [20_050, 21_000, 30_000])
def test_a_death_before_one_that_died_by_itself_takes_the_pass_away_too(max_deaths: int, later: int) -> None:
    restarted = Restarted(20_000, World(prompt_above(later)))
    finding = play(bisect(replace(QUESTION, max_deaths=max_deaths)), restarted.answer).finding
    if finding.cap is None:  # what is left passed but once, and so did what died a while after its answer
        assert "times after an answer (of 20" in finding.reason
    assert (finding.cap or 0) <= 20_000
    assert max_deaths < 30 or (finding.kind, finding.last_good) == (FindingKind.DEATH, 20_000)
    assert max_deaths < 30 or finding.cap is not None


def _seen(spec: ProbeSpec, seq: int, **more: object) -> Observation:
    plain = Observation(seq=seq, spec=spec, outcome=Outcome.PASS, length=spec.length, length_source="usage")
    return replace(plain, **more)  # type: ignore[arg-type]


def test_deaths_of_nobody_after_two_other_lengths_are_nobodys() -> None:
    ledger = Ledger(QUESTION)
    for seq, length in enumerate((64, 1_000, 9_000, 8_000)):
        ledger.take(_seen(QUESTION.spec(length, Role.SEARCH, ""), 2 * seq))
        if length > 1_000:
            gone = {"outcome": Outcome.ABANDONED, "deaths": 1, "blames": "nobody"}
            ledger.take(_seen(QUESTION.spec(length + 1, Role.SEARCH, ""), 2 * seq + 1, **gone))
    assert (ledger.deaths, ledger.bounds.first_bad) == (2, None)


def _after_deaths_of_nobody(*between: dict[str, object]) -> list[tuple[int, Outcome]]:
    """The evidence after three lengths that passed and what came then, in its order."""
    ledger = Ledger(QUESTION)
    for seq, length in enumerate((64, 1_000, 9_000)):
        ledger.take(_seen(QUESTION.spec(length, Role.SEARCH, ""), seq))
    for seq, more in enumerate(between, 3):
        ledger.take(_seen(QUESTION.spec(10_000, Role.SEARCH, ""), seq, **more))
    return [(seen.length, seen.outcome) for seen in ledger.evidence[2:]]


LOST = (10_000, Outcome.DEATH)
RESTARTED: dict[str, object] = {"deaths": 1, "blames": "nobody"}
UNSENT: dict[str, object] = {**RESTARTED, "outcome": Outcome.ABANDONED}


@pytest.mark.parametrize(
    ("between", "evidence"),
    [
        ([RESTARTED], []),
        ([UNSENT], []),
        ([{"outcome": Outcome.BUSY}, UNSENT], []),  # whoever was turned away did nothing
        ([UNSENT, UNSENT, UNSENT], []),  # each death but the first came after nobody
        ([RESTARTED, RESTARTED], []),
        ([RESTARTED, RESTARTED, RESTARTED], [LOST]),  # twice after it
        ([RESTARTED, UNSENT, UNSENT, UNSENT], []),
        ([{"outcome": Outcome.ERROR}, UNSENT], [(9_000, Outcome.PASS), (10_000, Outcome.ERROR)]),
        ([{"outcome": Outcome.DEATH, "deaths": 2, "blames": "this"}], [LOST]),
        ([{"outcome": Outcome.DEATH, "deaths": 2, "relapses": 1, "blames": "this"}], [(9_000, Outcome.PASS), LOST]),
    ],
)
def test_a_death_of_nobody_takes_away_the_pass_right_before_it_alone(
    between: list[dict[str, object]], evidence: list[tuple[int, Outcome]]
) -> None:
    assert _after_deaths_of_nobody(*between) == evidence


def test_a_probe_of_a_list_owns_the_second_death_after_it() -> None:
    spec, other = QUESTION.spec(9_000, Role.FIT, ""), QUESTION.spec(9_001, Role.FIT, "")
    answers = Answers()
    for seq in (0, 2):
        answers.take(_seen(spec, seq))
        answers.take(_seen(other, seq + 1, outcome=Outcome.ABANDONED, deaths=1, blames="nobody"))
        answer = answers.to(spec)
        assert (answer.outcome if answer else None) is (None if seq == 0 else Outcome.DEATH)


# --- sessions ---


@pytest.mark.parametrize(
    "trouble",
    [
        {"outcome": Outcome.INFRA, "reason": "HTTP 413"},
        {"outcome": Outcome.DEATH, "deaths": 1, "blames": "this", "revived": False},
    ],
)
def test_what_ended_a_session_does_not_end_the_run(trouble: dict[str, object]) -> None:
    whole = play(bisect(QUESTION), World(prompt_above(20_000)).answer).log
    died = next(at for at, seen in enumerate(whole) if seen.deaths)
    halted = [*whole[:died], replace(whole[died], **trouble)]  # type: ignore[arg-type]
    ended = play(bisect(QUESTION, halted), World().answer)
    assert (ended.finding.kind, ended.log) == (FindingKind.INCONCLUSIVE, [])
    resumed = [*halted[:-1], replace(halted[-1], resumed_after=True)]
    assert isinstance(next_step(Ledger(QUESTION, resumed)), ProbeSpec)
    on = play(bisect(QUESTION, resumed), World(prompt_above(20_000)).answer)
    assert (on.finding.last_good, on.finding.halt) == (20_000, None)


def test_a_busy_target_is_asked_anew_by_the_next_session() -> None:
    whole = play(bisect(QUESTION), World().answer).log[:2]
    spec = next_step(Ledger(QUESTION, whole))
    assert isinstance(spec, ProbeSpec)
    busy = [replace(_seen(spec, 3 + at), outcome=Outcome.BUSY) for at in range(7)]
    assert play(bisect(QUESTION, [*whole, *busy]), World().answer).finding.halt is Halt.BUSY
    busy[-1] = replace(busy[-1], resumed_after=True)
    again = next_step(Ledger(QUESTION, [*whole, *busy]))
    assert isinstance(again, ProbeSpec)
    assert (again.length, again.wait_s) == (spec.length, 0.0)


# --- drafts ---


@pytest.mark.parametrize("k", [1, 2, 3, 7])
def test_an_edge_on_the_sum_counts_the_drafts_where_there_are_any(k: int) -> None:
    cause = cause_of(262_144 - 32 - k + 1, suspects_within(64, 300_000), 32, k)
    assert cause is not None
    assert (cause.axis, cause.delta, cause.suspect.value) == (Axis.TOTAL_AND_DRAFT, 1, 262_144)


def drafting(world: World, **asked: object) -> Played:
    question = BisectQuestion(**{"lo": 244_689, "hi": 300_000, "round_to": 1, **asked})  # type: ignore[arg-type]
    return play(bisect(question), world.answer)


@pytest.mark.parametrize("k", [1, 2, 7])
@pytest.mark.parametrize("edge", [262_145, 271_234])
@pytest.mark.parametrize("resolution", [1, 10])
def test_the_cap_leaves_k_unless_the_edge_is_on_the_prompt_alone(k: int, edge: int, resolution: int) -> None:
    finding = drafting(World(drafts_above(edge), k=k), resolution=resolution).finding
    assert finding.last_good is not None
    assert finding.cap == finding.last_good - k


def test_an_edge_on_the_prompt_alone_leaves_nothing_for_drafts() -> None:
    finding = drafting(World(prompt_above(262_144), k=3)).finding
    assert (finding.last_good, finding.cap) == (262_144, 262_144)


# --- steps ---


def test_where_speculation_ends_is_found_as_closely_as_prompts_come() -> None:
    world = World()

    def answer(spec: ProbeSpec) -> Observation:
        counted = -(-spec.length // 8) * 8
        outcome = Outcome.DEGRADED if counted > 20_000 else Outcome.PASS
        return replace(world.answer(spec), length=counted, sent_tokens=counted, outcome=outcome)

    played = play(bisect(replace(QUESTION, mode="text")), answer)
    assert (played.finding.kind, played.finding.speculation_off_from) == (FindingKind.NONE, 20_008)
    assert len(played.log) < 80

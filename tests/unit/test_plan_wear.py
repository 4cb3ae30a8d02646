"""Is wear told as wear, in few deaths and by its own clock, and is no boundary ever told as wear?"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from fuzzer.finding import FindingKind, Halt
from fuzzer.model import Outcome, ProbeSpec, Role
from fuzzer.observation import Observation
from fuzzer.plans.ages import Life, ended_of
from fuzzer.plans.alike import ages_alike
from fuzzer.plans.bisect import BisectQuestion, bisect, next_step
from fuzzer.plans.ledger import Ledger
from tests.unit.worlds import Played, Request, Rule, World, any_of, flaky_above, play, prompt_above, wears_out

LO, HI, SHORT = 244_689, 300_000, 64
SUNG = 2  # canaries of a revival
QUESTION = BisectQuestion(lo=LO, hi=HI)


@dataclass
class Wearing:
    """A world whose engine serves canaries too, and is worn by both: it dies at the first request that is `too_much`.

    `too_much` is asked with the requests and the tokens of this life, that one included.
    """

    too_much: Callable[[int, int], bool] = lambda _requests, _tokens: False
    rule: Rule = lambda _: None
    seed: int = 0
    world: World = field(init=False)
    served: int = 0
    read: int = 0
    answered: bool = False

    def __post_init__(self) -> None:
        self.world = World(self._strikes, seed=self.seed)

    def answer(self, spec: ProbeSpec) -> Observation:
        seen = self.world.answer(spec)
        if not seen.deaths:
            return seen
        self.served, self.read = SUNG, 24 * SUNG
        return replace(
            seen, canaries=SUNG + self.answered, completion_tokens=spec.output_tokens if self.answered else None
        )

    def _strikes(self, request: Request) -> Outcome | None:
        self.answered = False
        if (outcome := self.rule(request)) is not None:
            return outcome
        if self._dies_of(request.total):
            return Outcome.DEATH
        self.answered = True
        return Outcome.DEATH if self._dies_of(24) else None

    def _dies_of(self, tokens: int) -> bool:
        self.served, self.read = self.served + 1, self.read + tokens
        return self.too_much(self.served, self.read)


def run(world: Wearing, **asked: object) -> Played:
    question = BisectQuestion(**{"lo": LO, "hi": HI, **asked})  # type: ignore[arg-type]
    return play(bisect(question), world.answer)


@pytest.mark.parametrize(("after", "most"), [(3, 5), (4, 5), (5, 5), (6, 5), (7, 5), (8, 5), (9, 3), (20, 3), (60, 3)])
def test_wear_is_told_in_few_deaths_with_the_requests_that_it_takes(after: int, most: int) -> None:
    played = run(Wearing(lambda requests, _: requests >= after))
    assert (played.finding.kind, played.finding.halt) == (FindingKind.NOT_LENGTH, Halt.NOT_LENGTH)
    assert f"lives of the engine ended after about {after} requests" in played.finding.reason
    assert played.deaths <= most
    assert played.finding.cap is None


def test_lengths_that_kill_an_old_engine_alone_are_told_in_few_deaths() -> None:
    world = Wearing()
    world.rule = lambda request: Outcome.DEATH if request.prompt > 270_000 and world.served >= 10 else None
    played = run(world, max_deaths=30)
    assert (played.finding.kind, played.finding.cap) == (FindingKind.NOT_LENGTH, None)
    assert "kill the engine once it has answered" in played.finding.reason
    assert played.deaths <= 9


def test_what_passed_before_the_engine_was_worn_out_has_passed() -> None:
    played = run(Wearing(lambda requests, _: requests >= 9))
    passed = max(seen.length for seen in played.log if seen.outcome is Outcome.PASS)
    assert (played.finding.last_good, played.finding.first_bad) == (passed, None)


def test_wear_by_tokens_is_not_named_by_requests() -> None:
    played = run(Wearing(lambda _, tokens: tokens >= 200_000), lo=2_000, hi=40_000)
    assert played.finding.kind is FindingKind.NOT_LENGTH
    assert "requests" not in played.finding.reason
    assert "tokens" in played.finding.reason


@pytest.mark.parametrize("rate", [0.3, 0.6, 0.9])
@pytest.mark.parametrize("stray", [0.0, 0.02])
def test_a_flaky_edge_is_no_wear(rate: float, stray: float) -> None:
    for seed in range(15):
        played = run(Wearing(rule=flaky_above(LO + 3_000 * seed, rate, stray), seed=seed), max_deaths=20)
        assert played.finding.kind is not FindingKind.NOT_LENGTH, played.finding.reason


def test_lives_that_end_alike_by_the_rhythm_of_the_search_are_no_wear() -> None:
    """Each life here passes the same length thrice and dies at a longer one: the length explains it all."""
    ledger = Ledger(QUESTION)
    for life in range(6):
        ledger.take(seen_at(life, LO, Outcome.PASS, 0))
        ledger.take(seen_at(life, LO, Outcome.PASS, 1))
        ledger.take(seen_at(life, LO, Outcome.PASS, 2))
        ledger.take(seen_at(life, HI - life, Outcome.DEATH, 3))
    step = next_step(ledger)
    assert isinstance(step, ProbeSpec)
    assert step.length == SHORT


@dataclass
class Afterwards(Wearing):
    """The boundary shows only once the answer is whole: it is the canary that finds the engine dead."""

    def answer(self, spec: ProbeSpec) -> Observation:
        seen = super().answer(spec)
        return replace(seen, canaries=1 + SUNG, completion_tokens=spec.output_tokens) if seen.deaths else seen


@pytest.mark.parametrize("edge", [LO + 7, 262_112, 277_777, HI - 9])
def test_a_boundary_that_kills_after_the_answer_is_found_with_as_few_deaths(edge: int) -> None:
    rule = prompt_above(edge)
    late, early = run(Afterwards(rule=rule)), run(Wearing(rule=rule))
    assert (late.finding.kind, late.finding.last_good, late.finding.cap) == (
        early.finding.kind,
        edge,
        early.finding.cap,
    )
    assert late.deaths == early.deaths
    assert {seen.length for seen in late.log} == {seen.length for seen in early.log}


# --- lives that end with nothing in flight ---


def seen_at(life: int, length: int, outcome: Outcome, ordinal: int, **told: object) -> Observation:
    """The `ordinal`-th probe of a life that lasts ten seconds and is followed by the next one."""
    at = 10.0 * life + 2.0 * ordinal
    died = outcome is Outcome.DEATH
    seen = Observation(
        seq=10 * life + ordinal,
        spec=QUESTION.spec(length, Role.SEARCH, ""),
        outcome=outcome,
        length=length,
        length_source="inferred",
        deaths=int(died),
        blames="this" if died else None,
        started_s=at,
        ended_s=at + 1.0,
        duration_s=0.5,
        cost_s=10.0 * (life + 1) - at if died else 1.0,
        incarnation=life,
        ordinal=ordinal,
        canaries=SUNG if died else 1,
    )
    return replace(seen, **told)  # type: ignore[arg-type]


def quiet(life: int, length: int, ordinal: int) -> Observation:
    """It died after its answer was whole."""
    return seen_at(life, length, Outcome.DEATH, ordinal, completion_tokens=32, canaries=1 + SUNG)


BEGUN = [
    seen_at(0, SHORT, Outcome.PASS, 0),
    seen_at(0, LO, Outcome.PASS, 1),
    quiet(0, 262_144, 2),
    seen_at(1, 250_000, Outcome.PASS, 0),
    seen_at(1, 255_000, Outcome.PASS, 1),
    quiet(1, 256_000, 2),
]


def test_an_engine_that_died_with_nothing_in_flight_is_let_alone_for_as_long_as_it_had_lived() -> None:
    step = next_step(Ledger(QUESTION, BEGUN))
    assert isinstance(step, ProbeSpec)
    assert (step.length, step.role) == (SHORT, Role.CONFIRM_GOOD)
    assert step.wait_s == pytest.approx(1.1 * 5.0)  # the other life was gone five seconds after it had come back


@pytest.mark.parametrize("outcome", [Outcome.PASS, Outcome.ABANDONED])
def test_one_that_dies_let_alone_dies_by_itself_and_what_passed_has_passed(outcome: Outcome) -> None:
    idle = seen_at(2, SHORT, outcome, 3, deaths=1, blames="nobody")
    finding = next_step(Ledger(QUESTION, [*BEGUN, idle]))
    assert not isinstance(finding, ProbeSpec)
    assert (finding.kind, finding.halt) == (FindingKind.NOT_LENGTH, Halt.NOT_LENGTH)
    assert "dies by itself, about 5 s after it came back" in finding.reason
    assert (finding.last_good, finding.first_bad) == (255_000, None)


def test_one_that_lives_on_let_alone_is_searched_on() -> None:
    step = next_step(Ledger(QUESTION, [*BEGUN, seen_at(2, SHORT, Outcome.PASS, 3)]))
    assert isinstance(step, ProbeSpec)
    assert (step.role, step.wait_s) == (Role.SEARCH, 0.0)
    assert 255_000 < step.length < 256_000


def test_one_restart_between_two_probes_is_no_loop() -> None:
    begun = [seen_at(0, SHORT, Outcome.PASS, 0), seen_at(0, LO, Outcome.PASS, 1)]
    restarted = seen_at(0, 262_144, Outcome.PASS, 2, deaths=1, blames="nobody")
    step = next_step(Ledger(QUESTION, [*begun, restarted]))
    assert isinstance(step, ProbeSpec)
    assert step.wait_s == 0.0


# --- beside an edge ---


@pytest.mark.parametrize("rate", [0.9, 1.0])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_wear_is_told_although_an_edge_ended_lives_too(rate: float, seed: int) -> None:
    edge = 12_001 + 531 * (6 * seed)
    rule = any_of(flaky_above(edge, rate), wears_out(15))
    played = play(bisect(BisectQuestion(lo=8_000, hi=20_000)), World(rule, seed=6 * seed).answer)
    assert played.deaths < 10
    assert played.finding.cap is None or played.finding.cap <= edge


def tires(least: int, most: int, seed: int) -> Rule:
    """Each life ends after a number of requests of its own."""
    draws, left = random.Random(seed), [0]

    def rule(request: Request) -> Outcome | None:
        if request.ordinal == 0:
            left[0] = draws.randint(least, most)
        left[0] -= 1
        return Outcome.DEATH if left[0] <= 0 else None

    return rule


@pytest.mark.parametrize("seed", [0, 2, 6, 11])
def test_lives_are_not_ended_without_end_to_see_one_outlive_the_others(seed: int) -> None:
    rule = any_of(flaky_above(12_001 + 97 * seed, 0.7), tires(15, 60, seed))
    played = play(bisect(BisectQuestion(lo=8_000, hi=20_000, max_deaths=30)), World(rule, seed=seed).answer)
    good = played.finding.last_good or 0
    again = [seen for seen in played.log if seen.deaths and seen.length <= good and seen.spec.role is Role.CONFIRM_GOOD]
    assert len(again) <= 4
    assert len(again) < 4 or "it seems to be wear" in played.finding.reason


# --- words ---


def test_what_passed_is_never_said_to_be_unknown() -> None:
    played = run(Wearing(rule=flaky_above(1_000, 0.4)), max_deaths=2)
    assert played.finding.kind is FindingKind.INCONCLUSIVE
    assert any(seen.outcome is Outcome.PASS for seen in played.log)
    assert "nothing is known to pass" not in played.finding.reason
    assert "which is not enough to be sure" in played.finding.reason


@dataclass
class Unseen(Wearing):
    """What dies upon a canary is now and then found dead by the next probe alone, and that is nobody's death."""

    owed: Observation | None = None
    told: int = 0
    draws: random.Random = field(default_factory=random.Random)

    def answer(self, spec: ProbeSpec) -> Observation:
        self.told += 1
        return replace(self._answer(spec), seq=self.told)

    def _answer(self, spec: ProbeSpec) -> Observation:
        if self.owed is not None:
            died, self.owed = self.owed, None
            return replace(
                died, spec=spec, outcome=Outcome.ABANDONED, blames="nobody", completion_tokens=None, canaries=SUNG
            )
        seen = super().answer(spec)
        if not seen.deaths or not self.answered or self.draws.random() < 0.5:
            return seen
        self.owed = replace(seen, started_s=seen.ended_s, length_source="inferred")
        return replace(
            seen, outcome=Outcome.PASS, deaths=0, blames=None, canaries=1, cost_s=1.0, length=spec.length,
            length_source="usage", corroboration=None,
        )  # fmt: skip


@pytest.mark.parametrize("after", [6, 9, 24])
@pytest.mark.parametrize("seed", range(6))
def test_wear_is_told_whoever_finds_the_engine_dead(after: int, seed: int) -> None:
    played = run(Unseen(lambda requests, _: requests >= after, draws=random.Random(seed)))
    assert (played.finding.kind, played.finding.halt) == (FindingKind.NOT_LENGTH, Halt.NOT_LENGTH)
    assert "requests" in played.finding.reason or "dies by itself" in played.finding.reason


# --- lives that hang, or answer garbage, until somebody ends them ---


@dataclass
class Wedging(Wearing):
    """What would kill it leaves it there, useless, and it is restarted by hand: nobody sees it die."""

    kind: Outcome = Outcome.HANG

    def answer(self, spec: ProbeSpec) -> Observation:
        seen = super().answer(spec)
        if not seen.deaths:
            return seen
        given = spec.output_tokens if self.answered or self.kind is Outcome.GARBLED else None
        return replace(
            seen, outcome=self.kind, wedged=True, deaths=0, blames=None, completion_tokens=given, canaries=1 + SUNG
        )


@pytest.mark.parametrize("kind", [Outcome.HANG, Outcome.GARBLED])
@pytest.mark.parametrize("after", [4, 8, 15, 40])
def test_wear_that_wedges_is_told_as_wear_that_kills(after: int, kind: Outcome) -> None:
    played = run(Wedging(lambda requests, _: requests >= after, kind=kind))
    assert (played.finding.kind, played.finding.halt) == (FindingKind.NOT_LENGTH, Halt.NOT_LENGTH)
    told = re.search(r"lives of the engine ended after about (\d+) requests", played.finding.reason)
    assert told is not None
    assert int(told[1]) in {after - 1, after}  # garbage shows that a life is over, and not whether it was before
    assert (played.finding.first_bad, played.finding.cap) == (None, None)
    assert sum(seen.wedged for seen in played.log) <= 5


@pytest.mark.parametrize("kind", [Outcome.HANG, Outcome.GARBLED])
@pytest.mark.parametrize("edge", [LO + 7, 277_777, HI - 9])
def test_a_boundary_that_wedges_is_found_as_one_that_kills(edge: int, kind: Outcome) -> None:
    wedged, killed = run(Wedging(rule=prompt_above(edge), kind=kind)), run(Wearing(rule=prompt_above(edge)))
    assert (wedged.finding.kind.value, wedged.finding.last_good, wedged.finding.cap) == (
        kind.value,
        edge,
        killed.finding.cap,
    )
    assert all(seen.spec.wait_s == 0.0 for seen in wedged.log)
    assert sum(seen.wedged for seen in wedged.log) <= killed.deaths + 1


@pytest.mark.parametrize("rate", [0.4, 0.9])
def test_a_flaky_edge_that_wedges_is_no_wear(rate: float) -> None:
    for seed in range(3):
        played = run(Wedging(rule=flaky_above(8_000 + 300 * seed, rate), seed=seed), lo=8_000, hi=9_000)
        assert played.finding.kind is not FindingKind.NOT_LENGTH, played.finding.reason


@dataclass
class Waited(Wedging):
    """Each hang lasts to the deadline that it was given, as it does."""

    deadline_s: float = 60.0

    def answer(self, spec: ProbeSpec) -> Observation:
        seen = super().answer(spec)
        if not seen.wedged:
            return seen
        self.world._now_s += self.deadline_s
        ended_s = seen.started_s + self.deadline_s
        return replace(seen, duration_s=self.deadline_s, ended_s=ended_s, cost_s=seen.cost_s + self.deadline_s)


@pytest.mark.parametrize("rate", [0.5, 0.7])
@pytest.mark.parametrize("span", [3, 3_000])
def test_lives_are_not_alike_for_the_deadline_that_each_of_them_hung_for(span: int, rate: float) -> None:
    kinds = [
        run(Waited(rule=flaky_above(4_000 + span // 2, rate), seed=seed), lo=4_000, hi=4_000 + span).finding.kind
        for seed in range(10)
    ]
    assert kinds.count(FindingKind.NOT_LENGTH) <= 1, kinds  # lives may be alike in requests by chance


def test_lengths_that_wedge_an_old_engine_alone_are_told() -> None:
    world = Wedging()
    world.rule = lambda request: Outcome.DEATH if request.prompt > 270_000 and world.served >= 10 else None
    played = run(world, max_deaths=30)
    assert (played.finding.kind, played.finding.cap) == (FindingKind.NOT_LENGTH, None)


# --- two lives may be of one length by chance ---


def test_two_lives_that_took_as_long_by_the_clock_alone_are_no_wear() -> None:
    """They were asked more and less meanwhile, and died of a longer prompt than they passed."""
    lives = [
        Life(10.0 * at, 10.0 * at, whole=True, ended=at < count, probes=probes)
        for count in (2, 3)
        for at, probes in enumerate(_lives_as_long(count))
    ]
    two, three = lives[:3], lives[3:]
    assert ages_alike(two, ended_of(two)) is None
    told = ages_alike(three, ended_of(three))
    assert told is not None
    assert "3 lives of the engine ended after about 4 s" in told


def _lives_as_long(count: int) -> list[list[Observation]]:
    """So many lives that end after as many seconds, and one that goes on; each is asked more than the one before."""
    asked = [2 + 4 * life for life in range(count)]
    ended = [
        [seen_at(life, LO, Outcome.PASS, 0) for _ in range(much)] + [seen_at(life, HI, Outcome.DEATH, 2)]
        for life, much in enumerate(asked)
    ]
    return [*ended, []]


@pytest.mark.parametrize(("output", "is_told"), [(32, True), (1_473, False)])
def test_a_life_that_was_asked_for_a_long_answer_was_not_asked_next_to_nothing(output: int, is_told: bool) -> None:
    last = seen_at(2, SHORT, Outcome.PASS, 0, spec=QUESTION.spec(SHORT, Role.CORNER, "", output_tokens=output))
    gone = seen_at(2, LO, Outcome.ABANDONED, 2, deaths=1, blames="nobody")
    step = next_step(Ledger(QUESTION, [*BEGUN, last, gone]))
    assert ("dies by itself" in step.reason) is is_told

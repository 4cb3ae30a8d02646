"""What do deaths come to that come among requests of others, one here and one there? PURE."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pytest

from fuzzer.finding import FindingKind, Halt
from fuzzer.model import Outcome
from fuzzer.plans.bisect import BisectQuestion, bisect
from fuzzer.plans.conclusion import inconclusive
from fuzzer.plans.ledger import Ledger
from fuzzer.plans.verify import VerifyQuestion, verify
from tests.unit.worlds import Request, World, play, prompt_above

if TYPE_CHECKING:
    from fuzzer.model import ProbeSpec
    from fuzzer.observation import Observation

EDGE = 11_000


@dataclass
class Busy(World):
    """Dies above the edge, but only while others are served: so often, and the metrics tell it."""

    edge: int = EDGE
    share: float = 0.3
    is_busy: bool = False
    _others: random.Random = field(default_factory=random.Random)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._others = random.Random(self.seed + 99)
        self.rule = self._dies

    def _dies(self, asked: Request) -> Outcome | None:
        return Outcome.DEATH if self.is_busy and asked.prompt > self.edge else None

    def answer(self, spec: ProbeSpec) -> Observation:
        self.is_busy = self._others.random() < self.share
        seen = super().answer(spec)
        self.log[-1] = replace(seen, contended=self.is_busy)
        return self.log[-1]


@pytest.mark.parametrize("share", [0.4, 0.6, 0.8])
@pytest.mark.parametrize("seed", range(8))
def test_an_engine_that_dies_in_company_alone_has_its_edge_there(share: float, seed: int) -> None:
    """Each death came at a length of its own, and each of those passed once the others were gone."""
    played = play(bisect(BisectQuestion(lo=2_000, hi=30_000)), Busy(share=share, seed=seed).answer)
    assert played.finding.cap is not None
    assert played.finding.cap <= EDGE


def test_two_deaths_among_others_count_wherever_they_came_and_one_does_not() -> None:
    question = BisectQuestion(lo=2_000, hi=30_000)
    world = Busy(share=1.0)
    first, second = (world.answer(question.spec(length, "search", "")) for length in (20_000, 15_000))  # type: ignore[arg-type]
    assert first.contended
    assert not Ledger(question, [first]).at(20_000).is_bad
    both = Ledger(question, [first, second])
    assert both.at(20_000).is_bad
    assert both.at(15_000).is_bad
    errors = [replace(seen, outcome=Outcome.ERROR, deaths=0, blames=None) for seen in (first, second)]
    assert not Ledger(question, errors).at(15_000).is_bad  # others may well have been too many


@pytest.mark.parametrize("seed", range(12))
def test_no_gate_holds_over_a_death_of_its_own_probe(seed: int) -> None:
    question = VerifyQuestion(cap=32_768, far=65_536, limit=32_768)
    played = play(verify(question), Busy(limit=32_768, seed=seed).answer)
    assert (played.finding.cap is None) is (played.deaths > 0)
    if played.finding.kind is FindingKind.INCONCLUSIVE:
        assert "among requests of others" in played.finding.reason


@dataclass
class Late(World):
    """Above the edge answers come whole, and after some the engine dies before the next probe: nobody's death."""

    edge: int = EDGE
    share: float = 0.5
    is_due: bool = False
    _luck: random.Random = field(default_factory=random.Random)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._luck = random.Random(self.seed + 5)

    def answer(self, spec: ProbeSpec) -> Observation:
        died, self.is_due = self.is_due, False
        if died:
            self._lives, self._ordinal = self._lives + 1, 0
        seen = super().answer(spec)
        if died:
            seen = self.log[-1] = replace(seen, deaths=1, blames="nobody")
        self.is_due = seen.length > self.edge and self._luck.random() < self.share
        return seen


@pytest.mark.parametrize("share", [0.35, 0.5, 0.7])
def test_what_dies_now_and_then_between_two_probes_has_no_cap_by_luck(share: float) -> None:
    """It did in two of three caps, when each of those deaths was held against one length alone."""
    unsafe = 0
    for seed in range(20):
        world = Late(edge=9_000 + 211 * seed, share=share, seed=seed, revival_s=30.0)
        cap = play(bisect(BisectQuestion(lo=2_000, hi=30_000)), world.answer).finding.cap
        unsafe += cap is not None and cap > world.edge
    assert unsafe <= 1


def test_deaths_of_nobody_after_answers_above_the_edge_keep_no_cap_back() -> None:
    caps = [
        play(bisect(BisectQuestion(lo=2_000, hi=30_000)), Late(share=1.0, seed=seed, revival_s=30.0).answer).finding.cap
        for seed in range(6)
    ]
    assert any(cap is not None and EDGE - 3_000 < cap <= EDGE for cap in caps)
    assert all(cap is None or cap <= EDGE for cap in caps)


@pytest.mark.parametrize("max_deaths", [4, 12])
def test_two_restarts_of_somebody_keep_no_cap_back_that_passed_often_enough(max_deaths: int) -> None:
    caps = []
    for restarts in ((10, 23), (12, 27), (14, 31), (18, 39), (20, 43)):
        world = Restarts(prompt_above(EDGE), restarts=restarts)
        finding = play(bisect(BisectQuestion(lo=2_000, hi=30_000, max_deaths=max_deaths)), world.answer).finding
        caps.append(finding.cap)
        assert "None" not in finding.reason
    assert all(cap is not None and EDGE - 100 < cap <= EDGE for cap in caps)


@dataclass
class Restarts(World):
    """Somebody restarts it between two probes, so often."""

    restarts: tuple[int, ...] = ()

    def answer(self, spec: ProbeSpec) -> Observation:
        if len(self.log) not in self.restarts:
            return super().answer(spec)
        rule, self.rule = self.rule, lambda _: None
        seen, self.rule = super().answer(spec), rule
        self._lives, self._ordinal = self._lives + 1, 0
        gone = replace(seen, outcome=Outcome.ABANDONED, deaths=1, blames="nobody", draft=None)
        self.log[-1] = replace(gone, cost_s=gone.cost_s + self.revival_s, revival_s=self.revival_s)
        self._now_s += self.revival_s
        return self.log[-1]


def test_deaths_before_one_that_died_by_itself_are_told_as_those_of_nobody() -> None:
    question = BisectQuestion(lo=2_000, hi=30_000, max_deaths=3)
    world, log = World(), []
    for number, length in enumerate((64, 2_000, 9_000, 20_000, 8_000, 15_000)):
        seen = world.answer(question.spec(length, "search", ""))  # type: ignore[arg-type]
        died = {"outcome": Outcome.DEATH, "deaths": 2, "blames": "this"} if number in {3, 5} else {}
        log.append(replace(seen, **died))  # type: ignore[arg-type]
    log += [world.answer(question.spec(64, "corner", "", output_tokens=2_000)) for _ in range(20)]  # type: ignore[arg-type]
    finding = inconclusive(Ledger(question, log), Halt.DEATHS, "4 deaths")
    assert finding.cap is None
    assert "the engine died 2 times after an answer (of 8000, 9000 tokens), and it may be of any" in finding.reason


def test_last_good_does_not_stand_above_a_death_among_others_once_the_deaths_are_spent() -> None:
    question = BisectQuestion(lo=4_000, hi=30_000, max_deaths=1)
    world = World(prompt_above(4_500))
    asked = [(64, 2_000, "corner")] * 20 + [(at, 32, "search") for at in (64, 4_000, 4_366, 4_446, 5_000)]
    log = [world.answer(question.spec(at, role, "", output_tokens=output)) for at, output, role in asked]  # type: ignore[arg-type]
    again = world.answer(question.spec(4_366, "confirm-good", ""))  # type: ignore[arg-type]
    died = replace(again, outcome=Outcome.DEATH, deaths=1, blames="this", contended=True)
    assert Ledger(question, [*log, replace(died, outcome=Outcome.PASS, blames="nobody")]).ground(halted=True) == 4_446
    assert Ledger(question, [*log, died]).ground(halted=True) is None


def test_no_gate_holds_over_an_engine_that_a_probe_among_others_wedged() -> None:
    question, world = VerifyQuestion(cap=32_768, far=65_536, limit=32_768), World(limit=32_768)

    def answer(spec: ProbeSpec) -> Observation:
        seen = world.answer(spec)
        hung = {"outcome": Outcome.HANG, "wedged": True, "contended": True, "completion_tokens": None}
        return replace(seen, **hung) if len(world.log) == 3 else seen  # type: ignore[arg-type]

    finding = play(verify(question), answer).finding
    assert (finding.kind, finding.cap) == (FindingKind.INCONCLUSIVE, None)
    assert "the engine hung and served nobody any more, once at 32767 prompt tokens" in finding.reason

"""Does a fuzz find what hides under a cap, and with how little does it show it?"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fuzzer.finding import Finding, FindingKind, Halt, Reproducer
from fuzzer.model import Outcome, ProbeSpec, Role
from fuzzer.observation import Observation
from fuzzer.plans import Plan
from fuzzer.plans.conditions import CONDITIONS, needed, plain
from fuzzer.plans.fuzz import FuzzQuestion, explains, fuzz
from fuzzer.plans.samples import samples
from fuzzer.plans.terms import SHORT
from fuzzer.search.places import places, residues
from tests.unit.worlds import World, play

CAP = 131_072
Past = Sequence[ProbeSpec]
Rule = Callable[[ProbeSpec, Past], Outcome | None]


def question(**asked: object) -> FuzzQuestion:
    told = {"cap": CAP, "most_samples": 2000, "contents": ("words", "repeat", "code"), "modes": ("ids", "chat")}
    return FuzzQuestion(**{**told, **asked})  # type: ignore[arg-type]


@dataclass
class Engine:
    """An engine that fails by a rule over the request and what it has served in this life."""

    rule: Rule
    late: bool = False  # it dies a while after its answer: the probe after it finds nobody
    between: Callable[[int], bool] = lambda _: False  # after so many deaths: does it strike between two requests?
    log: list[Observation] = field(default_factory=list)
    life: list[ProbeSpec] = field(default_factory=list)
    now_s: float = 0.0
    owed: bool = False

    def answer(self, spec: ProbeSpec) -> Observation:
        outcome = self.rule(spec, self.life) or Outcome.PASS
        blames, deaths = None, int(outcome is Outcome.DEATH)
        if self.owed:
            self.owed, outcome, blames, deaths = False, Outcome.ABANDONED, "nobody", 1
        elif outcome is Outcome.DEATH and self.between(self.deaths):
            outcome, blames = Outcome.ABANDONED, "nobody"
        elif self.late and outcome is Outcome.DEATH:
            self.owed, outcome, deaths = True, Outcome.PASS, 0
        self.now_s += 60.0 if deaths else 1.0
        self.life = [] if deaths else [*self.life, spec]
        seen = Observation(
            seq=len(self.log) + 1,
            spec=spec,
            outcome=outcome,
            length=spec.length,
            length_source="usage" if outcome is Outcome.PASS else "inferred",
            deaths=deaths,
            blames=blames or ("this" if deaths else None),  # type: ignore[arg-type]
            started_s=self.now_s - 1.0,
            ended_s=self.now_s,
            cost_s=60.0 if deaths else 1.0,
        )
        self.log.append(seen)
        return seen

    @property
    def deaths(self) -> int:
        return sum(seen.deaths for seen in self.log)

    def play(self, plan: Plan) -> Finding:
        return self.pump(plan, next(plan))

    def pump(self, plan: Plan, spec: ProbeSpec) -> Finding:
        try:
            while True:
                spec = plan.send(self.answer(spec))
        except StopIteration as end:
            finding: Finding = end.value
            return finding


def dies_where(rule: Callable[[ProbeSpec, Past], bool]) -> Rule:
    return lambda spec, past: Outcome.DEATH if rule(spec, past) else None


def found(rule: Rule, **asked: object) -> tuple[Reproducer, Engine]:
    engine = Engine(rule)
    finding = engine.play(fuzz(question(**asked)))
    assert len(finding.reproducers) == 1, finding.reason
    return finding.reproducers[0], engine


def test_places_come_once_and_fit_under_the_top() -> None:
    first, later = places(CAP - 1, output_tokens=32, kv_tokens=70_000, draft_tokens=7, suspects=(50_000,))
    lengths = [place.length for place in (*first, *later)]
    assert len(lengths) == len(set(lengths))
    assert all(1 <= length <= CAP - 1 for length in lengths)
    assert {8191, 8192, 8193, 70_000, 69_968, 69_961, 50_000, 49_968, CAP - 1, CAP - 32} <= set(lengths)


@given(st.integers(1, 200))
def test_residues_are_all_of_them_and_the_borders_come_first(block: int) -> None:
    assert sorted(residues(block)) == list(range(128))
    assert residues(block)[:3] == [0, 1, 127]


@given(st.integers(0, 2**32), st.integers(200, 2_000_000), st.sampled_from([8, 16, 64]))
@example(3269, 257, 8)
@settings(max_examples=50, deadline=None)
def test_samples_stay_under_the_cap_and_repeat_themselves(seed: int, cap: int, block: int) -> None:
    grounds = question(cap=cap, seed=seed, block=block)
    drawn = list(islice(samples(grounds), 300))
    assert drawn == list(islice(samples(grounds), 300))
    for spec in drawn:
        assert spec.length >= 1
        assert spec.output_tokens >= 1
        assert spec.length + spec.output_tokens <= cap
        assert all(1 <= length < cap for length in spec.companions)
        assert spec.shared is None or (spec.cache == "warm" and 16 <= spec.shared < spec.length)
        assert spec.stop_after is None or spec.stream


def test_every_condition_is_varied_and_the_half_of_the_samples_is_plain() -> None:
    grounds = question()
    drawn = list(islice(samples(grounds), 2000))
    varied = {condition.name for spec in drawn for condition in needed(spec, grounds)}
    assert varied == {condition.name for condition in CONDITIONS}
    assert 0.35 < sum(not needed(spec, grounds) for spec in drawn) / len(drawn) < 0.65


def test_what_is_made_plain_is_plain() -> None:
    grounds = question()
    for spec in islice(samples(grounds), 500):
        assert needed(plain(spec, grounds), grounds) == []
        assert plain(spec, grounds).length == spec.length


CONDITIONAL: dict[str, tuple[Callable[[ProbeSpec, Past], bool], Callable[[ProbeSpec], bool]]] = {
    "an edge": (
        lambda spec, _: spec.length > 65_536,
        lambda spec: spec.length == 65_537 and not spec.companions,
    ),
    "an edge on the sum": (
        lambda spec, _: spec.stop_after is None and spec.length + spec.output_tokens > 40_000,
        lambda spec: spec.length + spec.output_tokens == 40_001,
    ),
    "exactly one chunk": (
        lambda spec, _: spec.length == 8192,
        lambda spec: spec.length == 8192 and spec.output_tokens == 1,
    ),
    "companions": (
        lambda spec, _: spec.length > 30_000 and len(spec.companions) >= 3,
        lambda spec: spec.length == 30_001 and len(spec.companions) == 3,
    ),
    "content": (
        lambda spec, _: spec.length > 1024 and spec.content == "repeat",
        lambda spec: spec.length == 1025 and spec.content == "repeat" and spec.output_tokens == 1,
    ),
    "the number asked for": (
        lambda spec, _: spec.output_tokens > 65_536,
        lambda spec: spec.output_tokens == 65_537 and spec.length <= 64,
    ),
    "a number that nobody sent": (
        lambda spec, _: spec.omit_max_tokens,
        lambda spec: spec.omit_max_tokens and spec.length <= 64,
    ),
    "no stream": (
        lambda spec, _: not spec.stream and spec.length > 500,
        lambda spec: not spec.stream and spec.length == 501,
    ),
    "sampling": (
        lambda spec, _: spec.temperature > 0 and spec.length >= 300,
        lambda spec: spec.temperature > 0 and spec.length == 300,
    ),
    "chat": (
        lambda spec, _: spec.mode == "chat" and spec.length > 9_000,
        lambda spec: spec.mode == "chat" and spec.length == 9_001,
    ),
}  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", CONDITIONAL)
def test_a_conditional_edge_is_found_and_shown_with_the_least(name: str, seed: int) -> None:
    rule, is_least = CONDITIONAL[name]
    shown, engine = found(dies_where(rule), seed=seed)
    assert is_least(shown.spec), shown
    assert shown.failed == shown.asked == 2
    assert engine.deaths <= 11
    assert rule(engine.log[shown.seq - 1].spec, ())


def test_an_island_is_told_from_an_edge() -> None:
    island, _ = found(dies_where(lambda spec, _: spec.length == 8192))
    edge, _ = found(dies_where(lambda spec, _: spec.length >= 8192))
    assert (island.shorter_passes, island.longer_passes) == (True, True)
    assert (edge.shorter_passes, edge.longer_passes) == (True, False)


@pytest.mark.parametrize("late", [False, True])
def test_a_failure_after_so_many_requests_is_not_of_the_length(late: bool) -> None:
    engine = Engine(dies_where(lambda _, past: len(past) >= 23), late=late)
    finding = engine.play(fuzz(question()))
    assert finding.kind is FindingKind.NOT_LENGTH
    assert finding.first_bad is None
    assert finding.reproducers[0].every is not None
    assert 20 <= finding.reproducers[0].every <= 26


@pytest.mark.parametrize("met", range(3))
def test_a_failure_after_so_many_requests_is_known_by_its_deaths_also_where_they_are_nobodys(met: int) -> None:
    engine = Engine(dies_where(lambda _, past: len(past) >= 23), between=lambda deaths: deaths != met)
    finding = engine.play(fuzz(question()))
    assert finding.kind is FindingKind.NOT_LENGTH
    assert 20 <= (finding.reproducers[0].every or 0) <= 26
    assert finding.reproducers[0].outcome is Outcome.DEATH


def _hits(spec: ProbeSpec, past: Past) -> bool:
    return spec.cache == "warm" and any(one.cache == "warm" and one.content == spec.content for one in past)


def test_a_failure_on_a_warm_prefix_comes_with_what_warmed_it() -> None:
    shown, engine = found(dies_where(lambda spec, past: spec.length > 2_000 and _hits(spec, past)))
    assert shown.spec.cache == "warm"
    assert shown.before
    assert all(engine.log[seq - 1].spec.cache == "warm" for seq in shown.before)


def test_what_does_not_come_again_is_said_to_be_so() -> None:
    struck: list[ProbeSpec] = []

    def once(spec: ProbeSpec, _: Past) -> bool:
        if spec.role is Role.FUZZ and spec.length > 1000 and not struck:
            struck.append(spec)
            return True
        return False

    shown, _ = found(dies_where(once))
    assert (shown.failed, shown.seq) == (1, shown.met)
    assert "did not come again" in shown.unfinished


def test_a_death_that_comes_late_is_that_of_the_probe_before() -> None:
    engine = Engine(dies_where(lambda spec, _: spec.length == 8192), late=True)
    finding = engine.play(fuzz(question(shrink_deaths=0)))
    assert finding.reproducers[0].spec.length == 8192


def test_the_deaths_are_bounded_for_a_failure_and_for_the_run() -> None:
    shown, engine = found(dies_where(lambda spec, _: spec.length > 20_000), shrink_deaths=2)
    assert engine.deaths == 3
    assert "no death is left" in shown.unfinished
    engine = Engine(dies_where(lambda spec, _: spec.length > 20_000))
    finding = engine.play(fuzz(question(max_deaths=1)))
    assert engine.deaths == 1
    assert finding.reproducers[0].unfinished
    assert finding.kind is FindingKind.DEATH


def test_only_what_was_answered_is_counted_as_asked() -> None:
    shown, engine = found(dies_where(lambda spec, _: spec.length > 20_000), shrink_deaths=0)
    assert (shown.failed, shown.asked, engine.deaths) == (1, 1, 1)


def test_companions_that_die_by_themselves_are_asked_by_themselves() -> None:
    engine = Engine(lambda spec, _: Outcome.DEATH if spec.length > 20_000 and not spec.companions else None)
    answer = engine.answer

    def with_company(spec: ProbeSpec) -> Observation:
        if any(length > 20_000 for length in spec.companions):
            engine.now_s += 60.0
            seen = Observation(
                len(engine.log) + 1, spec, Outcome.INFRA, spec.length, "inferred", deaths=1, ended_s=engine.now_s
            )
            engine.log.append(seen)
            return seen
        return answer(spec)

    engine.answer = with_company  # type: ignore[method-assign]
    finding = engine.play(fuzz(question(cap=30_000, seed=25)))
    assert any(seen.outcome is Outcome.INFRA for seen in engine.log)
    assert finding.kind is FindingKind.DEATH
    assert finding.reproducers[0].spec.length == 20_001


def test_past_the_first_failure_only_other_ones_are_looked_for() -> None:
    rule = dies_where(lambda spec, _: spec.length == 8192 or len(spec.companions) >= 3)
    engine = Engine(rule)
    finding = engine.play(fuzz(question(keep_going=True, max_deaths=40)))
    assert {bool(one.spec.companions) for one in finding.reproducers} == {False, True}
    assert len(finding.reproducers) == 2
    first, second = finding.reproducers
    assert not explains(first, second.spec, question())


def test_nothing_found_is_no_bad_news() -> None:
    engine = Engine(lambda *_: None)
    finding = engine.play(fuzz(question(most_samples=100)))
    assert finding.kind is FindingKind.NONE
    assert finding.halt is None
    assert finding.cap is None
    assert sum(seen.spec.role is Role.FUZZ for seen in engine.log) == 100


def test_with_no_death_to_spend_nothing_is_sent() -> None:
    with pytest.raises(StopIteration) as end:
        next(fuzz(question(max_deaths=0)))
    assert end.value.value.halt is Halt.DEATHS


def test_what_is_refused_under_the_cap_has_not_passed() -> None:
    engine = Engine(lambda spec, _past: Outcome.REJECTED if spec.length > 8_000 else None)
    finding = engine.play(fuzz(question()))
    assert (finding.kind, finding.halt) == (FindingKind.INCONCLUSIVE, None)
    sampled = [seen for seen in engine.log if seen.spec.role is Role.FUZZ]
    passed = sum(seen.outcome is Outcome.PASS for seen in sampled)
    assert f"{passed} of {len(sampled)} samples" in finding.reason
    assert "were refused" in finding.reason


def test_what_turns_out_to_be_a_proxys_clock_is_no_failure() -> None:
    engine, cuts = Engine(lambda _spec, _past: None), 0
    plan = fuzz(question())
    spec = next(plan)
    while True:
        seen = engine.answer(spec)
        if spec.length > 20_000:
            cuts += 1
            outcome = Outcome.ERROR if cuts < 3 else Outcome.INFRA  # the third tells
            seen = replace(seen, outcome=outcome, cut_s=4.0, reason="cut")
        try:
            spec = plan.send(seen)
        except StopIteration as end:
            finding: Finding = end.value
            break
    assert (finding.kind, finding.halt, finding.reproducers) == (FindingKind.INCONCLUSIVE, Halt.PROXY, ())


def test_a_budget_of_time_ends_it() -> None:
    engine = Engine(lambda *_: None)
    finding = engine.play(fuzz(question(budget_s=50.0, most_samples=None)))
    assert finding.kind is FindingKind.NONE
    assert 50.0 <= engine.now_s <= 52.0


def test_where_short_prompts_fail_nothing_is_sampled() -> None:
    engine = Engine(lambda *_: Outcome.ERROR)
    finding = engine.play(fuzz(question()))
    assert (finding.kind, finding.halt, len(engine.log)) == (FindingKind.NOT_LENGTH, Halt.NOT_LENGTH, 2)


def test_a_short_prompt_that_failed_by_chance_is_asked_again() -> None:
    struck: list[ProbeSpec] = []

    def once(spec: ProbeSpec, _: Past) -> bool:
        struck.append(spec)
        return len(struck) == 1

    finding = Engine(dies_where(once)).play(fuzz(question(most_samples=20)))
    assert (finding.kind, finding.halt) == (FindingKind.NONE, None)


def test_a_target_that_takes_no_company_is_sampled_without_it() -> None:
    engine = Engine(lambda spec, _: Outcome.BUSY if spec.companions else None)
    finding = engine.play(fuzz(question(most_samples=100)))
    assert (finding.kind, finding.halt) == (FindingKind.NONE, None)
    busy = [seen.spec for seen in engine.log if seen.outcome is Outcome.BUSY]
    assert busy
    assert len(busy) == len(set(busy))
    assert "not varied: companions" in finding.assumes[0]


def test_companions_that_would_meet_what_was_found_are_not_sent() -> None:
    def rule(spec: ProbeSpec, _: Past) -> bool:
        return spec.length > 60_000 or any(length > 60_000 for length in spec.companions)

    engine = Engine(dies_where(rule))
    finding = engine.play(fuzz(question(keep_going=True, max_deaths=40)))
    assert len(finding.reproducers) == 1, [one.spec for one in finding.reproducers]


def test_companions_are_made_short_too() -> None:
    shown, _ = found(dies_where(lambda spec, _: len(spec.companions) >= 2))
    assert shown.spec.companions == (64, 64)
    needed_long, _ = found(dies_where(lambda spec, _: sum(spec.companions) > 1_000))
    assert sum(needed_long.spec.companions) > 1_000


@pytest.mark.parametrize("seed", range(6))
def test_a_failure_that_comes_now_and_then_is_no_island(seed: int) -> None:
    draw = random.Random(seed)
    engine = Engine(dies_where(lambda spec, _: spec.length > 5_000 and draw.random() < 0.6))
    shown = engine.play(fuzz(question(seed=seed, shrink_deaths=40, max_deaths=60))).reproducers[0]
    assert shown.longer_passes is not True or "come" in shown.unfinished


def test_a_trial_that_dies_late_is_no_pass() -> None:
    engine = Engine(lambda *_: None)
    met: list[ProbeSpec] = []

    def rule(spec: ProbeSpec, _: Past) -> Outcome | None:
        if not 3_000 < spec.length < 9_000:
            return None
        met.append(spec)
        engine.late = len(met) > 2  # what it is met by, and its confirmation, die at once
        return Outcome.DEATH

    engine.rule = rule
    shown = engine.play(fuzz(question(shrink_deaths=40, max_deaths=60))).reproducers[0]
    assert shown.shorter_passes is not True or shown.spec.length == 3_001


@dataclass
class Slow:
    """Dies a while after some lengths: the first time between two probes, from then on with the next one in flight."""

    island: range
    world: World = field(default_factory=World)
    dying: int = 0
    times: int = 0

    def answer(self, spec: ProbeSpec) -> Observation:
        seen, dying, self.dying = self.world.answer(spec), self.dying, 0
        if spec.length in self.island:
            self.times += 1
            self.dying = self.times
        if not dying:
            return seen
        died = replace(seen, outcome=Outcome.DEATH, completion_tokens=None, reason="cut", deaths=1, blames="this")
        return died if dying > 1 else replace(died, outcome=Outcome.ABANDONED, blames="nobody")


def test_a_death_with_the_short_prompt_in_flight_is_not_passed_over() -> None:
    """The short one shows what became of the sample before it, also by what it dies of itself."""
    played = play(fuzz(question(most_samples=60, seed=7)), Slow(range(16_000, 17_000)).answer)
    met = next(seen for seen in played.log if seen.outcome is Outcome.DEATH)
    assert (met.spec.role, met.spec.length) == (Role.SHRINK, SHORT)
    (found,) = played.finding.reproducers
    assert (played.finding.kind, found.spec.length in range(16_000, 17_000)) == (FindingKind.DEATH, True)
    assert found.failed > 1, "trials are judged by the short prompt after them likewise"


@dataclass
class SlowOnce(Slow):
    """It does so twice, and whoever is on the way turns the next one away before it dies with another in flight."""

    is_turned_away: bool = False

    def answer(self, spec: ProbeSpec) -> Observation:
        if self.dying == 2 and not self.is_turned_away:
            self.is_turned_away = True
            return replace(self.world.answer(spec), outcome=Outcome.BUSY, completion_tokens=None, retry_after_s=0.0)
        seen = super().answer(spec)
        self.dying = 0 if self.times > 2 else self.dying
        return seen


def test_a_death_after_who_was_busy_is_not_passed_over_either() -> None:
    played = play(fuzz(question(most_samples=60, seed=7)), SlowOnce(range(16_000, 17_000)).answer)
    assert (played.finding.kind, len(played.finding.reproducers)) == (FindingKind.DEATH, 1), played.finding.reason


def test_an_error_that_the_engine_lives_through_is_shrunk_too() -> None:
    engine = Engine(lambda spec, _: Outcome.ERROR if spec.length % 128 == 5 and spec.length > 1000 else None)
    finding = engine.play(fuzz(question()))
    assert finding.kind is FindingKind.ERROR
    assert finding.reproducers[0].spec.length % 128 == 5
    assert engine.deaths == 0


@given(st.integers(0, 2**16), st.sampled_from(sorted(CONDITIONAL)), st.data())
@settings(max_examples=25, deadline=None)
def test_a_resumed_run_asks_what_the_old_one_would_have(seed: int, name: str, data: st.DataObject) -> None:
    rule, _ = CONDITIONAL[name]
    engine = Engine(dies_where(rule))
    asked = question(seed=seed, most_samples=300)
    whole = engine.play(fuzz(asked))
    cut = data.draw(st.integers(0, len(engine.log) - 1))
    plan = fuzz(asked)
    spec = next(plan)
    for seen in engine.log[:cut]:
        assert spec == seen.spec
        spec = plan.send(seen)
    assert spec == engine.log[cut].spec
    again = Engine(dies_where(rule), log=list(engine.log[:cut]), now_s=engine.log[cut - 1].ended_s if cut else 0.0)
    again.life = _life(engine.log[:cut])
    assert replace(again.pump(plan, spec), reason="") == replace(whole, reason="")


def _life(log: Sequence[Observation]) -> list[ProbeSpec]:
    last = max((at for at, seen in enumerate(log) if seen.deaths), default=-1)
    return [seen.spec for seen in log[last + 1 :]]

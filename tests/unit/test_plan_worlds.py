"""Does a bisect keep its promises in worlds that nobody thought of?"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from fuzzer.finding import Finding, FindingKind
from fuzzer.model import Outcome, Role, Side, side_of
from fuzzer.plans.bisect import BisectQuestion, bisect, next_step
from fuzzer.plans.ledger import Ledger
from tests.unit.worlds import (
    Played,
    Rule,
    World,
    any_of,
    asked_above,
    drafts_above,
    flaky_above,
    periodic,
    play,
    poisoned_by,
    prompt_above,
    total_above,
    wears_out,
    window,
)

REPEATED = {Role.CONFIRM_GOOD, Role.CONFIRM_BAD, Role.CORNER}
FAILURES = st.sampled_from([Outcome.DEATH, Outcome.ERROR, Outcome.HANG, Outcome.TRUNCATED])
LENGTHS = st.integers(100, 6_000)


@dataclass(frozen=True)
class Monotone:
    """A deterministic world that fails by prompt > a, prompt + output > b or prompt + output + k > c."""

    a: int
    b: int
    c: int
    k: int
    kind: Outcome
    limit: int | None
    style: str

    def world(self) -> World:
        rules = (prompt_above(self.a, self.kind), total_above(self.b, self.kind), drafts_above(self.c, self.kind))
        return World(any_of(*rules), limit=self.limit, style=self.style, k=self.k)

    def admits_failure(self, cap: int) -> bool:
        """Is there a request under the cap that fails? A refusal is none."""
        prompt = cap - 1
        return prompt > self.a or cap > self.b or cap + self.k > self.c

    def holds(self, length: int) -> bool:
        """Does a prompt of this length pass, with room for its output?"""
        return not self.admits_failure(length) and (self.limit is None or length < self.limit)


MONOTONE = st.builds(
    Monotone,
    a=LENGTHS,
    b=LENGTHS,
    c=LENGTHS,
    k=st.sampled_from([0, 1, 7]),
    kind=FAILURES,
    limit=st.none() | st.integers(50, 6_500),
    style=st.sampled_from(["clamp", "sum", "prompt"]),
)


@st.composite
def questions(draw: st.DrawFn, world: Monotone | None = None) -> BisectQuestion:
    lo = draw(st.integers(1, 3_000))
    tells = world is not None and world.limit is not None and draw(st.booleans())
    return BisectQuestion(
        lo=lo,
        hi=lo + draw(st.integers(1, 4_000)),
        limit=world.limit if world and tells else None,
        resolution=draw(st.sampled_from([1, 1, 10])),
        output_tokens=draw(st.sampled_from([1, 8, 32])),
        strategy=draw(st.sampled_from(["auto", "halving"])),
        max_deaths=draw(st.sampled_from([1, 4, 30])),
        round_to=draw(st.sampled_from([1, 16])),
        trust_lo=world is not None and world.holds(lo + 40) and draw(st.booleans()),
    )


def assert_coherent(finding: Finding) -> None:
    """No length both passes and fails, and no cap admits what fails: not the first that does, and no island."""
    if finding.first_bad is not None:
        assert finding.last_good is None or finding.last_good < finding.first_bad
        assert finding.cap is None or finding.cap < finding.first_bad
    assert all(finding.cap is None or finding.cap <= first for first, _ in finding.islands)
    if finding.last_good_output is not None and finding.first_bad_output is not None:
        assert finding.last_good_output < finding.first_bad_output


def limited(question: BisectQuestion, world: Monotone) -> Played:
    return play(bisect(question), world.world().answer)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_no_cap_is_unsafe_in_a_monotone_world(data: st.DataObject) -> None:
    world = data.draw(MONOTONE)
    question = data.draw(questions(world))
    played = limited(question, world)
    finding = played.finding
    if finding.cap is not None:
        assert not world.admits_failure(finding.cap)
        assert finding.last_good is not None
        assert finding.cap <= finding.last_good or finding.kind is FindingKind.CLEAN_LIMIT
        assert finding.cap <= max(seen.total for seen in played.log if seen.outcome is Outcome.PASS)
        asked = [seen.spec for seen in played.log if seen.outcome in {Outcome.PASS, Outcome.REJECTED}]
        assert any(spec.length + spec.output_tokens >= finding.cap for spec in asked if spec.length <= 64)
    if finding.last_good is not None and finding.first_bad is not None and finding.kind is not FindingKind.INCONCLUSIVE:
        assert finding.last_good < finding.first_bad
        assert finding.first_bad - finding.last_good <= question.resolution or any(
            seen.spec.role is Role.LIMIT and seen.length == finding.first_bad for seen in played.log
        )


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_what_killed_is_sent_again_only_to_confirm_it(data: st.DataObject) -> None:
    world = data.draw(MONOTONE)
    question = data.draw(questions(world))
    played = limited(question, world)
    dead: set[tuple[int, int]] = set()
    times = Counter(played.asked())
    for seen in played.log:
        point = (seen.spec.length, seen.spec.output_tokens)
        if point in dead:
            assert seen.spec.role in {Role.CONFIRM_BAD, Role.LO, Role.BASELINE, Role.CORNER}
            assert times[point] <= 4
        if seen.deaths:
            dead.add(point)
    assert played.deaths <= question.max_deaths


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_no_pass_is_repeated_but_to_confirm_it_and_the_bracket_only_shrinks(data: st.DataObject) -> None:
    world = data.draw(MONOTONE)
    question = data.draw(questions(world))
    played = limited(question, world)
    passed: dict[tuple[int, int], bool] = {}
    ledger = Ledger(question)
    before = ledger.bounds
    for seen in played.log:
        point = (seen.spec.length, seen.spec.output_tokens)
        assert point not in passed or seen.spec.role in REPEATED or not passed[point]
        if seen.spec.role is not Role.SCAN:  # the grain's evidence is kept apart from the line's and the corners'
            passed[point] = seen.outcome is Outcome.PASS
        ledger.take(seen)
        assert not ledger.bounds.noisy
        assert before.low <= ledger.bounds.low < ledger.bounds.high <= before.high
        before = ledger.bounds


def rules() -> st.SearchStrategy[Rule]:
    """Rules of every kind, and two of them at a time."""
    single = st.one_of(
        st.builds(prompt_above, LENGTHS, FAILURES),
        st.builds(total_above, LENGTHS, FAILURES),
        st.builds(window, LENGTHS, LENGTHS, FAILURES),
        st.builds(periodic, st.integers(2, 700), FAILURES),
        st.builds(wears_out, st.integers(2, 40), FAILURES),
        st.builds(asked_above, LENGTHS, FAILURES),
        st.builds(flaky_above, LENGTHS, st.floats(0, 1), st.sampled_from([0.0, 0.02, 0.3]), FAILURES),
    )
    return single | st.builds(any_of, single, single) | st.builds(poisoned_by, single)


@settings(max_examples=300, deadline=None)
@given(rules(), questions(), st.integers(0, 5))
def test_every_world_comes_to_a_finding(rule: Rule, question: BisectQuestion, seed: int) -> None:
    played = play(bisect(question), World(rule, seed=seed).answer)
    finding = played.finding
    assert_coherent(finding)
    assert finding.reason
    assert len(played.log) < 3_000
    if finding.cap is not None:
        assert finding.last_good is not None
        assert finding.cap <= finding.last_good
    if finding.kind is FindingKind.INCONCLUSIVE:
        assert finding.halt is not None
    if finding.first_bad is not None:
        assert any(side_of(seen.outcome) is not Side.GOOD for seen in played.log if seen.length == finding.first_bad)


STRAYS = st.builds(flaky_above, LENGTHS, st.sampled_from([0.0, 0.5]), st.sampled_from([0.0, 0.02, 0.1]), FAILURES)


@settings(max_examples=300, deadline=None)
@given(st.data(), MONOTONE, STRAYS)
def test_no_finding_contradicts_itself_near_a_limit(data: st.DataObject, world: Monotone, strays: Rule) -> None:
    question = replace(data.draw(questions(world)), scan=data.draw(st.sampled_from([0, 0, 20])))
    played = world.world()
    played.rule = any_of(strays, played.rule)
    assert_coherent(play(bisect(question), played.answer).finding)


@settings(max_examples=150, deadline=None)
@given(rules(), st.integers(0, 5))
def test_no_finding_over_outputs_contradicts_itself(rule: Rule, seed: int) -> None:
    question = BisectQuestion(lo=500, hi=4_000, axis="output", max_deaths=30)
    assert_coherent(play(bisect(question), World(rule, seed=seed).answer).finding)


@settings(max_examples=60, deadline=None)
@given(rules(), questions(), st.integers(0, 5))
def test_a_replayed_prefix_asks_the_same_next(rule: Rule, question: BisectQuestion, seed: int) -> None:
    played = play(bisect(question), World(rule, seed=seed).answer)
    ledger = Ledger(question)
    for seen in played.log[:150]:
        assert next_step(ledger) == seen.spec
        ledger.take(seen)
    again = play(bisect(question, played.log), lambda spec: (_ for _ in ()).throw(AssertionError(spec)))
    assert again.finding == played.finding

"""Does every plan find out an engine that dies a while after its answers, and nothing in somebody's one restart?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from fuzzer.finding import FindingKind, Halt
from fuzzer.model import FAIL_ON_DEFAULT, Outcome, ProbeSpec, Role
from fuzzer.observation import Observation
from fuzzer.plans import Plan
from fuzzer.plans.bisect import BisectQuestion, bisect
from fuzzer.plans.fuzz import FuzzQuestion, fuzz
from fuzzer.plans.same import SameQuestion, same
from fuzzer.plans.single import single
from fuzzer.plans.speed import SpeedQuestion, speed
from fuzzer.plans.sweep import SweepQuestion, sweep
from fuzzer.plans.verify import VerifyQuestion, verify
from tests.unit.worlds import Played, Request, Rule, World, play, total_above

CAP = 5_000
Kills = Callable[[ProbeSpec, Observation], bool]


class Late:
    """Dies a while after each answer that `kills`. What is asked next finds nobody, or is answered by the next life
    where a supervisor is quicker: `quick`.
    """

    def __init__(self, world: World, kills: Kills, *, quick: bool) -> None:
        self.world, self.kills, self.quick, self.dying = world, kills, quick, False

    def answer(self, spec: ProbeSpec) -> Observation:
        seen, was_dying = self.world.answer(spec), self.dying
        self.dying = not (was_dying and not self.quick) and self.kills(spec, seen)
        if was_dying and self.quick:
            return replace(seen, deaths=seen.deaths + 1, blames=seen.blames or "nobody")
        if was_dying:
            unsent = replace(seen, outcome=Outcome.ABANDONED, completion_tokens=None, reason="refused")
            return replace(unsent, deaths=1, blames="nobody")
        return seen


def from_1000(outcome: Outcome) -> Rule:
    return lambda request: outcome if 1_000 < request.prompt < CAP else None


def is_long(spec: ProbeSpec, seen: Observation) -> bool:
    return 4_000 < spec.length < CAP and seen.outcome.is_evidence


def is_refused(_: ProbeSpec, seen: Observation) -> bool:
    return seen.outcome is Outcome.REJECTED


def at_seqs(*seqs: int) -> Kills:
    """Somebody restarts it after these probes, whatever they were."""
    return lambda _, seen: seen.seq in seqs


UNGARBLED = FAIL_ON_DEFAULT - {Outcome.GARBLED}
TABLE = (2_000, 4_200, 4_400, 5_200)
PLANS: dict[str, Callable[[frozenset[Outcome]], Plan]] = {
    "sweep": lambda fail_on: sweep(SweepQuestion(lengths=TABLE, fail_on=fail_on)),
    "same": lambda fail_on: same(SameQuestion(lengths=TABLE, fail_on=fail_on)),
    "speed": lambda fail_on: speed(SpeedQuestion(lengths=(1_200, 4_200), fail_on=fail_on)),
    "verify": lambda fail_on: verify(VerifyQuestion(cap=CAP, far=10_000, limit=CAP, fail_on=fail_on)),
}


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize(
    ("plan", "outcome"),
    [
        *[(plan, outcome) for plan in PLANS for outcome in (Outcome.PASS, Outcome.DEGRADED)],
        *[(plan, Outcome.GARBLED) for plan in ("sweep", "same")],  # of the others none is a good answer
    ],
)
def test_a_list_finds_the_death_after_any_answer_that_is_no_failure(plan: str, outcome: Outcome, quick: bool) -> None:
    late = Late(World(from_1000(outcome), limit=None if plan != "verify" else CAP), is_long, quick=quick)
    played = play(PLANS[plan](UNGARBLED), late.answer)
    found = {FindingKind.DEATH} if plan != "speed" else {FindingKind.DEATH, FindingKind.INCONCLUSIVE}
    assert played.finding.kind in found
    assert played.finding.first_bad == (4_968 if plan == "verify" else 4_200)
    assert "death: the engine died a while after it was answered" in played.finding.reason
    assert played.deaths <= 3


@pytest.mark.parametrize("plan", ["sweep", "verify"])
@pytest.mark.parametrize(("seqs", "holds"), [((3,), True), ((2, 5), False)])
def test_one_restart_is_no_finding_and_two_are_told(plan: str, seqs: tuple[int, ...], holds: bool) -> None:
    late = Late(World(limit=CAP if plan == "verify" else None), at_seqs(*seqs), quick=False)
    finding = play(PLANS[plan](FAIL_ON_DEFAULT), late.answer).finding
    good = FindingKind.NONE if plan == "sweep" else FindingKind.CLEAN_LIMIT
    assert finding.kind is (good if holds else FindingKind.INCONCLUSIVE)
    assert ("the engine died 2 times between two probes" in finding.reason) is not holds


# --- refusals ---


def limited(kills: Kills, style: str, *, quick: bool = False) -> Played:
    late = Late(World(limit=CAP, style=style), kills, quick=quick)
    return play(bisect(BisectQuestion(lo=1_000, hi=8_000)), late.answer)


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("style", ["clamp", "sum", "prompt"])
def test_an_engine_that_dies_after_its_refusals_has_no_clean_limit(style: str, quick: bool) -> None:
    finding = limited(is_refused, style, quick=quick).finding
    assert finding.kind in {FindingKind.DEATH, FindingKind.INCONCLUSIVE}
    assert finding.cap is None or finding.cap < CAP


def test_the_gate_finds_the_death_after_a_refusal() -> None:
    late = Late(World(limit=CAP), is_refused, quick=False)
    played = play(PLANS["verify"](FAIL_ON_DEFAULT), late.answer)
    assert (played.finding.kind, played.finding.cap, played.deaths) == (FindingKind.DEATH, None, 2)


@pytest.mark.parametrize("style", ["clamp", "sum", "prompt"])
def test_one_restart_keeps_a_hidden_limit_clean_wherever_it_strikes(style: str) -> None:
    whole = limited(at_seqs(), style)
    for seq in range(1, len(whole.log), 3):
        finding = limited(at_seqs(seq), style).finding
        assert (finding.kind, finding.cap) == (FindingKind.CLEAN_LIMIT, whole.finding.cap)


def test_two_deaths_of_nobodys_keep_a_clean_limit_back() -> None:
    finding = limited(at_seqs(4, 9), "clamp").finding
    assert (finding.kind, finding.halt, finding.cap) == (FindingKind.NOT_LENGTH, Halt.NOT_LENGTH, None)
    assert (finding.first_bad, finding.flaky) == (None, None)
    assert "the engine died 2 times between two probes" in finding.reason


# --- samples ---


def fuzzed(kills: Kills, *, quick: bool, seed: int = 2) -> Played:
    question = FuzzQuestion(cap=131_072, most_samples=100, seed=seed)
    return play(fuzz(question), Late(World(), kills, quick=quick).answer)


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("seed", [2, 3, 5])
def test_a_fuzz_asks_the_sample_again_that_a_death_came_after(seed: int, quick: bool) -> None:
    played = fuzzed(lambda spec, _: 16_000 <= spec.length < 17_000, quick=quick, seed=seed)
    assert played.finding.kind is FindingKind.DEATH
    assert 16_000 <= played.finding.reproducers[0].spec.length < 17_000
    assert played.finding.reproducers[0].failed > 1


@pytest.mark.parametrize("quick", [False, True])
def test_a_fuzz_finds_nothing_where_somebody_restarted_it_once_and_is_not_sure_after_twice(quick: bool) -> None:
    once, twice = fuzzed(at_seqs(20), quick=quick), fuzzed(at_seqs(20, 40), quick=quick)
    assert (once.finding.kind, once.finding.reproducers) == (FindingKind.NONE, ())
    assert (twice.finding.kind, twice.finding.reproducers) == (FindingKind.INCONCLUSIVE, ())
    assert "the engine died 2 times between two probes" in twice.finding.reason
    assert sum(seen.spec.role is Role.FUZZ for seen in twice.log) >= 100


# --- outputs ---


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("corner", [(16, 2_032), (2_016, 32)])
def test_a_corner_of_an_output_cap_is_not_good_where_the_engine_dies_after_it(
    corner: tuple[int, int], quick: bool
) -> None:
    def kills(spec: ProbeSpec, _: Observation) -> bool:
        return (spec.length, spec.output_tokens) == corner

    late = Late(World(total_above(2_048)), kills, quick=quick)
    finding = play(bisect(BisectQuestion(lo=500, hi=4_000, axis="output")), late.answer).finding
    assert (finding.last_good_output, finding.cap) == (1_984, None)
    assert f"; no cap, since {corner[0]} + {corner[1]} tokens ended in death" in finding.reason


# --- one probe ---


def always(_: Request) -> Outcome:
    return Outcome.DEATH


@pytest.mark.parametrize("max_deaths", [0, 1])
@pytest.mark.parametrize("cache", ["cold", "warm"])
def test_a_single_probe_keeps_to_its_deaths(max_deaths: int, cache: str) -> None:
    question = BisectQuestion(lo=5_000, hi=5_001, max_deaths=max_deaths, cache=cache)  # type: ignore[arg-type]
    short = Late(World(), lambda spec, _: spec.length == 64, quick=False)
    long = Late(World(), lambda spec, _: spec.length == 5_000, quick=cache == "warm")
    for answer in (World(always).answer, short.answer, long.answer):
        played = play(single(question), answer)
        assert played.deaths <= 1
        assert played.finding.kind in {FindingKind.NONE, FindingKind.INCONCLUSIVE}
        assert played.finding.kind is FindingKind.NONE or played.finding.halt is Halt.DEATHS

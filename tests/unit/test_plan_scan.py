"""Does a scan find what fails alone below the edge, without taking it for the edge?"""

from __future__ import annotations

from itertools import count
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzzer.finding import FindingKind, Halt
from fuzzer.model import Outcome, Role
from fuzzer.observation import Observation
from fuzzer.plans.below import lowest_failing
from fuzzer.plans.bisect import BisectQuestion, bisect
from fuzzer.plans.ledger import Ledger
from tests.unit.worlds import Played, Request, World, flaky_above, play

EDGE = 60_000


def scanned(*islands: tuple[int, int], edge: int | None = EDGE, stray: int | None = None, **asked: Any) -> Played:
    """A bisect with a scan over a world with these islands. `stray`: the first time, this length fails too."""
    strays = [stray]

    def rule(request: Request) -> Outcome | None:
        if request.prompt in strays:
            strays.clear()
            return Outcome.DEATH
        hit = any(first <= request.prompt <= last for first, last in islands)
        return Outcome.DEATH if hit or (edge is not None and request.prompt > edge) else None

    told = {"lo": 5_000, "hi": 100_000, "scan": 300, "max_deaths": 40, "attribute_axis": False}
    return play(bisect(BisectQuestion(**{**told, **asked})), World(rule).answer)


ISLANDS = [(8_192, 8_192), (14_336, 14_336), (14_335, 14_337), (14_300, 14_400), (51_200, 51_208)]


@pytest.mark.parametrize(("first", "last"), ISLANDS)
@pytest.mark.parametrize("edge", [EDGE, None])
def test_an_island_is_measured_and_the_cap_goes_below_it(first: int, last: int, edge: int | None) -> None:
    played = scanned((first, last), edge=edge)
    finding = played.finding
    assert finding.islands == ((first, last),)
    assert finding.cap == (first - 1) // 16 * 16
    assert finding.kind is FindingKind.DEATH
    assert finding.last_good == (EDGE if edge else 100_000)
    assert finding.first_bad == (EDGE + 1 if edge else None)
    assert finding.verified_up_to == first - 1
    passes = [seen for seen in played.log if seen.length == first - 1 and seen.outcome is Outcome.PASS]
    assert len(passes) >= 9
    assert f"{first}" in finding.reason


def test_the_cap_below_an_island_leaves_room_for_accepted_drafts() -> None:
    def rule(request: Request) -> Outcome | None:
        return Outcome.DEATH if request.prompt == 14_336 or request.prompt > EDGE else None

    question = BisectQuestion(lo=5_000, hi=100_000, scan=300, max_deaths=40, attribute_axis=False, round_to=1)
    finding = play(bisect(question), World(rule, k=7).answer).finding
    assert finding.cap == 14_335 - 7


def test_the_lowest_of_two_islands_counts() -> None:
    finding = scanned((8_192, 8_192), (32_768, 32_769)).finding
    assert finding.cap == 8_176
    assert (8_192, 8_192) in finding.islands


def test_without_an_island_the_cap_stays_and_says_what_was_asked() -> None:
    played = scanned()
    assert (played.finding.cap, played.finding.islands) == (EDGE, ())
    assert any("places below the edge" in said for said in played.finding.assumes)
    assert 100 < sum(seen.spec.role is Role.SCAN for seen in played.log) <= 300


def test_the_budget_of_a_scan_holds() -> None:
    assert sum(seen.spec.role is Role.SCAN for seen in scanned(scan=25).log) == 25


def test_no_scan_is_no_more_than_the_grain() -> None:
    played = scanned((8_193, 8_193), scan=0)
    asked = [seen.length for seen in played.log if seen.spec.role is Role.SCAN]
    assert len(asked) <= 3
    assert all(abs(length - 59_392) <= 1 for length in asked)
    assert played.finding.cap == EDGE


def test_a_stray_failure_is_no_island() -> None:
    finding = scanned(stray=8_193).finding
    assert (finding.cap, finding.islands) == (EDGE, ())


def failing_in_turns(outcome: Outcome, *turns: int) -> Played:
    """A scan over a world where one place fails the so-manieth times that it is asked, and no others."""
    asked = count(1)

    def rule(request: Request) -> Outcome | None:
        is_turn = request.prompt == PLACE and next(asked) in turns
        return outcome if is_turn else Outcome.DEATH if request.prompt > EDGE else None

    question = BisectQuestion(lo=5_000, hi=100_000, scan=23, max_deaths=40, attribute_axis=False)
    return play(bisect(question), World(rule).answer)


PLACE = 3_073
ALWAYS = tuple(range(1, 100))


@pytest.mark.parametrize(
    ("outcome", "turns", "is_island"),
    [
        (Outcome.ERROR, (1,), False),
        (Outcome.ERROR, (1, 2), False),
        (Outcome.ERROR, (1, 6), False),
        (Outcome.ERROR, (1, 3, 9), False),
        (Outcome.ERROR, ALWAYS, True),
        (Outcome.GARBLED, ALWAYS, True),
        (Outcome.ERROR, ALWAYS[::2], True),
        (Outcome.ERROR, ALWAYS[::3], True),
        (Outcome.DEATH, (1,), False),
        (Outcome.DEATH, (1, 6), True),
        (Outcome.DEATH, ALWAYS[::3], True),
    ],
)
def test_strays_that_passes_outweigh_are_no_island_but_two_deaths_are(
    outcome: Outcome, turns: tuple[int, ...], is_island: bool
) -> None:
    played = failing_in_turns(outcome, *turns)
    finding = played.finding
    assert finding.islands == (((PLACE, PLACE),) if is_island else ())
    assert finding.cap == (PLACE - 1 if is_island else EDGE)
    assert finding.kind is (FindingKind(outcome) if is_island else FindingKind.DEATH)
    assert sum(seen.length == PLACE for seen in played.log) <= 30
    assert is_island != any(said.startswith(f"the place {PLACE} failed") for said in finding.assumes)


def test_a_pass_of_the_scan_does_not_hide_a_death_that_the_search_met() -> None:
    question = BisectQuestion(lo=1_000, hi=EDGE, scan=20)
    ledger = Ledger(question)

    def take(length: int, role: Role, outcome: Outcome = Outcome.PASS) -> None:
        spec, died = question.spec(length, role, ""), int(outcome is Outcome.DEATH)
        blames: Literal["this"] | None = "this" if died else None
        ledger.take(Observation(len(ledger.seen), spec, outcome, length, "usage", deaths=died, blames=blames))

    take(PLACE, Role.SEARCH, Outcome.DEATH)
    for length in (PLACE, *[EDGE] * 30):
        take(length, Role.SEARCH)
    take(PLACE, Role.SCAN)
    assert lowest_failing(ledger) == PLACE
    for _ in range(20):
        take(PLACE, Role.SCAN)
    assert lowest_failing(ledger) is None


def test_where_no_death_is_left_nothing_is_scanned() -> None:
    played = scanned((8_193, 8_193))
    most = sum(seen.deaths for seen in played.log if seen.spec.role is not Role.SCAN)
    assert scanned((8_193, 8_193), max_deaths=most).deaths <= most


@given(st.integers(300, 3_600), st.sampled_from([1, 2, 3, 40]), st.data())
@settings(max_examples=20, deadline=None)
def test_a_resumed_scan_goes_on_where_it_was(step: int, width: int, data: st.DataObject) -> None:
    first = step * 16
    whole = scanned((first, first + width - 1), scan=60)
    cut = data.draw(st.integers(0, len(whole.log) - 1))
    question = BisectQuestion(lo=5_000, hi=100_000, scan=60, max_deaths=40, attribute_axis=False)
    plan = bisect(question)
    spec = next(plan)
    for seen in whole.log[:cut]:
        spec = plan.send(seen)
    assert spec == whole.log[cut].spec


@pytest.mark.parametrize("island", [(8_191, 8_191), (14_335, 14_340), (4_000, 9_000)])
@pytest.mark.parametrize("rate", [1.0, 0.6])
@pytest.mark.parametrize("most", [6, 7, 12])
def test_a_cap_never_admits_what_failed_and_is_not_outweighed(island: tuple[int, int], rate: float, most: int) -> None:
    def rule(request: Request) -> Outcome | None:
        is_hit = island[0] <= request.prompt <= island[1] and request.draw < rate
        return Outcome.DEATH if is_hit or request.prompt > EDGE else None

    for seed in range(5):
        asked = BisectQuestion(lo=5_000, hi=100_000, scan=60, max_deaths=most, attribute_axis=False)
        played = play(bisect(asked), World(rule, seed=seed).answer)
        failed = min(seen.length for seen in played.log if seen.outcome is Outcome.DEATH)
        assert played.finding.cap is None or played.finding.cap <= failed
        assert played.deaths <= most + 1  # what has passed is sent again with the deaths spent, and may be flaky


@pytest.mark.parametrize(("at", "ground"), [(14_337, 14_336), (14_336, 13_825)])
def test_what_failed_once_and_could_not_be_asked_again_is_said_and_the_cap_is_below_it(at: int, ground: int) -> None:
    """That takes no death: what has passed is sent again. What was not sent is not said to be verified."""
    free = scanned((at, at))
    until_met = next(nth for nth, seen in enumerate(free.log) if seen.spec.role is Role.SCAN and seen.deaths)
    played = scanned((at, at), max_deaths=sum(seen.deaths for seen in free.log[: until_met + 1]))
    finding = played.finding
    assert (finding.kind, finding.halt, finding.cap) == (FindingKind.INCONCLUSIVE, Halt.DEATHS, ground // 16 * 16)
    assert finding.verified_up_to == ground
    assert sum(seen.length == ground and seen.outcome is Outcome.PASS for seen in played.log) >= 9
    assert f"{at} failed once" in finding.reason
    assert "the cap is below that" in finding.reason


def test_an_island_that_the_search_has_met_is_not_killed_for_again() -> None:
    played = scanned((8_192, 8_192))
    assert [seen.spec.role for seen in played.log if seen.length == 8_192 and seen.spec.role is Role.SCAN] == []
    assert (played.finding.cap, played.finding.islands) == (8_176, ((8_192, 8_192),))


def test_the_width_of_an_island_costs_a_death_a_length() -> None:
    played = scanned((14_300, 14_400))
    inside = [seen.length for seen in played.log if 14_300 <= seen.length <= 14_400 and seen.deaths]
    assert len(inside) == len(set(inside)) + 1


def test_without_a_scan_strays_are_no_islands() -> None:
    world = World(flaky_above(2_254, 1.0, 0.03, Outcome.ERROR), seed=2861)
    finding = play(bisect(BisectQuestion(lo=1_000, hi=5_000)), world.answer).finding
    assert (finding.last_good, finding.cap) == (2_254, 2_240)
    assert "island" not in finding.reason

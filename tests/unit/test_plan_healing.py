"""Is a hang that is over without a restart no fresh life, and what hangs right after it that hang's own?"""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from fuzzer.evidence import Evidence, Verdict
from fuzzer.finding import FindingKind
from fuzzer.model import Outcome, ProbeSpec, Role
from fuzzer.observation import Observation
from fuzzer.observe import observe
from fuzzer.plans.bisect import BisectQuestion, bisect
from fuzzer.plans.fresh import took_the_engine_down
from fuzzer.plans.ledger import Ledger
from fuzzer.prompts.recipe import Recipe
from fuzzer.rig import Prepared
from fuzzer.standing import Standing
from targets.base import Generation, Prompt, Reply
from targets.scrape import Scrape
from tests.unit.worlds import Played, Request, World, flaky_above, play

EDGE, POOL, DEADLINE_S = 900, 1_600, 60.0
QUESTION = BisectQuestion(lo=500, hi=1_200)
HUNG = Observation(
    1, QUESTION.spec(1_000, Role.SEARCH, ""), Outcome.HANG, 1_000, "inferred", wedged=True, revival_s=9.0
)


@dataclass
class Leaking(World):
    """What a hung request held of the pool is kept for so many seconds since the request began."""

    keep_s: float = 240.0
    wedges: bool = False  # nothing short is served either, until then
    tells: bool = True

    def answer(self, spec: ProbeSpec) -> Observation:
        self._now_s += spec.wait_s
        held = [until for until in self._held if until > self._now_s]
        self.rule = lambda request: self._hangs(request, len(held))
        began, seen = self._now_s, super().answer(spec)
        if seen.outcome is not Outcome.HANG:
            return seen
        self._held.append(began + self.keep_s)
        self._now_s = began + DEADLINE_S
        revival_s = None
        if self.wedges:
            revival_s = max(0.0, self._held[0] - self._now_s)
            self._now_s += revival_s
        cost_s = self._now_s - began
        hung = replace(seen, wedged=self.wedges, would_tell=self.wedges and self.tells, revival_s=revival_s)
        self.log[-1] = replace(hung, duration_s=DEADLINE_S, ended_s=began + DEADLINE_S, cost_s=cost_s)
        return self.log[-1]

    def __post_init__(self) -> None:
        super().__post_init__()
        self._held: list[float] = []

    @staticmethod
    def _hangs(request: Request, held: int) -> Outcome | None:
        return Outcome.HANG if request.prompt > EDGE or request.prompt + held * EDGE > POOL else None


@pytest.mark.parametrize("wedges", [False, True])
@pytest.mark.parametrize("keep_s", [1.0, 90.0, 240.0])
def test_what_a_hung_request_keeps_for_a_while_moves_no_boundary(keep_s: float, wedges: bool) -> None:
    played = play(bisect(QUESTION), Leaking(keep_s=keep_s, wedges=wedges).answer)
    finding = played.finding
    assert (finding.kind, finding.last_good, finding.first_bad) == (FindingKind.HANG, EDGE, EDGE + 1)
    assert (finding.cap, finding.flaky) == (EDGE // 16 * 16, None)
    assert sum(seen.outcome is Outcome.HANG for seen in played.log) <= 14


def test_what_it_keeps_for_ever_is_told_as_poison() -> None:
    played = play(bisect(QUESTION), Leaking(keep_s=1e9).answer)
    assert (played.finding.kind, played.finding.cap) == (FindingKind.NOT_LENGTH, None)
    assert "failed all, also what had passed before" in played.finding.reason
    assert sum(seen.outcome is Outcome.HANG for seen in played.log) <= 10


def test_a_wait_for_health_that_time_does_not_leave_is_not_called_a_busy_target() -> None:
    question = replace(QUESTION, max_time_s=450.0)
    finding = play(bisect(question), Leaking(keep_s=1e9).answer).finding
    assert "That is to wait for 240 s, longer than --max-time leaves" in finding.reason
    assert "busy" not in finding.reason


@pytest.mark.parametrize("outcome", [Outcome.ERROR, Outcome.DEATH, Outcome.TRUNCATED])
def test_nothing_is_asked_twice_for_what_is_no_hang(outcome: Outcome) -> None:
    played = play(bisect(QUESTION), World(rule=lambda request: outcome if request.prompt > EDGE else None).answer)
    assert not any("serves on" in seen.spec.reason for seen in played.log)


@pytest.mark.parametrize("seed", [1, 5, 6])
def test_an_edge_at_which_it_hangs_now_and_then_is_still_told(seed: int) -> None:
    """What is asked right after a hang is no draw: neither its passes nor its hangs are counted."""
    played = play(bisect(QUESTION), World(flaky_above(EDGE, 0.6, outcome=Outcome.HANG), seed=seed).answer)
    assert played.finding.kind is FindingKind.HANG
    assert played.finding.cap is not None
    assert played.finding.cap <= EDGE + 64


def flaky_played(rate: float, seed: int) -> Played:
    return play(bisect(QUESTION), World(flaky_above(0, rate, outcome=Outcome.HANG), seed=seed).answer)


def test_an_engine_that_hangs_at_any_length_is_given_no_cap() -> None:
    assert not any(flaky_played(0.5, seed).finding.cap for seed in range(4))


@pytest.mark.parametrize(
    ("more", "is_fresh"),
    [({"would_tell": True}, False), ({}, True), ({"would_tell": True, "revived": False}, True)],
)
def test_a_wedge_that_is_over_in_the_same_life_begins_none(more: dict[str, bool], is_fresh: bool) -> None:
    ledger = Ledger(QUESTION, [replace(HUNG, **more)])  # type: ignore[arg-type]
    assert took_the_engine_down(ledger.seen, QUESTION.fail_on) is is_fresh
    assert len(ledger.lives) == 1 + is_fresh
    ledger.take(Observation(2, QUESTION.spec(900, Role.SEARCH, ""), Outcome.PASS, 900, "usage"))
    assert ledger.evidence[-1].fresh is is_fresh


def test_the_end_of_a_wedge_that_was_seen_is_a_death_and_begins_a_life() -> None:
    ended = replace(HUNG, would_tell=True).ended_by("another start")
    assert not ended.outlived
    assert took_the_engine_down([ended], QUESTION.fail_on)


ENGINE = Scrape(0.0, starts={"": 1_000.0}, finished=4.0)


@pytest.mark.parametrize(
    ("before", "helped", "tells"),
    [
        (ENGINE, False, True),
        (ENGINE, True, False),  # it is we who end it, and no death of its own
        (None, False, False),
        (Scrape(0.0, finished=4.0), False, False),
        (Scrape(0.0, starts={"": 1_000.0}), False, False),  # a gateway's
    ],
)
@pytest.mark.parametrize("outcome", [Outcome.HANG, Outcome.ERROR])
def test_whether_another_process_would_be_told_is_kept(
    before: Scrape | None, helped: bool, tells: bool, outcome: Outcome
) -> None:
    spec, reply = HUNG.spec, Reply(sent=True)
    prepared = Prepared(
        1, spec, Generation(Prompt("ids", b"[]", 9), 32), b"{}", "", Recipe("ids", 9, "words", "1", "1"), None
    )
    e = Evidence(spec, reply, 1_000, before=before)
    seen = observe(
        prepared, e, Verdict(outcome, "", wedged=True), Standing(), started_s=0.0, ended_s=9.0, helped=helped
    )
    assert seen.would_tell is (tells and outcome is Outcome.HANG)

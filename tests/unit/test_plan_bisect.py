"""Does a bisect ask what the design says, in its order, and conclude what was seen?"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from fuzzer.cli.exits import Exit, exit_of
from fuzzer.finding import FindingKind, Halt
from fuzzer.model import FAIL_ON_DEFAULT, Baseline, Outcome, ProbeSpec, Role
from fuzzer.observation import Observation
from fuzzer.plans.bisect import BisectQuestion, bisect, next_step
from fuzzer.plans.forecast import bracket_of, forecast
from fuzzer.plans.ledger import Ledger
from fuzzer.plans.scout import Stages
from fuzzer.plans.single import single
from fuzzer.search import Suspect
from tests.unit.worlds import (
    Played,
    Request,
    Rule,
    World,
    any_of,
    asked_above,
    drafts_above,
    flaky_above,
    play,
    poisoned_by,
    prompt_above,
    total_above,
    wears_out,
    window,
)

LO, HI = 244_689, 300_000


def run(world: World, **asked: object) -> Played:
    question = BisectQuestion(**{"lo": LO, "hi": HI, **asked})  # type: ignore[arg-type]
    return play(bisect(question), world.answer)


def roles(played: Played) -> list[Role]:
    return [seen.spec.role for seen in played.log]


def edge(played: Played) -> tuple[FindingKind, int | None, int | None, int | None]:
    finding = played.finding
    return finding.kind, finding.last_good, finding.first_bad, finding.cap


# --- the incident, and the words of a finding ---


def test_the_incident() -> None:
    played = run(World(prompt_above(262_144)))
    assert edge(played) == (FindingKind.DEATH, 262_144, 262_145, 262_144)
    assert played.finding.cause == "S with S = 262144 (suspect: power of two)"
    assert played.finding.last_good_total == 262_176
    assert played.finding.verified_up_to == 262_144
    assert played.finding.confidence.last_good_passes >= 9
    assert played.finding.confidence.first_bad_failures >= 2
    assert played.finding.confidence.failure_rate_upper_95 == 0.283
    assert played.finding.halt is None
    assert played.deaths <= 4


def test_a_drafter_whose_edge_counts_the_drafts() -> None:
    played = run(World(drafts_above(262_145), k=7))
    assert edge(played) == (FindingKind.DEATH, 262_106, 262_107, 262_096)
    assert played.finding.cause == "S - O - k + 1 with S = 262144 (suspect: power of two)"
    assert played.deaths <= 4
    assert any("leaves 7 tokens" in words for words in played.finding.assumes)


def test_the_cap_leaves_k_where_the_edge_counts_the_drafts() -> None:
    played = run(World(drafts_above(262_145), k=7), round_to=1)
    assert played.finding.cap == 262_106 - 7


def test_halving_finds_the_same_and_kills_more() -> None:
    halved = run(World(prompt_above(262_144)), strategy="halving")
    assert edge(halved) == (FindingKind.DEATH, 262_144, 262_145, 262_144)
    assert halved.deaths >= 8


@pytest.mark.parametrize("kind", [Outcome.ERROR, Outcome.HANG, Outcome.TRUNCATED, Outcome.GARBLED])
def test_the_kind_of_the_lowest_failure_is_the_finding(kind: Outcome) -> None:
    played = run(World(any_of(prompt_above(280_000), prompt_above(261_000, kind))))
    assert edge(played) == (FindingKind(kind.value), 261_000, 261_001, 260_992)


def test_resolution_ends_the_search_early() -> None:
    played = run(World(prompt_above(271_234)), resolution=1_000)
    good, bad = played.finding.last_good, played.finding.first_bad
    assert good is not None
    assert bad is not None
    assert good <= 271_234 < bad <= good + 1_000


# --- 1: the baseline ---


def test_a_short_prompt_comes_first_and_lo_second() -> None:
    played = run(World(prompt_above(262_144)))
    assert [(seen.spec.role, seen.spec.length) for seen in played.log[:2]] == [(Role.BASELINE, 64), (Role.LO, LO)]


@pytest.mark.parametrize("rule", [lambda _: Outcome.ERROR, prompt_above(50)])
def test_a_short_prompt_that_fails_twice_takes_no_length(rule: Rule) -> None:
    played = run(World(rule))
    assert played.finding.kind is FindingKind.NOT_LENGTH
    assert "even 64 tokens fail" in played.finding.reason
    assert "it takes no long prompt" in played.finding.reason
    assert len(played.log) == 2


def test_a_short_prompt_that_is_refused_makes_the_target_unusable() -> None:
    played = run(World(lambda _: Outcome.REJECTED))
    assert (played.finding.kind, played.finding.halt) == (FindingKind.INCONCLUSIVE, Halt.UNUSABLE)


def test_the_baseline_stays_below_a_small_lo() -> None:
    assert run(World(prompt_above(50)), lo=10, hi=100, round_to=1).log[0].spec.length == 9


def test_k_comes_from_the_counters_and_else_from_the_question() -> None:
    question = BisectQuestion(lo=LO, hi=HI, draft_tokens=3)
    assert Ledger(question).draft_tokens == 3
    counted = run(World(k=7), draft_tokens=3).log
    assert Ledger(question, counted).draft_tokens == 7


# --- 2: lo ---


def test_lo_is_not_sent_where_it_is_trusted() -> None:
    played = run(World(prompt_above(262_144)), trust_lo=True)
    assert Role.LO not in roles(played)
    assert any("trusted" in words for words in played.finding.assumes)
    assert played.finding.last_good == 262_144


def test_a_lo_that_is_the_edge_is_sent_even_if_trusted() -> None:
    played = run(World(prompt_above(LO)), trust_lo=True)
    assert edge(played) == (FindingKind.DEATH, LO, LO + 1, LO // 16 * 16)
    assert played.finding.confidence.last_good_passes == 9


def test_a_lo_that_fails_is_asked_once_more_and_then_searched_below() -> None:
    played = run(World(prompt_above(50_000)))
    assert [seen.spec.length for seen in played.log if seen.spec.role is Role.LO] == [LO, LO]
    assert played.log[2].fresh
    assert edge(played) == (FindingKind.DEATH, 50_000, 50_001, 50_000)
    assert max(seen.spec.length for seen in played.log) == LO


def test_a_stray_failure_at_lo_does_not_condemn_it() -> None:
    world = World(prompt_above(262_144))
    strays = iter([None, Outcome.ERROR])
    plain = world.rule
    world.rule = lambda request: next(strays, None) or plain(request)
    played = run(world)
    assert edge(played) == (FindingKind.DEATH, 262_144, 262_145, 262_144)
    assert any(f"{LO} failed once" in words for words in played.finding.assumes)


# --- 3 and 6: the limit ---


def test_nothing_above_the_limit_is_searched_and_no_sum_is_masked() -> None:
    played = run(World(total_above(131_060), limit=131_072, style="sum"), lo=1_000, hi=200_000, limit=131_072)
    assert edge(played) == (FindingKind.DEATH, 131_028, 131_029, 131_024)
    assert all(seen.spec.length + seen.spec.output_tokens <= 131_072 for seen in played.log)


@pytest.mark.parametrize("style", ["clamp", "sum", "prompt"])
def test_a_clean_limit(style: str) -> None:
    played = run(World(limit=131_072, style=style), lo=1_000, hi=None, limit=131_072)
    assert edge(played) == (FindingKind.CLEAN_LIMIT, 131_071, None, 131_072)
    assert played.finding.first_rejected == 131_073
    assert "no change needed" in played.finding.reason
    assert {(131_071, 1), (131_040, 32)} <= set(played.asked())
    assert played.asked()[-1] == (131_073, 1)
    assert roles(played).count(Role.OVER_LIMIT) == 1


def test_an_engine_that_hangs_after_a_clean_refusal() -> None:
    played = run(World(limit=131_072, over_limit=Outcome.HANG), lo=1_000, hi=None, limit=131_072)
    assert edge(played) == (FindingKind.HANG, 131_071, None, None)


def test_a_limit_that_is_not_enforced_is_no_clean_limit() -> None:
    played = run(World(), lo=1_000, hi=None, limit=131_072)
    assert edge(played) == (FindingKind.NONE, 131_071, None, None)
    assert "not enforced" in played.finding.reason


def test_no_probe_above_the_limit_where_hi_is_below_it_or_an_edge_was_found() -> None:
    below = run(World(limit=131_072), lo=1_000, hi=100_000, limit=131_072)
    assert edge(below) == (FindingKind.NONE, 100_000, None, None)
    assert below.finding.verified_up_to == 100_000
    found = run(World(prompt_above(70_000), limit=131_072), lo=1_000, hi=None, limit=131_072)
    assert found.finding.kind is FindingKind.DEATH
    assert Role.OVER_LIMIT not in roles(below) + roles(found)


@pytest.mark.parametrize("says", [None, 131_072, 31, 900_000])
@pytest.mark.parametrize(
    ("style", "last_good", "limit"), [("clamp", 131_071, 131_072), ("sum", 131_040, 131_072), ("prompt", 131_072, None)]
)
def test_a_limit_that_nobody_advertises_is_learnt(
    style: str, last_good: int, limit: int | None, says: int | None
) -> None:
    played = run(World(limit=131_072, style=style, says_limit=says), lo=1_000, hi=200_000)
    assert edge(played) == (FindingKind.CLEAN_LIMIT, last_good, None, limit or last_good)
    assert played.finding.first_rejected == last_good + 1
    assert Role.OVER_LIMIT not in roles(played)


def test_a_death_between_refusal_and_limit_is_the_finding() -> None:
    world = World(any_of(prompt_above(131_050)), limit=131_072, style="sum")
    played = run(world, lo=1_000, hi=200_000)
    assert played.finding.kind is FindingKind.DEATH
    assert played.finding.cap is not None
    assert played.finding.cap <= 131_040


def test_the_corner_of_the_limit_reopens_the_search() -> None:
    """One output token at the end of the window says nothing about decoding there."""

    def decoding_dies(request: Request) -> Outcome | None:
        return Outcome.DEATH if request.prompt >= 131_000 and request.output > 20 else None

    played = run(World(decoding_dies, limit=131_072), lo=1_000, hi=None, limit=131_072)
    assert edge(played) == (FindingKind.DEATH, 130_999, 131_000, 130_992)


# --- 4: hi ---


def test_none_sends_hi_itself_and_repeats_it() -> None:
    played = run(World())
    assert edge(played) == (FindingKind.NONE, HI, None, None)
    assert sum(seen.length == HI for seen in played.log) == 9


def test_a_trusted_hi_is_sent_only_to_confirm_it() -> None:
    played = run(World(prompt_above(262_144)), trust_hi=True)
    assert HI not in [seen.length for seen in played.log]
    last = run(World(prompt_above(HI - 1)), trust_hi=True)
    assert edge(last)[:3] == (FindingKind.DEATH, HI - 1, HI)
    assert {seen.spec.role for seen in last.log if seen.length == HI} == {Role.CONFIRM_BAD}


def test_a_trusted_hi_that_passes_is_believed_over_the_trust() -> None:
    played = run(World(), trust_hi=True)
    assert played.finding.kind is FindingKind.NONE


# --- 5: confirmation ---


def test_first_bad_is_confirmed_as_the_first_request_of_a_fresh_engine() -> None:
    for at in (262_144, 262_145, 271_234, 290_001):
        played = run(World(prompt_above(at)))
        failures = [seen for seen in played.log if seen.length == at + 1]
        assert any(seen.fresh for seen in failures)
        assert len(failures) <= 3


def test_it_is_confirmed_at_once_where_its_own_death_closed_the_bracket() -> None:
    played = run(World(prompt_above(262_144)))
    at = next(at for at, seen in enumerate(played.log) if seen.length == 262_145)
    assert [seen.spec.length for seen in played.log[at : at + 2]] == [262_145, 262_145]
    assert played.log[at + 1].fresh


def test_an_engine_that_survives_its_failures_is_asked_with_a_pass_in_between() -> None:
    played = run(World(prompt_above(262_144, Outcome.ERROR)))
    failures = [at for at, seen in enumerate(played.log) if seen.length == 262_145]
    assert len(failures) == 2
    between = played.log[failures[0] : failures[1]]
    assert any(seen.length == 262_144 and seen.outcome is Outcome.PASS for seen in between)


def test_the_number_of_passes_follows_the_claim() -> None:
    played = run(World(prompt_above(262_144)), confidence=0.99, tolerate=0.1)
    assert sum((seen.length, seen.spec.output_tokens) == (262_144, 32) for seen in played.log) == 44


# --- 7: corners ---


def test_the_corners_of_the_cap_come_before_the_cap() -> None:
    played = run(World(prompt_above(271_234)))
    cap = played.finding.cap
    assert cap == 271_232
    corners = {
        (seen.spec.length, seen.spec.output_tokens): seen.spec for seen in played.log if seen.spec.role is Role.CORNER
    }
    assert set(corners) == {(cap - 1, 1), (cap - 32, 32), (64, cap - 64)}
    assert corners[64, cap - 64].stop_after == 4
    assert corners[64, cap - 64].stream


def test_a_corner_that_fails_leaves_no_cap() -> None:
    played = run(World(any_of(prompt_above(271_234), asked_above(40_000))))
    assert edge(played) == (FindingKind.INCONCLUSIVE, 271_234, 271_235, None)
    assert played.finding.halt is Halt.CONTRADICTION
    assert "64 prompt tokens with 271168 asked" in played.finding.reason


def test_a_stray_failure_at_a_corner_is_outweighed() -> None:
    failed: list[int] = []

    def once(request: Request) -> Outcome | None:
        if request.asked > 100_000 and not failed:
            failed.append(request.asked)
            return Outcome.ERROR
        return None

    played = run(World(any_of(prompt_above(271_234), once)))
    assert edge(played) == (FindingKind.DEATH, 271_234, 271_235, 271_232)


# --- 8: budgets ---


@pytest.mark.parametrize("most", [1, 2, 3])
def test_spent_deaths_end_the_search_with_the_ground_covered(most: int) -> None:
    played = run(World(prompt_above(271_234)), max_deaths=most)
    finding = played.finding
    assert (finding.kind, finding.halt) == (FindingKind.INCONCLUSIVE, Halt.DEATHS)
    assert played.deaths == most
    good, bad = finding.last_good, finding.first_bad
    assert good is not None
    assert bad is not None
    assert good <= 271_234 < bad
    assert finding.cap == good // 16 * 16
    spent = max(at for at, seen in enumerate(played.log) if seen.deaths)
    assert all(seen.spec.length <= good for seen in played.log[spent + 1 :])
    assert finding.confidence.last_good_passes == 9


def test_no_deaths_allowed_means_nothing_above_lo() -> None:
    played = run(World(prompt_above(271_234)), max_deaths=0)
    assert max(seen.spec.length for seen in played.log) == LO
    assert edge(played) == (FindingKind.INCONCLUSIVE, LO, None, None)
    assert "no cap: 64 prompt tokens with 244624 output tokens asked were not tried" in played.finding.reason


def test_no_deaths_allowed_means_nothing_above_the_recorded_last_good() -> None:
    played = run(World(prompt_above(271_234)), max_deaths=0, known_good=262_106)
    assert max(seen.spec.length for seen in played.log) == 262_106
    assert edge(played) == (FindingKind.INCONCLUSIVE, 262_106, None, None)


def test_a_wedge_is_a_spent_death() -> None:
    ledger = Ledger(BisectQuestion(lo=LO, hi=HI))
    ledger.take(replace(_seen(LO, Outcome.HANG), wedged=True))
    assert ledger.deaths == 1


def test_the_time_ends_the_search() -> None:
    played = run(World(prompt_above(271_234)), max_time_s=200)
    assert (played.finding.kind, played.finding.halt) == (FindingKind.INCONCLUSIVE, Halt.TIME)
    assert played.log[-1].over_s >= 200
    assert all(seen.over_s < 200 for seen in played.log[:-1])
    cap = played.finding.cap
    assert cap is not None
    much = [seen.spec.output_tokens for seen in played.log if seen.spec.stop_after and seen.outcome is Outcome.PASS]
    assert len([output for output in much if output >= cap - 64]) == 9


# --- 9: what is no evidence ---


def _seen(length: int, outcome: Outcome, seq: int = 1, **more: object) -> Observation:
    spec = BisectQuestion(lo=LO, hi=HI).spec(length, Role.SEARCH, "")
    plain = Observation(seq=seq, spec=spec, outcome=outcome, length=length, length_source="usage")
    return replace(plain, **more)  # type: ignore[arg-type]


def _disturbed(world: World, disturb: Callable[[int, Observation], Observation]) -> Callable[[ProbeSpec], Observation]:
    """The world's answers, changed by their number."""
    numbers = iter(range(1_000))
    return lambda spec: disturb(next(numbers), world.answer(spec))


def test_busy_waits_longer_each_time_and_asks_the_same_again() -> None:
    def busy(number: int, seen: Observation) -> Observation:
        return replace(seen, outcome=Outcome.BUSY) if 2 <= number <= 5 else seen

    played = play(bisect(BisectQuestion(lo=LO, hi=HI)), _disturbed(World(prompt_above(262_144)), busy))
    assert played.finding.last_good == 262_144
    waits = [seen.spec.wait_s for seen in played.log[2:7]]
    assert waits == [0, 1, 2, 4, 8]
    assert len({seen.spec.length for seen in played.log[2:7]}) == 1


def test_busy_waits_as_long_as_the_target_asks() -> None:
    def busy(number: int, seen: Observation) -> Observation:
        return replace(seen, outcome=Outcome.BUSY, retry_after_s=45.0) if number == 1 else seen

    played = play(bisect(BisectQuestion(lo=LO, hi=HI)), _disturbed(World(prompt_above(262_144)), busy))
    assert played.log[2].spec.wait_s == 45.0


def test_a_wait_that_max_time_does_not_leave_is_not_begun() -> None:
    def busy(number: int, seen: Observation) -> Observation:
        return replace(seen, outcome=Outcome.BUSY, retry_after_s=600.0) if number == 2 else seen

    question = BisectQuestion(lo=LO, hi=HI, max_time_s=500.0)
    played = play(bisect(question), _disturbed(World(prompt_above(262_144)), busy))
    assert played.finding.halt is Halt.TIME
    assert "wait for 600 s, longer than --max-time leaves" in played.finding.reason
    assert played.log[-1].outcome is Outcome.BUSY


def test_a_target_that_asks_for_an_hour_is_left_alone_at_once() -> None:
    def busy(number: int, seen: Observation) -> Observation:
        return replace(seen, outcome=Outcome.BUSY, retry_after_s=3_600.0) if number == 2 else seen

    played = play(bisect(BisectQuestion(lo=LO, hi=HI)), _disturbed(World(), busy))
    assert (played.finding.halt, len(played.log)) == (Halt.BUSY, 3)
    assert "come back in 3600 s: resume the run then" in played.finding.reason


def test_busy_for_good_is_inconclusive() -> None:
    def busy(number: int, seen: Observation) -> Observation:
        return replace(seen, outcome=Outcome.BUSY) if number >= 2 else seen

    played = play(bisect(BisectQuestion(lo=LO, hi=HI)), _disturbed(World(), busy))
    assert (played.finding.kind, played.finding.halt) == (FindingKind.INCONCLUSIVE, Halt.BUSY)
    assert len(played.log) == 2 + 7


@pytest.mark.parametrize(("number", "halt"), [(0, Halt.UNUSABLE), (4, Halt.PROXY)])
def test_infra_stops_and_names_the_setting(number: int, halt: Halt) -> None:
    def infra(at: int, seen: Observation) -> Observation:
        step = "raise client_max_body_size"
        refused = replace(seen, outcome=Outcome.INFRA, reason="HTTP 413", next_step=step, completion_tokens=None)
        return refused if at == number else seen

    played = play(bisect(BisectQuestion(lo=LO, hi=HI)), _disturbed(World(), infra))
    assert (played.finding.kind, played.finding.halt) == (FindingKind.INCONCLUSIVE, halt)
    assert "client_max_body_size" in played.finding.reason
    assert len(played.log) == number + 1
    assert played.finding.first_bad is None


def test_a_way_that_shuts_in_mid_run_leaves_the_target_unusable() -> None:
    """A key that ran out, say: nothing passes any more, whatever its length."""

    def shut(number: int, seen: Observation) -> Observation:
        return replace(seen, outcome=Outcome.INFRA, reason="HTTP 401", unusable=True) if number == 4 else seen

    played = play(bisect(BisectQuestion(lo=LO, hi=HI)), _disturbed(World(), shut))
    assert (played.finding.kind, played.finding.halt) == (FindingKind.INCONCLUSIVE, Halt.UNUSABLE)
    assert exit_of(played.finding) is Exit.UNUSABLE


def test_what_was_abandoned_is_asked_again_but_not_for_ever() -> None:
    def once(number: int, seen: Observation) -> Observation:
        return replace(seen, outcome=Outcome.ABANDONED) if number == 3 else seen

    played = play(bisect(BisectQuestion(lo=LO, hi=HI)), _disturbed(World(), once))
    assert played.log[3].spec == played.log[4].spec
    assert played.finding.kind is FindingKind.NONE

    def always(number: int, seen: Observation) -> Observation:
        return replace(seen, outcome=Outcome.ABANDONED) if number >= 3 else seen

    played = play(bisect(BisectQuestion(lo=LO, hi=HI)), _disturbed(World(), always))
    assert played.finding.halt is Halt.LOST


def test_answers_that_show_nothing_are_not_called_missing() -> None:
    def cached(number: int, seen: Observation) -> Observation:
        return replace(seen, outcome=Outcome.ABANDONED, next_step="switch the cache off") if number >= 3 else seen

    played = play(bisect(BisectQuestion(lo=LO, hi=HI)), _disturbed(World(), cached))
    assert played.finding.halt is Halt.PROXY
    assert "switch the cache off" in played.finding.reason
    assert "could be had" not in played.finding.reason


def test_an_engine_that_stays_away_keeps_its_bracket() -> None:
    played = run(World(prompt_above(65_536), revives=False), lo=60_000, hi=70_000, strategy="halving")
    assert edge(played)[:3] == (FindingKind.INCONCLUSIVE, 60_000, 70_000)
    assert played.finding.halt is Halt.LOST
    assert "Restart=always" in played.finding.reason


def test_a_death_of_the_probe_before_takes_its_pass_away() -> None:
    question = BisectQuestion(lo=LO, hi=HI)
    ledger = Ledger(question, [_seen(64, Outcome.PASS), _seen(LO, Outcome.PASS, 2), _seen(260_000, Outcome.PASS, 3)])
    assert ledger.bounds.low == 260_000
    ledger.take(_seen(270_000, Outcome.ABANDONED, 4, blames="previous", deaths=1))
    assert ledger.bounds.low == LO
    assert ledger.deaths == 1
    again = next_step(ledger)
    assert isinstance(again, ProbeSpec)
    assert again.length == 260_000
    ledger.take(_seen(260_000, Outcome.DEATH, 5, deaths=1))
    assert ledger.bounds.first_bad == 260_000


def test_a_death_of_nobody_has_both_lengths_asked_again() -> None:
    question = BisectQuestion(lo=LO, hi=HI)
    before = [_seen(64, Outcome.PASS), _seen(LO, Outcome.PASS, 2)]
    first = next_step(Ledger(question, before))
    assert isinstance(first, ProbeSpec)
    passed = _seen(first.length, Outcome.PASS, 3)
    ledger = Ledger(question, [*before, passed, _seen(270_000, Outcome.ABANDONED, 4, blames="nobody", deaths=1)])
    assert ledger.bounds.low == LO
    assert ledger.bounds.first_bad is None
    again = next_step(ledger)
    assert isinstance(again, ProbeSpec)
    assert again.length == first.length


def test_a_contended_failure_counts_only_if_it_repeats() -> None:
    question = BisectQuestion(lo=LO, hi=HI)
    before = [_seen(64, Outcome.PASS), _seen(LO, Outcome.PASS, 2)]
    contended = _seen(270_000, Outcome.ERROR, 3, contended=True)
    ledger = Ledger(question, [*before, contended])
    assert ledger.bounds.first_bad is None
    again = next_step(ledger)
    assert isinstance(again, ProbeSpec)
    assert again.length == 270_000
    repeated = Ledger(question, [*before, contended, replace(contended, seq=4)])
    assert repeated.bounds.first_bad == 270_000
    passed = Ledger(question, [*before, contended, _seen(270_000, Outcome.PASS, 4)])
    assert (passed.bounds.low, passed.bounds.noisy) == (270_000, False)


# --- what is no step ---


@pytest.mark.parametrize("after", [8, 13, 24, 30])
def test_wear_is_not_a_length(after: int) -> None:
    played = run(World(wears_out(after)), max_deaths=20)
    assert (played.finding.kind, played.finding.halt) == (FindingKind.NOT_LENGTH, Halt.NOT_LENGTH)
    assert played.finding.cap is None
    assert "lives of the engine ended after about" in played.finding.reason


@pytest.mark.parametrize("strategy", ["auto", "halving"])
def test_failures_of_a_poisoned_engine_are_thrown_away(strategy: str) -> None:
    played = run(World(poisoned_by(prompt_above(262_144, Outcome.ERROR))), strategy=strategy)
    assert played.finding.kind is FindingKind.NOT_LENGTH
    first = next(seen.length for seen in played.log if seen.outcome is Outcome.ERROR)
    assert played.finding.first_bad == first
    assert f"since the failure at {first} tokens lengths fail that had passed before" in played.finding.reason
    assert played.finding.cause is None


@pytest.mark.parametrize("seed", range(6))
def test_a_flaky_edge_on_a_suspect_is_found_with_its_rate(seed: int) -> None:
    played = run(World(flaky_above(262_144, 0.6), seed=seed))
    assert edge(played) == (FindingKind.DEATH, 262_144, 262_145, 262_144)
    if any(seen.outcome is Outcome.PASS and seen.length > 262_144 for seen in played.log):
        flaky = played.finding.flaky
        assert flaky is not None
        assert flaky.low <= 0.6 <= flaky.high


def test_an_island_on_a_suspect_is_no_edge() -> None:
    played = run(World(window(8_192, 8_192)), lo=5_000, hi=100_000)
    assert edge(played) == (FindingKind.NONE, 100_000, None, None)
    assert played.finding.islands == ((8_192, 8_192),)
    assert played.finding.verified_up_to == 8_191
    assert "8192 fails, alone" in played.finding.reason


def test_a_longer_prompt_is_asked_where_a_suspect_itself_is_all_that_failed() -> None:
    played = run(World(prompt_above(262_143)))
    assert edge(played) == (FindingKind.DEATH, 262_143, 262_144, 262_128)
    assert any(seen.length > 262_144 for seen in played.log if seen.outcome is Outcome.DEATH)


def test_speculation_that_ends_is_reported_and_no_edge() -> None:
    rule = drafts_above(262_144, Outcome.DEGRADED)
    played = run(World(lambda r: rule(replace(r, output=0)), k=2), lo=8_000)
    assert played.finding.kind is FindingKind.NONE
    assert played.finding.speculation_off_from == 262_143
    assert "speculation is off from 262143 tokens on" in played.finding.reason


def test_speculation_that_ends_is_an_edge_on_demand() -> None:
    played = run(World(prompt_above(262_142, Outcome.DEGRADED), k=2), fail_on=FAIL_ON_DEFAULT | {Outcome.DEGRADED})
    assert edge(played)[:3] == (FindingKind.DEGRADED, 262_142, 262_143)
    assert played.finding.speculation_off_from is None


def test_prompts_that_come_in_steps_are_searched_as_closely_as_they_go() -> None:
    """A server may count another length than was asked for: a chat template, say."""
    world = World(prompt_above(262_144))

    def answer(spec: ProbeSpec) -> Observation:
        counted = spec.length // 5 * 5
        return replace(world.answer(replace(spec, length=counted)), spec=spec)

    played = play(bisect(BisectQuestion(lo=LO, hi=HI, mode="chat")), answer)
    assert (played.finding.last_good, played.finding.first_bad) == (262_140, 262_145)
    assert len(played.log) < 80


# --- questions, facts, views ---


def test_a_question_survives_json() -> None:
    question = BisectQuestion(
        lo=LO, limit=HI, suspects=(Suspect(262_144, "drafter"),), fail_on=frozenset({Outcome.DEATH})
    )
    assert BisectQuestion.from_json(json.loads(json.dumps(question.to_json()))) == question
    assert BisectQuestion.from_json({"lo": 1, "hi": 2, "of a later version": 3}) == BisectQuestion(lo=1, hi=2)


@pytest.mark.parametrize(("lo", "hi", "limit"), [(10, None, None), (10, 10, None), (0, 10, None), (1, None, 1)])
def test_a_question_that_leaves_nothing_to_ask_is_refused(lo: int, hi: int | None, limit: int | None) -> None:
    with pytest.raises(ValueError, match=r"no prompt fits|not above lo|at least one token|no upper end"):
        BisectQuestion(lo=lo, hi=hi, limit=limit)


def test_facts_of_another_version_are_not_asked_again() -> None:
    halved = run(World(prompt_above(262_144)), strategy="halving").log
    plan = bisect(BisectQuestion(lo=LO, hi=HI), halved[:12])
    rest = play(plan, World(prompt_above(262_144)).answer)
    assert rest.finding.last_good == 262_144
    known = {seen.length for seen in halved[:12]}
    assert not known & {seen.length for seen in rest.log if seen.spec.role is Role.SEARCH}


def test_the_view_of_a_run_ends_with_nothing_expected() -> None:
    question = BisectQuestion(lo=LO, hi=HI)
    before = forecast(question)
    assert 2 < before.deaths < 6
    assert before.seconds is None
    played = play(bisect(question), World(prompt_above(262_144)).answer)
    stages = Stages(question)
    views = []
    for seen in played.log:
        stages.take(seen)
        views.append(bracket_of(stages))
    assert (views[-1].last_good, views[-1].first_bad, views[-1].deaths) == (262_144, 262_145, played.deaths)
    assert views[-1].expected_deaths == 0
    assert views[-1].expected_probes == 0
    assert views[0].expected_s is not None


def test_a_single_probe_says_what_it_showed() -> None:
    question = BisectQuestion(lo=200_000, hi=300_000)
    good = play(single(question), World().answer)
    assert (good.finding.kind, good.finding.verified_up_to, good.finding.cap) == (FindingKind.NONE, 200_000, None)
    assert [seen.spec.role for seen in good.log] == [Role.BASELINE, Role.SINGLE]
    bad = play(single(question), World(prompt_above(100_000)).answer)
    assert (bad.finding.kind, bad.finding.first_bad) == (FindingKind.DEATH, 200_000)
    refused = play(single(question), World(limit=100_000).answer)
    assert (refused.finding.kind, refused.finding.first_rejected) == (FindingKind.CLEAN_LIMIT, 200_000)


# --- what cannot be told ---


@pytest.mark.parametrize(
    ("at", "words"),
    [(64, "the short baseline already repeats one token"), (LO, f"an answer to {LO} tokens passed, but repeats")],
)
def test_where_good_answers_repeat_themselves_garbled_ones_cannot_be_told(at: int, words: str) -> None:
    world = World()

    def answer(spec: ProbeSpec) -> Observation:
        return replace(world.answer(spec), yardstick=Baseline(repeats=spec.length == at))

    assert any(said.startswith(words) for said in play(bisect(BisectQuestion(lo=LO, hi=HI)), answer).finding.assumes)
    quiet = BisectQuestion(lo=LO, hi=HI, fail_on=FAIL_ON_DEFAULT - {Outcome.GARBLED})
    assert not any("repeats" in said for said in play(bisect(quiet), answer).finding.assumes)


def test_a_death_that_did_not_come_again_is_not_of_the_length_and_is_told() -> None:
    struck: list[int] = []

    def once(request: Request) -> Outcome | None:
        if request.prompt > 250_000 and not struck:
            struck.append(request.prompt)
            return Outcome.DEATH
        return None

    finding = run(World(once)).finding
    assert (finding.kind, finding.halt, finding.cap) == (FindingKind.NOT_LENGTH, Halt.NOT_LENGTH, None)
    assert f"the engine died once at {struck[0]} tokens, and not again" in finding.reason

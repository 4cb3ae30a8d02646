"""Is a limit that was learnt the highest sum of prompt and output that is admitted, and never more?"""

from __future__ import annotations

from dataclasses import replace
from itertools import count

import pytest

from fuzzer.finding import FindingKind
from fuzzer.model import Outcome, ProbeSpec, Role
from fuzzer.observation import Observation
from fuzzer.plans.bisect import BisectQuestion, bisect
from tests.unit.worlds import Played, World, play, prompt_above

LIMIT = 20_000


def learnt(world: World, *, advertised: int | None = None, output_tokens: int = 32) -> Played:
    question = BisectQuestion(lo=1_000, hi=40_000, limit=advertised, output_tokens=output_tokens)
    return play(bisect(question), world.answer)


@pytest.mark.parametrize("advertised", [None, LIMIT])
@pytest.mark.parametrize("style", ["clamp", "sum"])
@pytest.mark.parametrize("room", [1, 2, 3, 7, 30])
def test_the_cap_of_a_server_that_keeps_tokens_for_itself_admits_all_up_to_itself(
    room: int, style: str, advertised: int | None
) -> None:
    """The longest prompt is limit - room, so with one token of output no sum above limit - room + 1 always fits."""
    played = learnt(World(limit=LIMIT, style=style, prompt_room=room), advertised=advertised)
    assert (played.finding.kind, played.finding.cap) == (FindingKind.CLEAN_LIMIT, LIMIT - room + 1)
    assert not any("was refused" in said for said in played.finding.assumes)
    assert len([seen for seen in played.log if not seen.spec.stop_after]) < 50


@pytest.mark.parametrize("style", ["clamp", "sum"])
@pytest.mark.parametrize("output", [1, 4, 32])
def test_a_window_of_which_tokens_are_known_to_be_kept_back_needs_no_change(style: str, output: int) -> None:
    """SGLang: the longest prompt is the window less 7, and no prompt and output fill its last 2 tokens."""
    question = BisectQuestion(
        lo=1_000, hi=40_000, limit=LIMIT, largest_prompt_below_limit=7, reserved=2, output_tokens=output
    )
    played = play(bisect(question), World(limit=LIMIT - 2, style=style, prompt_room=5).answer)
    finding = played.finding
    assert (finding.kind, finding.cap, finding.last_good) == (FindingKind.CLEAN_LIMIT, LIMIT, LIMIT - 7)
    refused = [seen.spec for seen in played.log if seen.outcome is Outcome.REJECTED]
    assert all(spec.length > LIMIT - 7 or spec.length + spec.output_tokens > LIMIT for spec in refused)


def test_where_longer_prompts_pass_than_were_known_to_the_limit_itself_is_tried() -> None:
    question = BisectQuestion(lo=1_000, hi=40_000, limit=LIMIT, largest_prompt_below_limit=7, reserved=2)
    played = play(bisect(question), World(limit=LIMIT).answer)
    assert (played.finding.kind, played.finding.cap) == (FindingKind.CLEAN_LIMIT, LIMIT)
    assert [seen.spec.length for seen in played.log if seen.spec.role is Role.OVER_LIMIT] == [LIMIT - 6, LIMIT + 1]


def test_where_longer_prompts_are_cut_without_a_word_the_first_of_them_is_the_edge() -> None:
    """SGLang with --allow-auto-truncate: what it keeps for itself is cut off, and the answer is a 200."""
    question = BisectQuestion(lo=1_000, hi=40_000, limit=LIMIT, largest_prompt_below_limit=7, reserved=2)
    finding = play(bisect(question), World(prompt_above(LIMIT - 7, Outcome.TRUNCATED)).answer).finding
    assert (finding.kind, finding.last_good, finding.first_bad) == (FindingKind.TRUNCATED, LIMIT - 7, LIMIT - 6)
    assert finding.cap == (LIMIT - 7) // 16 * 16
    assert finding.reason.startswith(f"{LIMIT - 7} passes, {LIMIT - 6} ends in truncated")


@pytest.mark.parametrize("room", [33, 40])
def test_where_output_was_never_cut_no_more_than_the_longest_prompt_is_claimed(room: int) -> None:
    for style in ("clamp", "sum"):
        assert learnt(World(limit=LIMIT, style=style, prompt_room=room)).finding.cap == LIMIT - room


@pytest.mark.parametrize("kept", [1, 2, 7, 40])
@pytest.mark.parametrize("style", ["clamp", "sum", "prompt"])
def test_a_server_that_admits_less_than_it_advertises(style: str, kept: int) -> None:
    finding = learnt(World(limit=LIMIT - kept, style=style), advertised=LIMIT).finding
    longest = LIMIT - kept - (style != "prompt")
    assert finding.cap is not None
    assert LIMIT - kept <= finding.cap <= longest + 1 or (kept == 1 and style == "prompt" and finding.cap == LIMIT)


def test_a_limit_of_prompts_alone_is_told_by_one_prompt_more() -> None:
    played = learnt(World(limit=LIMIT, style="prompt"))
    assert played.finding.cap == LIMIT
    asked = [(seen.spec.length, seen.spec.output_tokens) for seen in played.log if seen.spec.role is Role.LIMIT]
    assert {(LIMIT + 31, 1), (LIMIT + 1, 1)} <= set(asked)
    assert len(asked) <= 4


def failing_near_the_limit(style: str, outcome: Outcome, *turns: int) -> Played:
    """A limit that nobody tells, and the so-manieth probes near it fail."""
    world, near = World(limit=LIMIT, style=style), count(1)

    def answer(spec: ProbeSpec) -> Observation:
        world.rule = lambda _: outcome if spec.role is Role.LIMIT and next(near) in turns else None
        return world.answer(spec)

    return play(bisect(BisectQuestion(lo=1_000, hi=40_000)), answer)


@pytest.mark.parametrize("outcome", [Outcome.ERROR, Outcome.DEATH, Outcome.HANG])
@pytest.mark.parametrize("style", ["clamp", "sum"])
def test_one_failure_near_a_limit_is_asked_again_before_it_decides(style: str, outcome: Outcome) -> None:
    finding = failing_near_the_limit(style, outcome, 1).finding
    assert (finding.kind, finding.cap) == (FindingKind.CLEAN_LIMIT, LIMIT)


@pytest.mark.parametrize("outcome", [Outcome.ERROR, Outcome.DEATH])
def test_what_fails_twice_near_a_limit_fails_below_it(outcome: Outcome) -> None:
    finding = failing_near_the_limit("sum", outcome, 1, 2).finding
    assert (finding.kind, finding.first_bad, finding.last_good) == (outcome.value, LIMIT - 1, LIMIT - 32)
    assert finding.cap == (LIMIT - 32) // 16 * 16


@pytest.mark.parametrize("outcome", [Outcome.ERROR, Outcome.DEATH])
@pytest.mark.parametrize("turns", [(1, 2), (1, 4), (1, 2, 3, 4)])
def test_what_fails_twice_where_longer_output_passed_is_a_contradiction(
    outcome: Outcome, turns: tuple[int, ...]
) -> None:
    """The longest prompt passed with what the limit leaves of its output, and then failed with a single token asked."""
    finding = failing_near_the_limit("clamp", outcome, *turns).finding
    assert finding.first_bad is None or (finding.last_good or 0) < finding.first_bad
    assert finding.cap is None or finding.cap < LIMIT


@pytest.mark.parametrize("output", [1, 2, 8, 100])
@pytest.mark.parametrize("room", [1, 2, 5])
def test_whatever_the_output_no_prompt_and_output_under_the_cap_is_refused(output: int, room: int) -> None:
    for style in ("clamp", "sum", "prompt"):
        world = World(limit=LIMIT, style=style, prompt_room=room)
        cap = learnt(world, output_tokens=output).finding.cap
        assert cap is not None
        fresh = World(limit=LIMIT, style=style, prompt_room=room)
        question = BisectQuestion(lo=1, hi=LIMIT)
        for asked in (1, 2, output, cap // 2):
            seen = fresh.answer(question.spec(cap - asked, Role.SEARCH, "", output_tokens=asked))
            assert (seen.outcome, seen.clamped) == (Outcome.PASS, False)


@pytest.mark.parametrize("style", ["clamp", "sum"])
@pytest.mark.parametrize("at", [1, 2, 5])
def test_one_restart_by_somebody_costs_no_limit_that_is_met_on_the_way(style: str, at: int) -> None:
    """What was asked again often enough since is believed; a refusal above it has nothing to do with it."""
    world = World(limit=5_000, style=style)

    def answer(spec: ProbeSpec) -> Observation:
        seen = world.answer(spec)
        if seen.seq != at:
            return seen
        return replace(seen, outcome=Outcome.DEATH, completion_tokens=None, deaths=1, blames="this", revival_s=20.0)

    finding = play(bisect(BisectQuestion(lo=1_000, hi=8_000)), answer).finding
    assert (finding.kind, finding.cap) == (FindingKind.CLEAN_LIMIT, 5_000), finding.reason


@pytest.mark.parametrize("at", [(2, 5), (2, 5, 7), (3, 6, 9)])
def test_several_deaths_below_a_limit_that_is_met_on_the_way_are_no_chance(at: tuple[int, ...]) -> None:
    world = World(limit=5_000)

    def answer(spec: ProbeSpec) -> Observation:
        seen = world.answer(spec)
        if seen.seq not in at:
            return seen
        return replace(seen, outcome=Outcome.DEATH, completion_tokens=None, deaths=1, blames="this", revival_s=20.0)

    finding = play(bisect(BisectQuestion(lo=1_000, hi=8_000)), answer).finding
    assert (finding.kind, finding.cap) == (FindingKind.NOT_LENGTH, None), finding.reason

"""Does a verification keep its order, and is it right about a cap?"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzzer.finding import FindingKind, Halt
from fuzzer.model import Outcome, ProbeSpec, Role
from fuzzer.observation import Observation
from fuzzer.plans.verify import VerifyQuestion, checks, verify
from tests.unit.worlds import Played, World, play, prompt_above, total_above, window

CAP = 1_000
EDGE = 1_024  # the cap is rounded down from here


def question(**asked: object) -> VerifyQuestion:
    asked = {"cap": CAP, "limit": CAP, "first_bad": EDGE + 1, "far": 4_000, "modes": ("ids", "text", "chat"), **asked}
    return VerifyQuestion(**asked)  # type: ignore[arg-type]


def verified(world: World, **asked: object) -> Played:
    return play(verify(question(**asked)), world.answer)


def test_a_cap_that_holds() -> None:
    played = verified(World(prompt_above(EDGE), limit=CAP))
    finding = played.finding
    assert (finding.kind, finding.cap, finding.first_rejected) == (FindingKind.CLEAN_LIMIT, CAP, CAP + 1)
    assert played.deaths == 0
    assert {check.result for check in checks(question(), played.log)} == {"ok"}


def test_a_prompt_that_was_refused_for_its_output_is_not_what_is_too_long() -> None:
    played = verified(World(prompt_above(EDGE), limit=CAP, style="sum"))
    assert any(seen.outcome is Outcome.REJECTED and seen.length < CAP for seen in played.log)
    assert (played.finding.cap, played.finding.first_rejected) == (CAP, CAP + 1)


@pytest.mark.parametrize("output", [1, 4, 32])
def test_a_cap_of_which_tokens_are_kept_back_holds(output: int) -> None:
    world = World(limit=CAP - 2, style="sum", prompt_room=5)
    finding = verified(world, reserved=2, largest_prompt_below_limit=7, output_tokens=output).finding
    assert (finding.kind, finding.cap) == (FindingKind.CLEAN_LIMIT, CAP)


def test_a_cap_of_another_build_holds_and_the_claim_says_so() -> None:
    finding = verified(World(prompt_above(EDGE), limit=CAP), another_build="version was 1 and is 2").finding
    assert finding.cap == CAP
    assert finding.assumes[0].startswith("the cap was found on another build (version was 1 and is 2)")


def test_what_is_sent_covers_every_way_that_the_cap_admits() -> None:
    log = verified(World(limit=CAP)).log
    fits = [seen.spec for seen in log if seen.spec.role is Role.FIT]
    for mode in ("ids", "text", "chat"):
        ours = [spec for spec in fits if spec.mode == mode]
        assert {spec.stream for spec in ours} == {True, False}
        assert {(spec.length, spec.output_tokens) for spec in ours if not spec.omit_max_tokens} == {
            (CAP - 32, 32), (CAP - 1, 1), (64, CAP - 64), (CAP - 32, 64),
        }  # fmt: skip
        assert [spec.length for spec in ours if spec.omit_max_tokens] == [CAP - 32]


def test_on_a_warm_prefix_the_longest_prompt_is_read_once_before_it_is_asked() -> None:
    specs = [seen.spec for seen in verified(World(limit=CAP), cache="warm", modes=("ids",)).log]
    [prime] = [at for at, spec in enumerate(specs) if spec.role is Role.PRIME]
    asked = next(at for at, spec in enumerate(specs) if spec.role is Role.FIT)
    assert (prime + 1, specs[prime].length) == (asked, specs[asked].length)


def test_nothing_above_the_cap_is_sent_before_all_that_it_admits_and_then_nearest_first() -> None:
    log = verified(World(limit=CAP)).log
    lengths = [seen.spec.length for seen in log]
    first_over = next(at for at, length in enumerate(lengths) if length > CAP)
    assert max(lengths[:first_over]) < CAP
    assert lengths[first_over:] == [CAP + 1, CAP + 1, CAP + 1, EDGE + 1, 4_000]


def test_an_open_window_that_is_advertised_costs_no_probe_at_all() -> None:
    played = verified(World(prompt_above(EDGE), limit=8_192), limit=8_192)
    assert played.log == []
    assert played.finding.cap is None
    assert "is not in force" in played.finding.reason
    assert [check.result for check in checks(question(limit=8_192), [])][:2] == ["failed", "open"]


@pytest.mark.parametrize("edge", [EDGE, CAP])
@pytest.mark.parametrize("rule", [prompt_above, lambda edge: total_above(edge + 32)])
def test_an_open_window_that_nobody_advertises_costs_no_death(rule: Callable[[int], object], edge: int) -> None:
    """Even where the cap is the last good length itself: the sum over the cap tells before the first longer prompt."""
    played = verified(World(rule(edge), limit=8_192), limit=None)  # type: ignore[arg-type]
    assert played.deaths == 0
    assert played.finding.cap is None
    assert "the cap is not in force" in played.finding.reason
    assert max(seen.spec.length for seen in played.log) < CAP


def test_a_cap_above_the_edge_stops_at_the_first_death() -> None:
    played = verified(World(prompt_above(900), limit=CAP))
    assert played.deaths == 1
    assert (played.finding.kind, played.finding.first_bad) == (FindingKind.DEATH, CAP - 32)
    assert played.log[-1].outcome is Outcome.DEATH


def test_a_server_that_dies_of_the_number_asked_for_does_not_hold_its_cap() -> None:
    played = verified(World(lambda request: Outcome.DEATH if request.asked > CAP // 2 else None, limit=CAP))
    assert played.deaths == 1
    assert (played.finding.kind, played.finding.cap) == (FindingKind.DEATH, None)
    assert f"64 + {CAP - 64}" in played.finding.reason


@pytest.mark.parametrize("output", [1, 8, 15])
def test_a_server_that_takes_a_number_of_its_own_and_refuses_what_does_not_fit_holds_its_cap(output: int) -> None:
    """vLLM before 0.30 adds 16 of its own where the number is left out."""
    world = World(limit=CAP, style="sum")

    def answer(spec: ProbeSpec) -> Observation:
        return replace(world.answer(replace(spec, output_tokens=16) if spec.omit_max_tokens else spec), spec=spec)

    asked = question(output_tokens=output)
    played = play(verify(asked), answer)
    assert (played.finding.kind, played.finding.cap) == (FindingKind.CLEAN_LIMIT, CAP)
    [told] = [check for check in checks(asked, played.log) if check.name.startswith("ids") and "left out" in check.name]
    assert told.words == "refused cleanly: the number that the server takes by itself does not fit"


def test_a_number_of_the_servers_own_that_exceeds_the_cap_shows_that_it_is_not_in_force() -> None:
    world = World(limit=CAP)

    def answer(spec: ProbeSpec) -> Observation:
        seen = world.answer(spec)
        return replace(seen, completion_tokens=40) if spec.omit_max_tokens else seen

    played = play(verify(question()), answer)
    assert played.finding.cap is None
    assert "the cap is not in force" in played.finding.reason


def test_a_server_that_bounds_the_number_alone_holds_its_cap() -> None:
    world = World(limit=CAP)

    def answer(spec: ProbeSpec) -> Observation:
        seen = world.answer(spec)
        too_much = spec.output_tokens > CAP // 2
        return replace(seen, outcome=Outcome.REJECTED, reason="max_tokens is too large") if too_much else seen

    finding = play(verify(question()), answer).finding
    assert (finding.kind, finding.cap) == (FindingKind.CLEAN_LIMIT, CAP)


def test_what_fails_on_top_of_the_defaults_is_a_failure_of_the_cap() -> None:
    degrades = World(lambda request: Outcome.DEGRADED if request.prompt > 500 else None, limit=CAP)
    assert verified(degrades).finding.cap == CAP
    strict = verified(degrades, fail_on=frozenset({Outcome.DEATH, Outcome.DEGRADED}))
    assert (strict.finding.kind, strict.finding.cap) == (FindingKind.DEGRADED, None)


def test_ways_that_were_not_asked_and_answers_that_ended_early_are_said() -> None:
    ids_alone = verified(World(limit=CAP), modes=("ids",)).finding.assumes
    assert any("text and chat prompts were not tried" in words for words in ids_alone)
    assert not any("prompts were not tried" in words for words in verified(World(limit=CAP)).finding.assumes)
    ended = verified(World(limit=CAP, stops=1.0)).finding.assumes
    assert any("the model ended" in words for words in ended)


def test_a_cap_that_holds_says_what_was_not_tried() -> None:
    said = verified(World(limit=CAP)).finding.assumes
    assert any("ctxfuzz fuzz" in words for words in said)


@pytest.mark.parametrize("style", ["clamp", "sum"])
def test_a_refusal_and_a_clamp_are_named_as_what_they_are(style: str) -> None:
    played = verified(World(limit=CAP, style=style))
    more = next(check for check in checks(question(), played.log) if "more than fits" in check.name)
    words = {"clamp": "clamped: 32 of 64 output tokens", "sum": "refused cleanly"}
    assert (more.result, more.words) == ("ok", words[style])


@pytest.mark.parametrize("outcome", [Outcome.HANG, Outcome.DEATH, Outcome.PASS, Outcome.TRUNCATED, Outcome.ERROR])
def test_an_unclean_answer_just_above_the_cap_ends_it_before_anything_longer(outcome: Outcome) -> None:
    played = verified(World(limit=CAP, over_limit=outcome))
    assert [seen.spec.length for seen in played.log if seen.spec.length > CAP] == [CAP + 1]
    assert played.finding.cap is None


def test_what_the_cap_admits_and_the_engine_refuses_is_a_failure() -> None:
    played = verified(World(limit=CAP - 100), limit=None)
    assert "refused, though the cap admits it" in played.finding.reason
    assert played.finding.cap is None


@pytest.mark.parametrize("outcome", [Outcome.REJECTED, Outcome.INFRA])
def test_a_way_of_sending_that_is_not_offered_is_left_out_and_said(outcome: Outcome) -> None:
    world = World(limit=CAP)

    def answer(spec: ProbeSpec) -> Observation:
        seen = world.answer(spec)
        if spec.mode != "chat":
            return seen
        return Observation(seen.seq, spec, outcome, spec.length, "inferred", "HTTP 400: no chat template")

    played = play(verify(question()), answer)
    assert played.finding.cap == CAP
    assert [seen.spec.length for seen in played.log if seen.spec.mode == "chat"] == [64]
    told = checks(question(), played.log)
    assert [check.words for check in told if check.name.startswith("chat")] == [
        "not offered here: HTTP 400: no chat template"
    ]


def test_without_any_death_to_spend_nothing_above_the_cap_is_sent() -> None:
    played = verified(World(limit=CAP), max_deaths=0)
    assert max(seen.spec.length for seen in played.log) < CAP
    assert (played.finding.halt, played.finding.cap) == (Halt.DEATHS, None)


def test_an_engine_that_does_not_come_back_leaves_the_question_open() -> None:
    world = World(prompt_above(900), limit=CAP, revives=False)
    played = verified(world)
    assert played.finding.halt is Halt.LOST


@given(st.integers(200, 2_000), st.integers(1, 3_000), st.sampled_from(["clamp", "sum"]), st.booleans())
def test_a_cap_is_said_to_hold_only_where_it_does(cap: int, edge: int, style: str, advertised: bool) -> None:
    world = World(window(edge + 1, cap), limit=cap, style=style)
    asked = VerifyQuestion(cap=cap, limit=cap if advertised else None, far=2 * cap)
    played = play(verify(asked), world.answer)
    longest = cap - 1
    assert (played.finding.cap == cap) == (edge >= longest)
    assert played.deaths <= 1


def test_a_replayed_prefix_asks_the_same_next_and_a_record_brings_the_question_back() -> None:
    again = VerifyQuestion.from_json(json.loads(json.dumps(question().to_json())))
    assert again == question()
    whole = verified(World(limit=CAP))
    for cut in range(len(whole.log)):
        assert next(verify(again, whole.log[:cut])) == whole.log[cut].spec
    assert len(whole.log) == again.most_probes


def test_a_cap_without_room_for_the_output_is_refused() -> None:
    with pytest.raises(ValueError, match="no room"):
        question(cap=80)


def test_deaths_of_nobody_are_not_asked_for_again_and_again() -> None:
    world = World(limit=CAP)

    def answer(spec: ProbeSpec) -> Observation:
        seen = world.answer(spec)
        gone = len(world.log) % 2 == 0
        return replace(seen, outcome=Outcome.ABANDONED, deaths=1, blames="nobody") if gone else seen

    first = play(verify(question(max_deaths=0)), answer)
    assert (first.deaths, first.finding.halt) == (1, Halt.DEATHS)
    second = play(verify(question(max_deaths=9)), answer)
    assert (second.deaths, second.finding.kind) == (2, FindingKind.DEATH)

"""Is the short prompt that asks for all the rest as long as the server counts it, so that the two fit?"""

from __future__ import annotations

from dataclasses import replace

import pytest

from fuzzer.finding import FindingKind
from fuzzer.model import Outcome, ProbeSpec, Role
from fuzzer.observation import Observation
from fuzzer.plans.bisect import BisectQuestion, bisect
from fuzzer.plans.verify import VerifyQuestion, checks, verify
from tests.unit.worlds import Played, World, any_of, asked_above, play, prompt_above

LIMIT = 40_000


def templated(more: int, **other: object) -> World:
    """A server that adds so many tokens to each prompt, and refuses a sum that does not fit."""
    return World(**{"limit": LIMIT, "style": "sum", "counts": lambda tokens: tokens + more, **other})  # type: ignore[arg-type]


def bisected(world: World, **asked: object) -> Played:
    question = BisectQuestion(**{"lo": 39_000, "limit": LIMIT, "mode": "chat", **asked})  # type: ignore[arg-type]
    return play(bisect(question), world.answer)


@pytest.mark.parametrize("more", [0, 1, 17, 63, 64, 80, 500])
def test_a_number_that_kills_is_met_however_much_a_template_adds(more: int) -> None:
    finding = bisected(templated(more, rule=asked_above(30_000))).finding
    assert (finding.kind, finding.cap) == (FindingKind.INCONCLUSIVE, None)


@pytest.mark.parametrize(("lo", "more"), [(1, 1), (2, 1), (1, 3)])
def test_a_bos_token_beside_a_prompt_of_one_is_no_refusal(lo: int, more: int) -> None:
    finding = bisected(templated(more, rule=asked_above(30_000)), lo=lo, mode="text").finding
    assert finding.cap is None


@pytest.mark.parametrize("more", [0, 17, 80])
def test_a_limit_that_holds_is_clean_and_no_corner_of_it_is_refused(more: int) -> None:
    played = bisected(templated(more))
    assert (played.finding.kind, played.finding.cap) == (FindingKind.CLEAN_LIMIT, LIMIT)
    much = [seen for seen in played.log if seen.spec.stop_after]
    assert [seen.outcome for seen in much] == [Outcome.PASS] * 9
    assert {seen.length + seen.spec.output_tokens for seen in much} == {LIMIT}


@pytest.mark.parametrize("more", [0, 80])
def test_a_server_that_bounds_the_number_alone_is_asked_once(more: int) -> None:
    few = templated(more, rule=lambda request: Outcome.REJECTED if request.asked > 4_096 else None)
    played = bisected(few)
    assert (played.finding.kind, played.finding.cap) == (FindingKind.CLEAN_LIMIT, LIMIT)
    assert sum(seen.spec.stop_after is not None for seen in played.log) == 1


@pytest.mark.parametrize("left", [1, 2])
def test_the_last_deaths_are_insured_with_what_fits(left: int) -> None:
    world = templated(80, rule=any_of(asked_above(30_000), prompt_above(39_500)))
    assert bisected(world, max_deaths=left).finding.cap is None


def longer(world: World, by: int) -> Played:
    """Played where short prompts that ask for much turn out longer by so many tokens than anybody knew."""

    def answer(spec: ProbeSpec) -> Observation:
        if spec.stop_after is None or spec.length + by + spec.output_tokens <= LIMIT:
            return world.answer(spec)
        seen = world.answer(replace(spec, length=spec.length + by))
        return replace(seen, spec=spec)

    return play(bisect(BisectQuestion(lo=39_000, limit=LIMIT, mode="chat")), answer)


def test_what_was_refused_as_it_is_longer_than_was_known_is_asked_again_with_what_fits() -> None:
    played = longer(templated(80, rule=asked_above(30_000)), 9)
    assert played.finding.cap is None
    much = [seen.outcome for seen in played.log if seen.spec.stop_after]
    assert much[:2] == [Outcome.REJECTED, Outcome.DEATH]


# --- verify ---


def verified(world: World) -> Played:
    question = VerifyQuestion(cap=LIMIT, limit=LIMIT, far=LIMIT + 9, mode="chat", modes=("chat",))
    return play(verify(question), world.answer)


@pytest.mark.parametrize("more", [0, 17, 64, 80, 500])
def test_verify_fills_the_cap_however_much_a_template_adds(more: int) -> None:
    played = verified(templated(more, rule=asked_above(30_000)))
    assert (played.finding.kind, played.finding.cap) == (FindingKind.DEATH, None)
    assert played.log[-1].spec.role is Role.FIT
    assert played.log[-1].spec.stop_after == 4


def test_verify_says_what_it_filled_it_with() -> None:
    played = verified(templated(80))
    assert played.finding.kind is FindingKind.CLEAN_LIMIT
    question = VerifyQuestion(cap=LIMIT, limit=LIMIT, far=LIMIT + 9, mode="chat", modes=("chat",))
    told = {check.name: check.words for check in checks(question, played.log)}
    assert told["chat: 81 + 39919, cancelled after its first tokens"] == "answered"

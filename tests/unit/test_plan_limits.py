"""Is a limit that was learnt the highest sum of prompt and output that is admitted, and never more?"""

from __future__ import annotations

import pytest

from fuzzer.finding import FindingKind
from fuzzer.model import Outcome, Role
from fuzzer.plans.bisect import BisectQuestion, bisect
from tests.unit.worlds import Played, World, play

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
    assert len(played.log) < 50


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

"""Does the simulator generate another text where a lossy drafter or a restless engine is planted, and nowhere else?"""

from __future__ import annotations

from array import array
from typing import Any

import pytest

from targets.sim.engine import Engine
from targets.sim.flight import Request
from targets.sim.strict import BadWorld
from targets.sim.world import World

WORDS = [(at, f" w{at}") for at in range(1000)]
OUTPUT = 64
DRAFT = {"k": 7, "acceptance_length": 3.0}


def generated(*prompts: int, **world: Any) -> list[list[int]]:
    """The tokens that one life of an engine generates for prompts of these lengths, one after the other."""
    said: list[list[int]] = [[] for _ in prompts]
    now = 0.0

    def emit(event: dict[str, Any]) -> None:
        if event["event"] == "token":
            said[event["id"] - 1].append(event["token"])

    engine = Engine(World.from_dict(world), WORDS, life=1, born=0.0, emit=emit, die=lambda _: pytest.fail("it died"))
    for number, length in enumerate(prompts, 1):
        engine.admit(Request(number, length, OUTPUT, OUTPUT, array("I", range(length))), now)
        while (due := engine.run(now)) is not None:
            now = due
    return said


def test_a_drafter_changes_nothing_unless_it_is_lossy() -> None:
    assert generated(50, 200, draft=DRAFT) == generated(50, 200)


def test_a_lossy_drafter_says_something_else_from_its_length_on_and_the_same_each_time() -> None:
    plain = generated(50, 200, 200)
    lossy = generated(50, 200, 200, draft={**DRAFT, "lossy_from": 200})
    assert lossy[0] == plain[0]
    assert lossy[1] == lossy[2] != plain[1]
    assert lossy[1][0] == plain[1][0], "the first token is the target's own"


def test_a_restless_engine_contradicts_itself_as_often_as_told() -> None:
    plain = generated(50)[0]
    answers = generated(*[50] * 400, nondeterministic=0.25)
    strayed = [answer for answer in answers if answer != plain]
    assert len(strayed) / 400 == pytest.approx(0.25, abs=0.06)
    assert len({tuple(answer) for answer in strayed}) == len(strayed)


def test_a_share_is_one() -> None:
    with pytest.raises(BadWorld, match="nondeterministic"):
        World.from_dict({"nondeterministic": 1.5})

"""Do arms take turns fairly, there and back again, and does nobody wait for one that has left?"""

from __future__ import annotations

import contextlib

import anyio
import anyio.lowlevel
import pytest

from fuzzer.baton import Baton, Place, whose

pytestmark = pytest.mark.anyio


async def taken(steps: dict[int, list[Place]]) -> list[int]:
    """In which order the arms go, each through its places."""
    baton, order, held = Baton(len(steps)), list[int](), list[int]()

    async def go(arm: int) -> None:
        for place in steps[arm]:
            async with baton.turn(arm, place):
                assert not held, "one at a time"
                held.append(arm)
                await anyio.lowlevel.checkpoint()
                held.remove(arm)
            order.append(arm)
        await baton.leave(arm)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            for arm in steps:
                group.start_soon(go, arm)
    return order


async def test_arms_alternate_there_and_back_again() -> None:
    rounds = [(0, turn) for turn in range(4)]
    assert await taken({0: rounds, 1: rounds}) == [0, 1, 1, 0, 0, 1, 1, 0]
    assert await taken({0: rounds[:2], 1: rounds[:2], 2: rounds[:2]}) == [0, 1, 2, 2, 1, 0]


async def test_nobody_takes_figures_while_another_still_warms_up() -> None:
    warming = [(0, -1)] * 3
    order = await taken({0: [*warming, (0, 0)], 1: [(0, -1), (0, 0), (0, 1)]})
    assert sorted(order[:4]) == [0, 0, 0, 1], "first all are warm"
    assert order[4:] == [0, 1, 1]


async def test_an_arm_that_needs_more_repeats_is_waited_for() -> None:
    order = await taken({0: [(0, 0), (1, 0)], 1: [(0, 0), (0, 1), (0, 2), (1, 0)]})
    assert order == [0, 1, 1, 1, 0, 1]


async def test_a_dead_arm_does_not_hold_up_the_others() -> None:
    baton, went = Baton(3), list[int]()

    async def die() -> None:
        with contextlib.suppress(ZeroDivisionError):
            async with baton.turn(0, (0, 0)):
                _ = 1 / 0
        await baton.leave(0)

    async def live(arm: int) -> None:
        for turn in range(2):
            async with baton.turn(arm, (0, turn)):
                went.append(arm)
        await baton.leave(arm)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(live, 1)
            group.start_soon(live, 2)
            group.start_soon(die)
    assert went == [1, 2, 2, 1]


def test_the_one_that_is_behind_goes_first() -> None:
    assert whose({0: (1, 0), 1: (0, 7), 2: (1, -1)}) == 1

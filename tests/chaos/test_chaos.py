"""Does a handful of games end as if nobody had killed anything? `make chaos` plays hundreds."""

from __future__ import annotations

import pytest

from tests.chaos.game import play_many

pytestmark = pytest.mark.anyio

GAMES = 4


@pytest.mark.timeout(280)
async def test_killed_runs_lose_nothing_ask_nothing_twice_and_find_the_same_edge() -> None:
    played = await play_many(GAMES, at_once=GAMES, seed=7)
    assert {game.seed: game.wrong for game in played} == {7 + number: [] for number in range(GAMES)}
    assert sum(game.sessions for game in played) > GAMES, "some driver was killed, and its run resumed"

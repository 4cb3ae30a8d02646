"""Does a session that goes on settle what an earlier one left open: the wait for an engine that was down?"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from fuzzer.lifetime import comeback
from fuzzer.lifetime.account import Account
from fuzzer.lifetime.comeback import Comeback
from fuzzer.lifetime.revival import Revival
from fuzzer.model import Outcome, ProbeSpec, Role
from fuzzer.observation import Observation
from fuzzer.standing import Standing
from tests.unit.test_account import NoJournal

pytestmark = pytest.mark.anyio
SPEC = ProbeSpec(300, 8, Role.SEARCH, "")
DIED = Observation(
    3, SPEC, Outcome.DEATH, 300, "inferred", deaths=1, blames="this", started_s=39.8, ended_s=40.0, cost_s=0.2
)


async def settled(last: Observation, monkeypatch: pytest.MonkeyPatch) -> Observation | None:
    """After 43 active seconds the first session ended; this one waits until 57 s."""
    clock = iter([57.0])

    async def revive(*_: object, **__: object) -> Revival:
        return Revival(came_back=True, took_s=14.0)

    monkeypatch.setattr(comeback, "revive", revive)
    rig: Any = SimpleNamespace(stop=anyio.Event(), settings=SimpleNamespace(death_spacing_s=0.0, revival_timeout_s=9.0))
    lives: Any = SimpleNamespace(known=None)
    journal: Any = NoJournal()
    account = Account(journal, lambda _: None, lambda: next(clock, 57.0), 12)
    account.charge([last])
    waits = Comeback("run", rig, journal, account, lives, lambda _: None, lambda: 57.0, None, lambda _: None)
    return await waits.before(SPEC, Standing())


async def test_the_wait_of_both_sessions_is_what_the_death_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = await settled(DIED, monkeypatch)
    assert seen is not None
    assert (seen.revived, seen.revival_s) == (True, 14.0)
    assert seen.cost_s == pytest.approx(0.2 + 17.0)
    assert seen.over_s == pytest.approx(57.0)


@pytest.mark.parametrize(
    "last",
    [
        Observation(3, SPEC, Outcome.PASS, 300, "usage", ended_s=40.0, cost_s=1.0),
        Observation(3, SPEC, Outcome.DEATH, 300, "inferred", deaths=1, ended_s=40.0, revival_s=16.0, cost_s=17.0),
    ],
)
async def test_what_was_settled_stays_as_it_is(last: Observation, monkeypatch: pytest.MonkeyPatch) -> None:
    assert await settled(last, monkeypatch) is None

"""Does no death of a real probe hide behind a 429 or a 504, where health alone tells that the engine was away?"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fuzzer.finding import FindingKind, Halt
from tests.integration.raw import Writer, reset, whole
from tests.integration.staging import Act, well
from tests.integration.test_gateways import EDGE, RATE, Engine, bisect
from tests.integration.test_told_in_streams import inside

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]
TOO_LATE = {"message": "Upstream idle timeout exceeded", "code": 504}
LOST = {
    "429": RATE,
    "429 in plain words": whole(429, b"Too Many Requests"),
    "429 inside": inside({"message": "Rate limit reached", "code": 429}),
    "504 inside": inside(TOO_LATE),
}


@dataclass(slots=True)
class Watched(Engine):
    """Nobody has its metrics. Its health is its own: cut while it is away, and green where that is `deaf`."""

    deaf: bool = False

    async def health(self, writer: Writer, _asked: Mapping[str, Any]) -> None:
        if time.monotonic() < self._back_at and not self.deaf:
            reset(writer)
        else:
            writer.write(whole(200, b""))

    @property
    def pages(self) -> dict[str, bytes | Act]:
        return {"/version": self.version, "/health": self.health}


@pytest.mark.parametrize("lost", LOST.values(), ids=LOST)
async def test_health_tells_of_the_deaths_that_a_polite_answer_hides(lost: bytes, tmp_path: Path) -> None:
    engine = Watched(away_s=0.4, lost=lost)
    result = await bisect(engine, tmp_path)
    found = result.finding
    assert (found.kind, found.last_good, found.first_bad) == (FindingKind.DEATH, EDGE, EDGE + 1), found
    assert result.run_row.deaths == engine.deaths


@pytest.mark.parametrize("lost", LOST.values(), ids=LOST)
async def test_the_budget_holds_behind_a_polite_answer(lost: bytes, tmp_path: Path) -> None:
    engine = Watched(away_s=0.4, lost=lost)
    result = await bisect(engine, tmp_path, max_deaths=1)
    assert (result.finding.halt, result.run_row.deaths, engine.deaths) == (Halt.DEATHS, 1, 1), result.finding


async def test_a_neighbours_crash_under_our_429_is_told_and_no_edge(tmp_path: Path) -> None:
    @dataclass(slots=True)
    class Shared(Watched):
        """Somebody else's request kills it, once, and ours is turned away meanwhile: it kills nobody."""

        async def __call__(self, writer: Writer, asked: Mapping[str, Any]) -> None:
            if len(asked["prompt"]) > EDGE and not self.deaths:
                self.die()
                writer.write(RATE)
            else:
                await well(writer, asked)

    engine = Shared(away_s=0.4, told="")
    result = await bisect(engine, tmp_path)
    assert engine.deaths == result.run_row.deaths == 1
    assert (result.finding.kind, result.finding.first_bad) == (FindingKind.NONE, None), result.finding

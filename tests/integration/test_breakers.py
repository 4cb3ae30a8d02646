"""A router counts a clean refusal as a failure and lets its engine alone: is that no death, and a real one one?"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fuzzer.cli.common import CommonFlags
from fuzzer.cli.session import Result
from fuzzer.finding import FindingKind
from fuzzer.model import Outcome
from tests.integration.playing import play
from tests.integration.raw import Writer, whole
from tests.integration.staging import page, staged, well

pytestmark = pytest.mark.anyio
LIMIT = 600
OPEN = page({"error": {"message": "No available workers (all circuits open or unhealthy)", "code": "none"}}, 503)
GONE = page({"error": {"message": "Failed to send request: connection refused", "code": "send"}}, 500)


@dataclass(slots=True)
class Router:
    """Its breaker opens for a while at the first 400, or 500. `dies`: the engine does, and comes back by then."""

    status: int = 400
    dies: bool = False
    open_s: float = 1.5
    deaths: int = 0
    _dead: bool = False
    _shut_until: float = 0.0

    async def __call__(self, writer: Writer, asked: Mapping[str, Any]) -> None:
        total = len(asked["prompt"]) + asked["max_tokens"]
        if time.monotonic() < self._shut_until:
            writer.write(GONE if self._dead else OPEN)
            self._dead = False
        elif total > LIMIT:
            self._dead, self._shut_until = self.dies, time.monotonic() + self.open_s
            self.deaths += self.dies
            told = f"This model's maximum context length is {LIMIT} tokens. However, you requested {total} tokens."
            said = told if self.status == 400 else "boom"
            writer.write(
                page({"object": "error", "message": said, "type": "BadRequestError", "code": 400}, self.status)
            )
        else:
            await well(writer, asked)


async def bisect(router: Router, folder: Path, **flags: Any) -> Result:
    pages = {"/version": whole(404, b""), "/metrics": whole(404, b""), "/v1/models": page({"data": [{"id": "m"}]})}
    async with staged(router, pages=pages, long=1) as stage:
        given = {"url": stage.url, "db": folder / "runs.db", "seed": 1, "timeout_s": 20.0, "output_tokens": 8, **flags}
        return await play(CommonFlags(**given), lo=560, hi=620, confidence=0.5, attribute_axis=False)


async def test_a_breaker_that_a_clean_refusal_tripped_is_waited_for_and_kills_nobody(tmp_path: Path) -> None:
    result = await bisect(Router(), tmp_path, max_deaths=1)
    assert (result.finding.kind, result.finding.cap) == (FindingKind.CLEAN_LIMIT, LIMIT), result.finding
    assert sum(seen.deaths for seen in result.observations) == 0
    refused = [seen for seen in result.observations if seen.outcome is Outcome.REJECTED]
    assert refused
    assert all("circuit breaker" in seen.reason for seen in refused)


async def test_an_engine_that_died_after_its_refusal_is_charged_behind_the_same_breaker(tmp_path: Path) -> None:
    router = Router(dies=True)
    result = await bisect(router, tmp_path, max_deaths=1)
    assert (sum(seen.deaths for seen in result.observations), router.deaths) == (1, 1)


async def test_a_breaker_that_an_error_tripped_is_charged_as_it_was(tmp_path: Path) -> None:
    result = await bisect(Router(status=500), tmp_path, max_deaths=1)
    died = [seen for seen in result.observations if seen.outcome is Outcome.DEATH]
    assert [seen.deaths for seen in died] == [1]

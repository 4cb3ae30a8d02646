"""Is an engine that others keep busy restarted only where it sings no more?"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.integration.raw import Writer, reset, whole
from tests.integration.staging import Act, well
from tests.integration.test_gateways import EDGE, RATE, bisect
from tests.integration.test_hidden_deaths import Watched

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]


@dataclass(slots=True)
class Crowded(Watched):
    """Turns long prompts away, and is not ready meanwhile; what is short is answered, unless it `falls` with that."""

    falls: bool = False
    measured: bool = False
    helped: Path = Path()

    async def __call__(self, writer: Writer, asked: Mapping[str, Any]) -> None:
        if len(asked["prompt"]) > EDGE:
            self.die()
            writer.write(RATE)
        elif self.falls and self.deaths and not self.helped.exists():
            reset(writer)
        else:
            self.answers += 1
            await well(writer, asked)

    async def health(self, writer: Writer, _asked: Mapping[str, Any]) -> None:
        writer.write(whole(503 if time.monotonic() < self._back_at else 200, b""))

    @property
    def pages(self) -> dict[str, bytes | Act]:
        pages: dict[str, bytes | Act] = {"/version": self.version, "/health": self.health}
        return {**pages, "/metrics": self.metrics} if self.measured else pages


@pytest.mark.parametrize("measured", [False, True], ids=["presumed", "proven"])
@pytest.mark.parametrize("falls", [False, True], ids=["sings", "sings no more"])
async def test_who_sings_amid_others_is_not_restarted(falls: bool, measured: bool, tmp_path: Path) -> None:
    helped = tmp_path / "helped"
    engine = Crowded(away_s=0.2, falls=falls, measured=measured, helped=helped)
    result = await bisect(engine, tmp_path, max_deaths=1, on_death=f"touch '{helped}'")
    assert helped.exists() is falls
    assert result.run_row.deaths == 1

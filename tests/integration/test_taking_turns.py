"""Two engines take strict turns behind one URL, one at the probes and one at the canaries: is the edge of both met?"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from fuzzer.cli.common import CommonFlags
from fuzzer.cli.session import Result
from fuzzer.evidence import Canary
from fuzzer.lifetime.encore import is_called_for
from fuzzer.model import Role
from tests.integration.playing import play
from tests.integration.raw import Writer, whole
from tests.integration.staging import page, staged, well
from tests.integration.test_gateways import EDGE, NOBODY
from tests.unit.test_outcome import BLIND, SPEC, answer, evidence

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]


@dataclass(slots=True)
class Pair:
    """The second one has a drafter, and dies above the edge; while it is away the first one answers for both. Whose
    turn is next, `turn` tells; metrics are those of the first one.
    """

    turn: int
    deaths: int = 0
    answers: int = 0
    read: int = 0
    _back_at: float = 0.0

    async def __call__(self, writer: Writer, asked: Mapping[str, Any]) -> None:
        self.turn += 1
        is_second = self.turn % 2 == 0 and time.monotonic() >= self._back_at
        if is_second and len(asked["prompt"]) > EDGE:
            self.deaths += 1
            self._back_at = time.monotonic() + 0.3
            writer.write(NOBODY)
            return
        if not is_second:
            self.answers += 1
            self.read += len(asked["prompt"])
        await well(writer, asked)

    async def metrics(self, writer: Writer, _asked: Mapping[str, Any]) -> None:
        told = f"vllm:request_success_total {self.answers}\nvllm:prompt_tokens_total {self.read}\n"
        writer.write(whole(200, f"process_start_time_seconds 1000\n{told}".encode()))


async def bisect(pair: Pair, folder: Path, *, tells: bool) -> Result:
    metrics = pair.metrics if tells else page({"detail": "Not Found"}, 404)
    async with staged(pair, pages={"/metrics": metrics}, long=1) as stage:
        flags = CommonFlags(url=stage.url, db=folder / "runs.db", seed=1, timeout_s=20.0)
        return await play(flags, lo=880, hi=920, max_deaths=2, attribute_axis=False)


@pytest.mark.parametrize("tells", [False, True], ids=["blind", "metrics of one"])
@pytest.mark.parametrize("turn", [0, 1])
async def test_the_edge_of_either_is_met_and_its_deaths_are_charged(turn: int, tells: bool, tmp_path: Path) -> None:
    pair = Pair(turn)
    result = await bisect(pair, tmp_path, tells=tells)
    assert 1 <= pair.deaths <= result.run_row.deaths, result.finding
    assert (result.finding.cap or 0) <= EDGE, result.finding


def lone(role: Role, **more: object) -> bool:
    spec = replace(SPEC, role=role)
    return is_called_for(evidence(answer(), spec=spec, **{**BLIND, **more}), 9)


def test_nine_confirmations_in_a_row_are_never_one_engines() -> None:
    e = evidence(spec=replace(SPEC, role=Role.CONFIRM_GOOD), **BLIND)
    for engines in (2, 3):
        for first in range(1, 10):
            at, met = 0, []
            for seq in range(first, first + 9):
                met.append(at % engines)
                at += 2 + is_called_for(e, seq)
            assert min(met.count(engine) for engine in range(engines)) >= 2, (engines, first, met)


def test_a_canary_is_sung_twice_only_after_a_good_answer_that_a_claim_rests_on_and_nobody_counts() -> None:
    assert lone(Role.CONFIRM_GOOD)
    assert not lone(Role.SINGLE)
    assert not lone(Role.FIT, canary=Canary(ok=False, duration_s=1.0, status=500))
    assert not is_called_for(evidence(spec=replace(SPEC, role=Role.FIT), before=None), 10)
    assert not is_called_for(evidence(spec=replace(SPEC, role=Role.FIT)), 9), "the metrics tell"

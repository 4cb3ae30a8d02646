"""Is a no that comes inside a 200 heard as one: by the search, by canaries and by companions, and hides it no death?"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from fuzzer.cli import opening, questions
from fuzzer.cli.common import CommonFlags
from fuzzer.finding import FindingKind, Halt
from fuzzer.model import Outcome
from tests.integration.raw import Writer, chunk
from tests.integration.staging import LONG, QUICK, SSE_HEAD, page, probe, staged, well
from tests.integration.test_gateways import EDGE, Engine, bisect

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]
FULL = {"message": "The request queue is full.", "type": "SERVICE_UNAVAILABLE", "param": None, "code": 503}
OVERLOADED = {"message": "The server is overloaded", "type": "overloaded", "code": 503}


def inside(error: object) -> bytes:
    """A stream that pings, and then is nothing but this error."""
    told = [b": ping\n\n", b"data: " + json.dumps({"error": error}).encode() + b"\n\n", b"data: [DONE]\n\n"]
    return SSE_HEAD + b"".join(map(chunk, told)) + b"0\r\n\r\n"


async def test_a_queue_that_others_fill_now_and_then_is_no_edge(tmp_path: Path) -> None:
    asked_for, turned_away = 0, 0

    async def queue(writer: Writer, asked: Mapping[str, Any]) -> None:
        nonlocal asked_for, turned_away
        asked_for += 1
        if asked.get("stream") and asked_for % 5 == 0:
            turned_away += 1
            writer.write(inside(FULL))
        else:
            await well(writer, asked)

    result = await bisect(queue, tmp_path)
    assert turned_away > 0
    assert result.finding.kind is FindingKind.NONE, result.finding
    assert [seen.outcome for seen in result.observations].count(Outcome.BUSY) == turned_away
    assert {seen.outcome for seen in result.observations} == {Outcome.BUSY, Outcome.PASS}


@pytest.mark.parametrize("lost", [inside(OVERLOADED), page({"error": OVERLOADED}, 503)], ids=["inside", "over HTTP"])
async def test_a_gateway_that_calls_a_dead_engine_overloaded_is_believed_once(lost: bytes, tmp_path: Path) -> None:
    """At each length once, for what is shorter may be turned away in earnest. No cap comes of it."""
    engine = Engine(away_s=0.3, lost=lost, away=lost, told="")
    result = await bisect(engine, tmp_path, max_deaths=2, revival_timeout_s=20.0)
    assert result.run_row.deaths == 2
    assert engine.deaths <= 2 * result.run_row.deaths
    assert (result.finding.halt, result.finding.first_bad) == (Halt.DEATHS, EDGE + 1), result.finding
    assert (result.finding.cap or 0) <= EDGE


@pytest.mark.parametrize("code", [429, 500])
async def test_a_canary_that_is_told_a_no_inside_a_200_is_asked_again(code: int, tmp_path: Path) -> None:
    asked_long, told = False, 0

    async def moody(writer: Writer, asked: Mapping[str, Any]) -> None:
        nonlocal asked_long, told
        asked_long = asked_long or len(asked["prompt"]) >= LONG
        if len(asked["prompt"]) >= LONG or not asked_long or told:
            await well(writer, asked)
        else:
            told += 1
            writer.write(page({"error": {"message": "boom", "code": code}}))

    async with staged(moody, long=1) as stage:
        seen = await probe(tmp_path, stage)
    assert told == 1
    assert (seen.outcome, seen.deaths) == (Outcome.PASS, 0), seen.reason


async def test_a_companion_that_is_turned_away_inside_a_stream_leaves(tmp_path: Path) -> None:
    async def alone(writer: Writer, asked: Mapping[str, Any]) -> None:
        if len(asked["prompt"]) == 128:
            writer.write(inside(FULL))
        else:
            await well(writer, asked)

    async with staged(alone, long=1) as stage:
        flags = CommonFlags(url=stage.url, db=tmp_path / "runs.db", companions=2, companion_length=128, timeout_s=20.0)
        async with opening.opened(flags, pace=QUICK, sample_s=0.05) as opened:
            result = await opened.run("probe", questions.to_probe(opened, 300), [], anyio.Event())
    seen = result.observations[-1]
    assert (seen.outcome, stage.lengths.count(128)) == (Outcome.INFRA, 2), seen.reason
    assert "turned away: HTTP 503 inside a 200" in seen.reason

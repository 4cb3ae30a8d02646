"""A gateway answers in the engine's place, by another engine or by its memory: is nothing recommended on that?"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest

from fuzzer.cli.common import CommonFlags
from fuzzer.cli.session import Result
from fuzzer.finding import FindingKind, Halt
from fuzzer.model import Outcome
from tests.integration.playing import play
from tests.integration.raw import Writer, chunk, whole
from tests.integration.staging import SSE_HEAD, WORDS, Act, body, events, page, staged

pytestmark = pytest.mark.anyio
EDGE = 900


@dataclass(slots=True)
class Engine:
    """Dies above the edge, and is away for a while."""

    edge: int = EDGE
    away_s: float = 0.5
    deaths: int = 0
    asked: int = 0
    _back_at: float = 0.0

    def answers(self, tokens: int) -> bool:
        if time.monotonic() < self._back_at:
            return False
        self.asked += 1
        if tokens > self.edge:
            self.deaths += 1
            self._back_at = time.monotonic() + self.away_s
            return False
        return True


def said(asked: Mapping[str, Any], *headers: str, **named: str) -> bytes:
    """A good answer in the form that was asked for, with these headers."""
    if not asked.get("stream"):
        return page({**named, **body(asked)}, 200, *headers)
    head = SSE_HEAD.replace(b"\r\n\r\n", "\r\n".join(["", *headers, "", ""]).encode())
    parts = [event.replace(b'{"choices"', json.dumps(named).encode()[:-1] + b', "choices"') for event in events(asked)]
    return head + b"".join(map(chunk, parts if named else events(asked))) + b"0\r\n\r\n"


async def bisect(act: Act, folder: Path, **flags: Any) -> Result:
    async with staged(act, pages={"/version": whole(404, b""), "/metrics": whole(404, b"")}, long=1) as stage:
        given = {"url": stage.url, "db": folder / "runs.db", "seed": 1, "timeout_s": 20.0, **flags}
        return await play(CommonFlags(**given), lo=880, hi=920, confidence=0.5, attribute_axis=False)


HOW_TOLD: Mapping[str, tuple[tuple[str, str], tuple[str, str]]] = {  # a header, and a provider, of ours and of theirs
    "by its place in a list": (
        ("x-portkey-last-used-option-index: config.targets[0]", ""),
        ("x-portkey-last-used-option-index: config.targets[1]", ""),
    ),
    "by the step": (("cf-aig-step: 0", ""), ("cf-aig-step: 1", "")),
    "by its attempts": (("ngrok-aig-attempts: 1", ""), ("ngrok-aig-attempts: 2", "")),
    "by its provider": (("server: edge", "Ours"), ("server: edge", "Theirs")),
}


@pytest.mark.parametrize(("ours", "theirs"), HOW_TOLD.values(), ids=HOW_TOLD)
async def test_a_fallback_of_the_same_name_is_no_pass(
    ours: tuple[str, str], theirs: tuple[str, str], tmp_path: Path
) -> None:
    engine = Engine()

    async def gateway(writer: Writer, asked: Mapping[str, Any]) -> None:
        header, provider = ours if engine.answers(len(asked["prompt"])) else theirs
        writer.write(said(asked, header, model="m", provider=provider))

    result = await bisect(gateway, tmp_path)
    assert (result.finding.kind, engine.deaths) == (FindingKind.INCONCLUSIVE, 1), result.finding
    assert result.finding.halt is Halt.PROXY
    assert not any(seen.outcome is Outcome.PASS and seen.length > EDGE for seen in result.observations)


@dataclass(slots=True)
class Pinging:
    """Whole answers and quick streams name who gave them; a stream that was kept alive with pings names nobody.

    The engine fails above the edge, and lives; another one stands in for it.
    """

    slow: int = EDGE
    failed: list[int] = field(default_factory=list)

    async def __call__(self, writer: Writer, asked: Mapping[str, Any]) -> None:
        tokens = len(asked["prompt"])
        if tokens > EDGE:
            self.failed.append(tokens)
        if asked.get("stream") and tokens >= self.slow:
            writer.write(SSE_HEAD + chunk(b": ping\n\n"))
            await writer.drain()
            writer.write(b"".join(map(chunk, events(asked))) + b"0\r\n\r\n")
        else:
            fell, who = ("1", "hosted") if tokens > EDGE else ("0", "ours")
            writer.write(said(asked, f"x-litellm-attempted-fallbacks: {fell}", f"x-litellm-model-id: {who}"))


@pytest.mark.parametrize("stream", [True, False])
async def test_who_is_not_named_where_pings_kept_a_stream_alive_is_not_known(stream: bool, tmp_path: Path) -> None:
    gateway = Pinging()
    result = await bisect(gateway, tmp_path, stream=stream)
    assert (result.finding.kind, result.finding.halt) == (FindingKind.INCONCLUSIVE, Halt.PROXY), result.finding
    assert ("--no-stream" in result.finding.reason) is stream
    assert len(gateway.failed) <= 1
    assert not any(seen.outcome is Outcome.PASS and seen.length > EDGE for seen in result.observations)


async def test_a_gateway_that_never_names_anybody_is_asked_as_ever(tmp_path: Path) -> None:
    async def gateway(writer: Writer, asked: Mapping[str, Any]) -> None:
        writer.write(said(asked, "x-request-id: " + str(time.monotonic_ns()), "age: 0", "x-cache: MISS"))

    assert (await bisect(gateway, tmp_path)).finding.kind is FindingKind.NONE


@pytest.mark.parametrize("allow", [False, True])
async def test_a_gateway_that_balances_over_replicas_is_let_to_where_that_is_allowed(
    allow: bool, tmp_path: Path
) -> None:
    turn = itertools.count()

    async def gateway(writer: Writer, asked: Mapping[str, Any]) -> None:
        writer.write(said(asked, f"x-portkey-last-used-option-index: config.targets[{next(turn) % 3 % 2}]"))

    found = (await bisect(gateway, tmp_path, allow_replicas=allow)).finding
    assert (found.kind, found.halt) == ((FindingKind.NONE, None) if allow else (FindingKind.INCONCLUSIVE, Halt.PROXY))


@dataclass(slots=True)
class Remembering:
    """A gateway that gives what it gave before to whoever asks the same; `all_alike`: or anything of one length."""

    engine: Engine
    known: set[str]
    hit: str = "x-litellm-cache-key: 7d1f0c"
    all_alike: bool = False

    async def __call__(self, writer: Writer, asked: Mapping[str, Any]) -> None:
        key = str(len(asked["prompt"])) if self.all_alike else json.dumps(asked, sort_keys=True)
        if key in self.known:
            writer.write(said(asked, self.hit))
        elif self.engine.answers(len(asked["prompt"])):
            self.known.add(key)
            writer.write(said(asked, "x-litellm-model-id: ours"))
        else:
            writer.write(page({"error": {"message": "OpenAIException - Connection error."}}, 500))


async def test_what_another_build_answered_to_the_same_seed_is_no_pass_of_this_one(tmp_path: Path) -> None:
    known: set[str] = set()
    sound = await bisect(Remembering(Engine(edge=5_000), known), tmp_path)
    assert sound.finding.kind is FindingKind.NONE, sound.finding
    broken = Engine()
    result = await bisect(Remembering(broken, known), tmp_path)
    found = result.finding
    assert (found.kind, found.last_good, found.first_bad) == (FindingKind.DEATH, EDGE, EDGE + 1), found
    assert result.run_row.deaths == broken.deaths
    abandoned = [seen for seen in result.observations if seen.outcome is Outcome.ABANDONED]
    assert abandoned
    assert all("response cache" in seen.reason for seen in abandoned)


async def test_canaries_that_a_cache_takes_for_one_another_prove_nothing(tmp_path: Path) -> None:
    gateway = Remembering(Engine(), set(), "x-portkey-cache-status: SEMANTIC HIT", all_alike=True)
    with anyio.fail_after(60):
        result = await bisect(gateway, tmp_path, timeout_s=2.0)
    assert result.finding.halt is Halt.PROXY, result.finding
    assert "response cache" in result.finding.reason
    assert "caches off" in result.finding.reason


def counted_by_itself(asked: Mapping[str, Any], reason: str | None) -> list[bytes]:
    """A short stream whose tokens a gateway counts, whether or not the engine gave a reason for its end."""
    last = [] if reason is None else [{"choices": [{"text": "", "finish_reason": reason}]}]
    usage = {"prompt_tokens": len(asked["prompt"]), "completion_tokens": 4}
    words = [{"choices": [{"text": f" {word}", "finish_reason": None}]} for word in WORDS.split()[:4]]
    told = [*words, *last, {"choices": [], "usage": usage}]
    return [*(b"data: " + json.dumps(one).encode() + b"\n\n" for one in told), b"data: [DONE]\n\n"]


async def test_a_gateway_that_counts_what_it_got_of_an_engine_that_it_lost_makes_no_pass(tmp_path: Path) -> None:
    engine = Engine(away_s=0.0)

    async def gateway(writer: Writer, asked: Mapping[str, Any]) -> None:
        if not asked.get("stream"):
            writer.write(page(body(asked)))
            return
        told = "stop" if engine.answers(len(asked["prompt"])) else None
        writer.write(SSE_HEAD + b"".join(map(chunk, counted_by_itself(asked, told))) + b"0\r\n\r\n")

    result = await bisect(gateway, tmp_path)
    found = result.finding
    assert (found.kind, found.last_good, found.first_bad) == (FindingKind.DEATH, EDGE, EDGE + 1), found
    assert result.run_row.deaths == engine.deaths

"""Is an engine that says only garbage after one bad prompt revived, and is one that is odd by nature left alone?"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest

from fuzzer.cli import opening
from fuzzer.cli.common import CommonFlags
from fuzzer.cli.session import Result
from fuzzer.finding import Finding, FindingKind, Halt
from fuzzer.model import Outcome, ProbeSpec, Role, Settings
from fuzzer.observation import Observation
from fuzzer.plans import Plan
from tests.integration.playing import play
from tests.integration.raw import Writer, chunk
from tests.integration.staging import SSE_HEAD, Stage, page, probe, staged, well

pytestmark = pytest.mark.anyio
EDGE = 900
CANARY = 16


async def banging(writer: Writer, asked: Mapping[str, Any], first: str = "!", token: str = "!") -> None:
    """Answers `first`, and then one token over and over."""
    pieces = [first, *[token] * (asked["max_tokens"] - 1)]
    usage = {"prompt_tokens": len(asked["prompt"]), "completion_tokens": len(pieces)}
    if not asked.get("stream"):
        text = "".join(pieces)
        writer.write(page({"choices": [{"text": text, "finish_reason": "length"}], "usage": usage}))
        return
    tokens = [{"choices": [{"text": piece, "finish_reason": None}]} for piece in pieces]
    last = {"choices": [{"text": "", "finish_reason": "length"}], "usage": usage}
    events = [*(b"data: " + json.dumps(one).encode() + b"\n\n" for one in (*tokens, last)), b"data: [DONE]\n\n"]
    writer.write(SSE_HEAD + b"".join(map(chunk, events)) + b"0\r\n\r\n")


@dataclass(slots=True)
class Poisonous:
    """Above the edge it says one good token, and from then on nothing but "!" to everybody, until the cure is there."""

    cure: Path
    edge: int = EDGE
    poisoned: bool = False
    cured: int = 0

    async def __call__(self, writer: Writer, asked: Mapping[str, Any]) -> None:
        if self.poisoned and self.cure.exists():
            self.cure.unlink()
            self.poisoned, self.cured = False, self.cured + 1
        was_poisoned = self.poisoned
        self.poisoned = was_poisoned or len(asked["prompt"]) > self.edge
        if self.poisoned:
            await banging(writer, asked, "!" if was_poisoned else "You")
        else:
            await well(writer, asked)


@dataclass(slots=True)
class Odd:
    """Says one token over and over to some canaries, by their number; `tokens` are taken in turn."""

    garbled: frozenset[int]
    tokens: str = "!"
    canaries: int = 0

    async def __call__(self, writer: Writer, asked: Mapping[str, Any]) -> None:
        self.canaries += len(asked["prompt"]) == CANARY
        if len(asked["prompt"]) == CANARY and self.canaries in self.garbled:
            token = self.tokens[self.canaries % len(self.tokens)]
            await banging(writer, asked, token, token)
        else:
            await well(writer, asked)


class Short:
    """A question that only wants a few answers to short prompts."""

    def to_json(self) -> dict[str, object]:
        return {}

    def plan(self, facts: Sequence[Observation] = ()) -> Plan:  # noqa: ARG002  (nothing is resumed here)
        for number in range(11):
            yield ProbeSpec(64 + number, 8, Role.SEARCH if number else Role.BASELINE, "a short one")
        return Finding(FindingKind.NONE, "all were asked")


async def bisect(stage: Stage, folder: Path, **flags: Any) -> Result:
    given = {"url": stage.url, "db": folder / "runs.db", "seed": 1, "timeout_s": 20.0, **flags}
    return await play(CommonFlags(**given), lo=880, hi=920, confidence=0.5, attribute_axis=False)


async def test_a_poisoned_engine_is_revived_and_its_edge_found(tmp_path: Path) -> None:
    cure = tmp_path / "cure"
    act = Poisonous(cure)
    async with staged(act, long=1) as stage:
        result = await bisect(stage, tmp_path, on_death=f"touch '{cure}'", revival_timeout_s=20.0)
    finding = result.finding
    assert (finding.kind, finding.last_good, finding.first_bad) == (FindingKind.GARBLED, EDGE, EDGE + 1), finding
    bad = [seen for seen in result.observations if seen.outcome is not Outcome.PASS]
    assert all(seen.wedged and seen.revived and seen.outcome is Outcome.GARBLED for seen in bad)
    assert min(seen.length for seen in bad) > EDGE, "no failure of a poisoned engine is counted"
    assert act.cured == len(bad) >= 2
    assert result.run_row.deaths == 0


async def test_a_poisoned_engine_that_nobody_revives_ends_the_run(tmp_path: Path) -> None:
    async with staged(Poisonous(tmp_path / "no-cure"), long=1) as stage:
        result = await bisect(stage, tmp_path, revival_timeout_s=0.5)
    assert result.finding.halt is Halt.LOST
    assert [seen.outcome for seen in result.observations if seen.wedged] == [Outcome.GARBLED]


async def test_a_run_that_begins_on_a_poisoned_engine_says_what_it_cannot_tell(tmp_path: Path) -> None:
    async with staged(Poisonous(tmp_path / "no-cure", poisoned=True), long=1) as stage:
        result = await bisect(stage, tmp_path, revival_timeout_s=0.5)
    assert result.finding.kind is FindingKind.NONE
    assert any("the short baseline already repeats one token" in said for said in result.finding.assumes)


@pytest.mark.parametrize(
    "act",
    [
        pytest.param(Odd(frozenset(range(1, 1000))), id="every canary, from the first"),
        pytest.param(Odd(frozenset({3, 4, 5, 8, 9, 10, 11})), id="three in a row, and then more"),
        pytest.param(Odd(frozenset({3, 4, 5, 6}), tokens="!?"), id="four in a row, not all alike"),
    ],
)
async def test_a_model_whose_canaries_repeat_by_nature_is_not_poisoned(act: Odd, tmp_path: Path) -> None:
    async with staged(act, long=1) as stage:
        flags = CommonFlags(url=stage.url, db=tmp_path / "runs.db", seed=1, revival_timeout_s=0.5)
        async with opening.opened(flags, pace=Settings(grace_pass_s=0.0), sample_s=0.0) as opened:
            result = await opened.run("bisect", Short(), [], anyio.Event())
    assert {seen.outcome for seen in result.observations} == {Outcome.PASS}
    assert not any(seen.wedged for seen in result.observations)
    assert act.canaries >= 11


async def test_one_good_token_and_then_one_over_and_over_is_garbled(tmp_path: Path) -> None:
    async def act(writer: Writer, asked: Mapping[str, Any]) -> None:
        await banging(writer, asked, "You")

    async with staged(act) as stage:
        seen = await probe(tmp_path, stage, output_tokens=32)
    assert (seen.outcome, seen.wedged) == (Outcome.GARBLED, False)
    assert seen.reason.startswith("the answer ends in one token over and over ('!')")

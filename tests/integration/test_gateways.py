"""What stands before an engine speaks in its name: are its deaths still deaths, and is nobody else blamed for them?"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest

from fuzzer.cli import opening, questions
from fuzzer.cli.common import CommonFlags
from fuzzer.cli.session import Result
from fuzzer.errors import Interrupted, RunStopped
from fuzzer.events import Event, Note
from fuzzer.finding import FindingKind, Halt
from fuzzer.model import Corroboration, Outcome
from fuzzer.observation import Observation
from fuzzer.store import History
from tests.integration.playing import QUICK, play
from tests.integration.raw import Reader, Writer, reset, serving, whole
from tests.integration.staging import LONG, Act, Stage, body, page, probe, staged, well

pytestmark = pytest.mark.anyio
EDGE = 900
NOBODY = page({"error": {"message": "Bad Gateway"}}, 502)


@dataclass(slots=True)
class Engine:
    """Dies above the edge and is away for a while; whoever stands before it answers `lost`, and then `away`.

    Its metrics count what it answers, unless they are `told` by somebody else.
    """

    away_s: float = 0.1
    lost: bytes = NOBODY
    away: bytes = NOBODY
    told: str | None = None
    deaths: int = 0
    answers: int = 0
    versions: list[str] = field(default_factory=lambda: ["0.30.0"])
    _back_at: float = 0.0

    async def __call__(self, writer: Writer, asked: Mapping[str, Any]) -> None:
        if time.monotonic() < self._back_at:
            writer.write(self.away)
        elif len(asked["prompt"]) > EDGE:
            self.die()
            writer.write(self.lost)
        else:
            self.answers += 1
            await well(writer, asked)

    def die(self) -> None:
        self.deaths += 1
        self.answers = 0
        self._back_at = time.monotonic() + self.away_s

    async def metrics(self, writer: Writer, _asked: Mapping[str, Any]) -> None:
        own = f"process_start_time_seconds {1000 + self.deaths}\nvllm:request_success_total {self.answers}\n"
        writer.write(whole(200, (own if self.told is None else self.told).encode()))

    async def version(self, writer: Writer, _asked: Mapping[str, Any]) -> None:
        writer.write(page({"version": self.versions[min(self.deaths, len(self.versions) - 1)]}))

    @property
    def pages(self) -> dict[str, bytes | Act]:
        return {"/metrics": self.metrics, "/version": self.version}


async def bisect(engine: Act, folder: Path, heard: list[Event] | None = None, **flags: Any) -> Result:
    pages = engine.pages if isinstance(engine, Engine) else {}
    async with staged(engine, pages=pages, long=1) as stage:
        given = {"url": stage.url, "db": folder / "runs.db", "seed": 1, "timeout_s": 20.0, **flags}
        return await play(CommonFlags(**given), heard, lo=880, hi=920, confidence=0.5, attribute_axis=False)


OTHERS = {
    "a router's": "process_start_time_seconds 7\n# TYPE vllm:x_total gauge\nvllm:x_total 3",
    "a gateway's": "process_start_time_seconds 7\nprocess_cpu_seconds_total 25.3",
    "another replica's": "process_start_time_seconds 7\nvllm:request_success_total 5\nvllm:prompt_tokens_total 900",
    "a cache's": "process_start_time_seconds 7\nvllm:request_success_total 5\nvllm:iteration_tokens_total_count 70",
}


@pytest.mark.parametrize("told", OTHERS.values(), ids=OTHERS)
async def test_metrics_that_do_not_count_the_engines_work_prove_no_survival(told: str, tmp_path: Path) -> None:
    engine, heard = Engine(told=told), list[Event]()
    result = await bisect(engine, tmp_path, heard)
    found = result.finding
    assert (found.kind, found.last_good, found.first_bad) == (FindingKind.DEATH, EDGE, EDGE + 1), found
    assert result.run_row.deaths == engine.deaths
    bad = [seen for seen in result.observations if seen.outcome is not Outcome.PASS]
    assert {seen.corroboration for seen in bad} == {Corroboration.PRESUMED}
    assert any(isinstance(event, Note) and "--metrics-url" in event.hint for event in heard) is ("total 5" in told)


async def test_the_budget_holds_where_metrics_are_somebody_elses(tmp_path: Path) -> None:
    engine = Engine(told=OTHERS["a gateway's"])
    result = await bisect(engine, tmp_path, max_deaths=2)
    assert engine.deaths == 2
    assert (result.finding.halt, result.run_row.deaths) == (Halt.DEATHS, 2)


async def test_the_budget_holds_where_the_next_request_starts_the_next_life(tmp_path: Path) -> None:
    """Nothing tells of the death, neither words nor metrics, but that the canary after it waits for the start."""
    deaths, is_up = 0, True

    async def lazy(writer: Writer, asked: Mapping[str, Any]) -> None:
        nonlocal deaths, is_up
        if not is_up:
            await anyio.sleep(3.0)
            is_up = True
        if len(asked["prompt"]) > EDGE:
            deaths, is_up = deaths + 1, False
            writer.write(page({"error": {"message": "Internal Server Error", "type": "internal_error"}}, 500))
        else:
            await well(writer, asked)

    result = await bisect(lazy, tmp_path, max_deaths=1)
    assert (result.finding.halt, result.run_row.deaths, deaths) == (Halt.DEATHS, 1, 1), result.finding
    assert any("as after a start" in seen.reason for seen in result.observations)


async def test_gauges_named_like_counters_are_no_deaths(tmp_path: Path) -> None:
    gauge = "# TYPE vllm:gpu_prefix_cache_hits_total gauge\nvllm:gpu_prefix_cache_hits_total "
    fallen = [gauge + str(value) + "\n" for value in range(99, 0, -1)]

    class Falling(Engine):
        async def metrics(self, writer: Writer, asked: Mapping[str, Any]) -> None:
            self.told = fallen.pop(0) if len(fallen) > 1 else fallen[0]
            await Engine.metrics(self, writer, asked)

    engine = Falling()
    async with staged(engine, pages=engine.pages, long=1) as stage:
        given = CommonFlags(url=stage.url, db=tmp_path / "runs.db", seed=1, timeout_s=20.0)
        result = await play(given, lo=600, hi=700, confidence=0.5, attribute_axis=False)
    assert result.finding.kind is FindingKind.NONE, result.finding
    assert result.run_row.deaths == engine.deaths == 0


SHUT = {
    "a router without workers": page({"error": {"message": "Model m not found", "code": 404}}, 404),
    "a door that fails closed": whole(403, b"RBAC: access denied"),
}


@pytest.mark.parametrize("away", SHUT.values(), ids=SHUT)
async def test_a_door_that_shuts_while_the_engine_is_away_is_a_death(away: bytes, tmp_path: Path) -> None:
    engine = Engine(away_s=0.7, away=away)
    result = await bisect(engine, tmp_path, revival_timeout_s=20.0)
    found = result.finding
    assert (found.kind, found.last_good, found.first_bad) == (FindingKind.DEATH, EDGE, EDGE + 1), found
    assert result.run_row.deaths == engine.deaths


@dataclass(slots=True)
class DiesAfterwards(Engine):
    """Answers what is above the edge too, and is gone then."""

    async def __call__(self, writer: Writer, asked: Mapping[str, Any]) -> None:
        kills = len(asked["prompt"]) > EDGE and time.monotonic() >= self._back_at
        if kills:
            await well(writer, asked)
            self.die()
        else:
            await Engine.__call__(self, writer, asked)


COOLDOWN = page({"error": {"message": "No deployments available, try again. cooldown_list=['ab12']"}}, 429)
IN_ITS_PLACE = page(body({"max_tokens": 8, "prompt": [1] * 16}), 200, "x-litellm-attempted-fallbacks: 1")
STANDS_IN = {  # who may do so of an engine that is well is believed once, at a first length and at no later one
    "a cooldown": (COOLDOWN, 3),
    "a fallback": (IN_ITS_PLACE, 2),
    "a bare 503": (whole(503, b"Service Unavailable", "retry-after: 1"), 2),
    "a router without a route": (SHUT["a router without workers"], 1),
}


@pytest.mark.parametrize(("away", "deaths"), STANDS_IN.values(), ids=STANDS_IN)
async def test_whoever_stands_in_for_a_dead_engine_hides_no_death(away: bytes, deaths: int, tmp_path: Path) -> None:
    await spends(DiesAfterwards(away_s=0.7, away=away, told=""), deaths, tmp_path)


async def test_a_gateway_that_asks_again_into_its_own_cooldown_hides_no_death(tmp_path: Path) -> None:
    await spends(Engine(away_s=0.7, lost=COOLDOWN, away=COOLDOWN, told=""), 2, tmp_path)


async def spends(engine: Engine, deaths: int, folder: Path) -> None:
    """So many and no more, and all of them are told."""
    result = await bisect(engine, folder, max_deaths=deaths, revival_timeout_s=20.0)
    assert engine.deaths == result.run_row.deaths == deaths
    assert (result.finding.halt, result.finding.first_bad is not None) == (Halt.DEATHS, True), result.finding


async def test_a_rate_that_turns_canaries_away_now_and_then_changes_nothing(tmp_path: Path) -> None:
    @dataclass(slots=True)
    class Rated(Engine):
        asked: int = 0

        async def __call__(self, writer: Writer, asked: Mapping[str, Any]) -> None:
            self.asked += 1
            if self.asked % 12 == 8 and time.monotonic() >= self._back_at:
                writer.write(RATE)
            else:
                await Engine.__call__(self, writer, asked)

    engine = Rated(told="")
    result = await bisect(engine, tmp_path)
    found = result.finding
    assert (found.kind, found.last_good, found.first_bad) == (FindingKind.DEATH, EDGE, EDGE + 1), found
    assert result.run_row.deaths == engine.deaths
    assert engine.asked < 2 * len(result.observations) + result.run_row.canaries


async def test_a_key_that_runs_out_as_a_prompt_fails_shuts_the_way_all_the_same(tmp_path: Path) -> None:
    engine = Engine(away_s=60.0, away=page({"error": "Unauthorized"}, 401), told=OTHERS["a gateway's"])
    result = await bisect(engine, tmp_path, revival_timeout_s=20.0)
    assert (result.finding.kind, result.finding.halt) == (FindingKind.INCONCLUSIVE, Halt.UNUSABLE)


async def test_a_line_that_is_reset_at_a_constant_time_is_a_proxys_deadline(tmp_path: Path) -> None:
    class Silent(Engine):
        async def __call__(self, writer: Writer, asked: Mapping[str, Any]) -> None:
            if len(asked["prompt"]) > EDGE:
                await anyio.sleep(3.0)  # a busy machine shifts it by less than 5 %
                reset(writer)
            else:
                await Engine.__call__(self, writer, asked)

    result = await bisect(Silent(), tmp_path)
    assert (result.finding.kind, result.finding.halt) == (FindingKind.INCONCLUSIVE, Halt.PROXY), result.finding
    assert re.search(r"\b3\.[01] s", result.finding.reason)
    assert result.run_row.deaths == 0


async def test_a_gateway_that_sends_the_killer_again_is_hung_up_on(tmp_path: Path) -> None:
    """Each life that it is sent to would be one more death: the first one has decided the length."""

    class Replayed(Engine):
        async def __call__(self, writer: Writer, asked: Mapping[str, Any]) -> None:
            if len(asked["prompt"]) > EDGE:
                while not writer.is_closing() and self.deaths < 20:
                    self.die()
                    await anyio.sleep(2.5)
                    writer.write(b"")
            else:
                await Engine.__call__(self, writer, asked)

    engine = Replayed(away_s=0.0)
    async with staged(engine, pages=engine.pages, long=1) as stage:
        stage.asks = EDGE + 1
        seen: Observation = await probe(tmp_path, stage)
    assert (seen.outcome, seen.corroboration) == (Outcome.DEATH, Corroboration.PROVEN)
    assert engine.deaths <= 2
    assert "again and again" in seen.reason


async def test_another_version_after_a_death_ends_the_run(tmp_path: Path) -> None:
    engine = Engine(versions=["0.30.0", "0.31.0"])
    with pytest.raises(RunStopped, match=r"version was 0\.30\.0 and is 0\.31\.0"):
        await bisect(engine, tmp_path)
    assert engine.deaths == 1


async def test_who_answers_in_the_place_of_an_engine_that_stays_away_is_told(tmp_path: Path) -> None:
    engine, heard = Engine(away_s=60.0, away=page({"error": {"message": "Down for maintenance"}}, 503)), list[Event]()
    result = await bisect(engine, tmp_path, heard, revival_timeout_s=1.0)
    assert result.finding.halt is Halt.LOST
    assert "let --on-death restart it" in result.finding.reason
    told = [event.text for event in heard if isinstance(event, Note)]
    assert told == [
        "somebody answers in the engine's place and does not serve: the canary got HTTP 503: Down for maintenance"
    ]


NGINX = whole(504, b"<html><center><h1>504 Gateway Time-out</h1></center><center>nginx</center></html>")
SAGEMAKER = page({"message": "Your invocation timed out while waiting for a response from container primary."}, 424)
RATE = page({"error": {"message": "Rate limit reached for requests per minute"}}, 429)
QUEUED = page({"id": "job-1", "status": "IN_QUEUE"})


@dataclass(slots=True)
class Impatient:
    """Gives up on the long prompt, unless that is `let`, and on the next `then` requests (None: on all of them)."""

    says: bytes = NGINX
    then: int | None = None
    let: bool = False
    asked_of: list[int] = field(default_factory=list)  # from that prompt on
    waited_for: anyio.Event = field(default_factory=anyio.Event)  # the third of them came

    async def __call__(self, writer: Writer, asked: Mapping[str, Any]) -> None:
        if self.asked_of or len(asked["prompt"]) >= LONG:
            self.asked_of.append(len(asked["prompt"]))
        if len(self.asked_of) == 3:
            self.waited_for.set()
        first, last = 2 if self.let else 1, None if self.then is None else 1 + self.then
        if first <= len(self.asked_of) and (last is None or len(self.asked_of) <= last):
            writer.write(self.says)
        else:
            await well(writer, asked)

    async def probe(self, folder: Path) -> Observation:
        async with staged(self, long=1) as stage:
            return await probe(folder, stage, timeout_s=4.0)


def canaries_of(folder: Path) -> list[str]:
    """What the record says of each canary after the long prompt: the one before is the short prompt's."""
    with History.open(folder / "runs.db") as history:
        lines = history.timeline(history.get("last").run)
        return [str(line["what"]) for line in lines if line["kind"] == "canary"][1:]


@pytest.mark.parametrize("says", [NGINX, SAGEMAKER, QUEUED, page({"id": "1"}, 202)], ids=["504", "424", "200", "202"])
async def test_a_queue_that_drains_after_somebody_gave_up_is_no_hang(says: bytes, tmp_path: Path) -> None:
    """The engine goes on with what nobody waits for, so that canaries are given up on too, until it is done."""
    gateway = Impatient(says, then=2)
    seen = await gateway.probe(tmp_path)
    assert (seen.outcome, seen.wedged, seen.deaths, len(gateway.asked_of)) == (Outcome.INFRA, False, 0, 4), seen
    assert not seen.unusable
    assert seen.canaries == 3
    assert [told.endswith("fine") for told in canaries_of(tmp_path)] == [False, False, True]


async def test_a_queue_after_an_answer_is_waited_for_too(tmp_path: Path) -> None:
    seen = await Impatient(QUEUED, then=1, let=True).probe(tmp_path)
    assert (seen.outcome, seen.canaries) == (Outcome.PASS, 2), seen


async def test_a_canary_that_is_turned_away_is_asked_again_until_it_sings(tmp_path: Path) -> None:
    seen = await Impatient(RATE, then=1, let=True).probe(tmp_path)
    assert (seen.outcome, seen.canaries) == (Outcome.PASS, 2), seen
    assert [told.rpartition(": ")[2] for told in canaries_of(tmp_path)] == ["busy", "fine"]


async def test_nothing_rests_on_a_canary_that_is_turned_away_to_the_end(tmp_path: Path) -> None:
    gateway = Impatient(RATE, let=True)
    seen = await gateway.probe(tmp_path)
    assert (seen.outcome, seen.deaths, seen.unusable) == (Outcome.INFRA, 0, False), seen
    assert "Rate limit reached" in seen.reason
    assert 3 <= len(gateway.asked_of) <= 5, "at most one canary a second for as long as a probe's deadline"


async def test_an_engine_that_never_answers_behind_a_proxy_that_gives_up_hangs(tmp_path: Path) -> None:
    gateway = Impatient()
    seen = await gateway.probe(tmp_path)
    assert (seen.outcome, seen.wedged) == (Outcome.HANG, True), seen
    assert 3 <= len(gateway.asked_of) <= 6, "at most one canary a second for as long as a probe's deadline"


@pytest.mark.parametrize("says", [NGINX, RATE], ids=["a queue drains", "a rate is waited for"])
async def test_an_interrupt_is_heard_while_a_canary_is_asked_again(says: bytes, tmp_path: Path) -> None:
    gateway, stop = Impatient(says), anyio.Event()

    async def interrupt() -> None:
        await gateway.waited_for.wait()
        stop.set()

    async with staged(gateway, long=1) as stage, anyio.create_task_group() as group:
        group.start_soon(interrupt)
        flags = CommonFlags(url=stage.url, db=tmp_path / "runs.db", output_tokens=8, timeout_s=600.0)
        with anyio.fail_after(20):
            async with opening.opened(flags, pace=QUICK, sample_s=0.05) as opened:
                with pytest.raises(Interrupted):
                    await opened.run("probe", questions.to_probe(opened, stage.asks), [], stop)
    with History.open(tmp_path / "runs.db") as history:
        seen = history.observations(history.get("last").run)[-1]
    assert seen.outcome is Outcome.ABANDONED
    assert seen.canaries == len(canaries_of(tmp_path)) == 2


async def test_a_body_that_is_held_up_on_the_way_is_no_hang(tmp_path: Path) -> None:
    class Narrow(Stage):
        """Nothing but the beginning of what is large gets through."""

        async def __call__(self, reader: Reader, writer: Writer) -> None:
            head = await reader.readuntil(b"\r\n\r\n")
            if int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0] or 0) > 1_000_000:
                await anyio.sleep_forever()
            await Stage.__call__(self, Again(head, reader), writer)  # type: ignore[arg-type]

    window = page({"data": [{"id": "m", "owned_by": "vllm", "max_model_len": 900_000}]})
    stage = Narrow(pages={"/v1/models": window}, long=1_000_000, asks=600_000)
    async with serving(stage) as port:
        stage.url = f"http://127.0.0.1:{port}"
        seen = await probe(tmp_path, stage, timeout_s=2.0)
    assert (seen.outcome, seen.wedged) == (Outcome.INFRA, False), seen
    assert "bytes of its body were not taken" in seen.reason


@dataclass(slots=True)
class Again:
    """A reader whose head was read already, and is told again."""

    head: bytes
    reader: Reader

    async def readuntil(self, _end: bytes) -> bytes:
        return self.head

    async def readexactly(self, number: int) -> bytes:
        return await self.reader.readexactly(number)


@dataclass(slots=True)
class ScaledUp(Engine):
    """From its sixth answer on there is a second engine, and their metrics are told in turns."""

    looks: int = 0

    async def metrics(self, writer: Writer, _asked: Mapping[str, Any]) -> None:
        self.looks += 1
        second = self.answers > 5 and self.looks % 2
        told = f"process_start_time_seconds {1900 if second else 1000}\nvllm:request_success_total {self.answers}\n"
        writer.write(whole(200, told.encode()))


@pytest.mark.parametrize("allow", [False, True])
async def test_an_engine_that_is_joined_by_another_does_not_die(allow: bool, tmp_path: Path) -> None:
    engine, heard = ScaledUp(), list[Event]()
    result = await bisect(engine, tmp_path, heard, allow_replicas=allow)
    found = result.finding
    if allow:
        assert (found.kind, found.last_good, found.first_bad) == (FindingKind.DEATH, EDGE, EDGE + 1), found
    else:
        assert (found.kind, found.halt) == (FindingKind.INCONCLUSIVE, Halt.REPLICAS), found
    assert result.run_row.deaths == engine.deaths
    assert any("several engines answer by now" in event.text for event in heard if isinstance(event, Note))

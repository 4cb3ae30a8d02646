"""What does a client see of the simulator? Real sockets, real processes, every symptom."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from targets.sim import Simulation, running
from targets.sim.generation import ADMISSION_S
from targets.sim.world import World, shipped

pytestmark = pytest.mark.anyio

QUICK = {"restart": {"delay_s": 0.05}, "death": {"unhealthy_s": 0.08}}
GONE = (httpx.ConnectError, httpx.ReadError, httpx.RemoteProtocolError)


def world(**data: Any) -> World:
    return World.from_dict({"limit": {"tokens": 8192}, **QUICK, **data})


def body(prompt: int | list[int] | str, max_tokens: int | None = 4, **more: Any) -> bytes:
    ids = [300 + index % 5000 for index in range(prompt)] if isinstance(prompt, int) else prompt
    data = {"model": "sim", "prompt": ids, **more}
    return json.dumps(data if max_tokens is None else data | {"max_tokens": max_tokens}).encode()


async def post(url: str, content: bytes, path: str = "/v1/completions", patience: float = 20.0) -> httpx.Response:
    async with httpx.AsyncClient(base_url=url, timeout=patience, trust_env=False) as client:
        return await client.post(path, content=content)


async def get(url: str, path: str) -> httpx.Response:
    async with httpx.AsyncClient(base_url=url, timeout=20.0, trust_env=False) as client:
        return await client.get(path)


def events(text: str) -> list[Any]:
    lines = [line.removeprefix("data: ") for line in text.split("\n\n") if line]
    return [line if line == "[DONE]" else json.loads(line) for line in lines]


def sample(page: str, name: str) -> float:
    return float(next(line for line in page.splitlines() if line.startswith(name)).rsplit(" ", 1)[1])


async def until(settled: Callable[[], bool]) -> None:
    """Wait for a condition that no event tells of."""
    async with asyncio.timeout(10):
        while not settled():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


def engine_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


async def test_a_healthy_engine_answers_in_every_form() -> None:
    async with running(world()) as sim:
        assert (await get(sim.url, "/health")).status_code == 200
        models = (await get(sim.url, "/v1/models")).json()
        assert models["data"][0]["max_model_len"] == 8192
        whole = (await post(sim.url, body(100))).json()
        assert whole["usage"] == {"prompt_tokens": 100, "total_tokens": 104, "completion_tokens": 4}
        text = (await post(sim.url, body(100, stream=True, stream_options={"include_usage": True}))).text
        *parts, usage, done = events(text)
        assert done == "[DONE]"
        assert usage["usage"]["prompt_tokens"] == 100
        assert "".join(part["choices"][0]["text"] for part in parts) == whole["choices"][0]["text"]
        assert parts[-1]["choices"][0]["finish_reason"] == "length"
        messages = [{"role": "user", "content": "the quick brown fox"}]
        chat = await post(sim.url, json.dumps({"messages": messages, "max_tokens": 3}).encode(), "/v1/chat/completions")
        tokenized = await post(sim.url, json.dumps({"messages": messages}).encode(), "/tokenize")
        assert chat.json()["usage"]["prompt_tokens"] == tokenized.json()["count"]
        assert chat.json()["choices"][0]["message"]["content"]
        assert [(record.prompt_tokens, record.outcome) for record in sim.log[:2]] == [(100, "answered")] * 2


async def test_a_death_is_seen_counted_and_mended(tmp_path: Path) -> None:
    log = tmp_path / "engine.log"
    rules = [{"when": "P > 1000", "last_words": "CUDA error: an illegal memory access"}]
    async with running(world(rules=rules, death={"unhealthy_s": 1.0}), log=log) as sim:
        assert (await post(sim.url, body(1000))).status_code == 200
        (pid,) = sim.pids()
        born = sample((await get(sim.url, "/metrics")).text, "process_start_time_seconds")
        died = await post(sim.url, body(1001))
        assert died.status_code == 500
        assert died.json()["error"]["message"].startswith("EngineCore encountered an issue")
        assert (await get(sim.url, "/health")).status_code == 503
        await sim.down()
        with pytest.raises(httpx.ConnectError):
            await get(sim.url, "/health")
        assert (await get(sim.control_url, "/sim/deaths")).json()["deaths"] == sim.deaths == 1
        await sim.up()
        assert engine_gone(pid)
        assert (await get(sim.url, "/health")).status_code == 200
        assert sample((await get(sim.url, "/metrics")).text, "process_start_time_seconds") > born
        assert sample((await get(sim.url, "/metrics")).text, "vllm:prompt_tokens_total") == 0
        assert (await post(sim.url, body(1000))).status_code == 200
        record = (await get(sim.url, "/sim/log")).json()["records"][-1]
        assert (record["incarnation"], record["ordinal"], record["status"]) == (1, 0, 200)
    assert "illegal memory access" in log.read_text()


async def test_a_stream_is_told_of_the_death_inside_its_200() -> None:
    async with running(world(rules=[{"when": "T > 1002", "at": "decode"}])) as sim:
        answer = await post(sim.url, body(1000, 8, stream=True))
        assert answer.status_code == 200
        *parts, error, done = events(answer.text)
        assert len(parts) == 2
        assert (error["error"]["code"], done) == (500, "[DONE]")


async def test_a_death_after_a_success_follows_a_whole_answer() -> None:
    async with running(world(rules=[{"when": "N >= 2", "at": "answer"}])) as sim:
        for _ in range(2):
            assert (await post(sim.url, body(10))).status_code == 200
        await sim.down()
        assert [record.outcome for record in sim.log] == ["answered", "answered"]
        assert sim.deaths == 1


async def test_a_silent_death_has_no_answer_at_all() -> None:
    data = {"dialect": "llamacpp", "death": {"silent": True}, "restart": {"policy": "by-hand"}}
    async with running(world(**data, rules=[{"when": "P > 100"}])) as sim:
        assert (await get(sim.url, "/health")).json() == {"status": "ok"}
        with pytest.raises(GONE):
            await post(sim.url, body(101))
        await sim.down()
        with pytest.raises(httpx.ConnectError):
            await get(sim.url, "/health")
        await post(sim.control_url, b"", "/sim/restart")
        await sim.up()
        assert (await post(sim.url, body(100))).json()["timings"]["prompt_n"] == 100
        assert sim.log[0].outcome == "death"


async def test_an_api_server_that_outlives_its_engine() -> None:
    async with running(world(death={"stays": True}, rules=[{"when": "P > 100"}])) as sim:
        for _ in range(2):
            assert (await post(sim.url, body(101))).status_code == 500
        assert (await get(sim.url, "/health")).status_code == 503
        assert (await get(sim.url, "/v1/models")).status_code == 200
        assert sim.deaths == 1
        sim.restart()
        await sim.down()
        await sim.up()
        assert (await post(sim.url, body(100))).status_code == 200


@pytest.mark.parametrize("stream", [False, True])
async def test_an_error_leaves_the_engine_alive(stream: bool) -> None:
    rule = {"when": "P > 100", "symptom": "error", "status": 500, "message": "shape mismatch"}
    async with running(world(rules=[rule])) as sim:
        answer = await post(sim.url, body(101, stream=stream))
        assert answer.status_code == (200 if stream else 500)
        assert "shape mismatch" in answer.text
        assert (await post(sim.url, body(100, stream=stream))).status_code == 200
        assert sim.deaths == 0


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("status", [429, 503])
async def test_busy_says_when_to_come_back(status: int, stream: bool) -> None:
    rule = {"when": "N == 1", "symptom": "busy", "status": status, "seconds": 2.0, "message": "overloaded"}
    async with running(world(rules=[rule])) as sim:
        answer = await post(sim.url, body(10, stream=stream))
        assert (answer.status_code, answer.headers["retry-after"]) == (status, "2")
        assert (await post(sim.url, body(10, stream=stream))).status_code == 200


async def test_busy_is_a_status_however_long_the_engine_takes_to_say_so() -> None:
    rule = {"when": "N == 1", "symptom": "busy", "status": 429}
    async with running(world(rules=[rule])) as sim:
        sim.stop()
        answering = asyncio.create_task(post(sim.url, body(10, stream=True)))
        await until(lambda: bool(sim.log))
        await asyncio.sleep(2 * ADMISSION_S)
        sim.cont()
        assert (await answering).status_code == 429


async def test_a_reset_and_a_cut() -> None:
    rules = [
        {"when": "P == 101", "symptom": "reset", "at": "arrival"},
        {"when": "P == 102 and O > 2", "symptom": "cut", "at": "decode"},
    ]
    async with running(world(rules=rules)) as sim:
        with pytest.raises(httpx.ReadError):
            await post(sim.url, body(101))
        with pytest.raises(httpx.RemoteProtocolError):
            await post(sim.url, body(102, 8, stream=True))
        assert (await post(sim.url, body(100))).status_code == 200
        assert [record.outcome for record in sim.log] == ["reset", "cut", "answered"]
        assert sim.deaths == 0


async def test_a_block_ends_when_its_client_leaves() -> None:
    async with running(world(rules=[{"when": "P > 100", "symptom": "block"}])) as sim:
        blocker = asyncio.create_task(post(sim.url, body(101)))
        await until(lambda: bool(sim.log))
        behind = asyncio.create_task(post(sim.url, body(10)))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.shield(behind), 0.3)
        assert (await get(sim.url, "/health")).status_code == 200
        blocker.cancel()
        assert (await behind).status_code == 200
        assert sim.log[0].outcome == "aborted"


async def test_a_stream_that_is_left_is_aborted_in_the_engine(caplog: pytest.LogCaptureFixture) -> None:
    async with running(world(limit={"tokens": 300_000}, speed={"decode_s": 0.0})) as sim:
        async with (
            httpx.AsyncClient(base_url=sim.url) as client,
            client.stream("POST", "/v1/completions", content=body(64, 250_000, stream=True)) as answer,
        ):
            async for _ in answer.aiter_lines():
                break
        await until(lambda: sim.log[0].outcome == "aborted")
        assert (await post(sim.url, body(10))).status_code == 200
        page = (await get(sim.url, "/metrics")).text
        assert 'finished_reason="abort",model_name="sim"} 1.0' in page
        assert sample(page, "vllm:num_requests_running") == 0
    assert not [record for record in caplog.records if record.name == "asyncio"]


async def test_a_wedge_after_a_clean_refusal_hangs_everything_and_health_stays_green() -> None:
    rules = [{"when": "P >= 8192", "symptom": "wedge", "at": "refusal"}]
    async with running(world(rules=rules, restart={"policy": "by-hand"})) as sim:
        assert (await post(sim.url, body(8192))).status_code == 400
        with pytest.raises(httpx.ReadTimeout):
            await post(sim.url, body(10), patience=0.3)
        assert (await get(sim.url, "/health")).status_code == 200
        await post(sim.url, b"", "/sim/restart")
        await sim.down()
        await sim.up()
        assert (await post(sim.url, body(10))).status_code == 200
        assert sim.deaths == 0


async def test_a_stopped_engine_hangs_and_goes_on() -> None:
    async with running(world()) as sim:
        sim.stop()
        with pytest.raises(httpx.ReadTimeout):
            await post(sim.url, body(10), patience=0.3)
        assert (await get(sim.url, "/health")).status_code == 200
        sim.cont()
        assert (await post(sim.url, body(10))).status_code == 200


async def test_a_kill_in_flight_is_a_death() -> None:
    async with running(world(speed={"prefill": 100.0})) as sim:
        asked = asyncio.create_task(post(sim.url, body(1000)))
        await until(lambda: bool(sim.log))
        sim.kill()
        assert (await asked).status_code == 500
        await sim.down()
        assert sim.deaths == 1


@pytest.mark.parametrize(
    ("data", "prompt", "max_tokens", "status", "words"),
    [
        ({}, 8192, 4, 400, "max_tokens must be at least 1, got 0"),
        ({}, 8193, 4, 400, "maximum context length is 8192 tokens. However, your prompt contains at least 8193"),
        ({}, 9000, 4, 400, "contains 9000 input tokens"),
        ({}, 10, 9000, 400, "max_tokens=9000 cannot be greater than max_model_len=8192"),
        ({}, 10, 0, 400, "max_tokens must be at least 1, got 0"),
        ({"limit": {"tokens": 8192, "sum_over": "refuse"}}, 8000, 1000, 400, "at least 7193 input tokens"),
        ({"refusal": "tgi"}, 9000, 4, 422, "error_type"),
        ({"refusal": "sglang"}, 9000, 4, 400, '"object":"error"'),
        ({"refusal": "llamacpp"}, 9000, 4, 400, "exceed_context_size_error"),
        ({"refusal": "lmstudio"}, 9000, 4, 200, '{"error":"Trying to keep'),
        ({"refusal": "trtllm"}, 9000, 4, 400, "should not exceed max_num_tokens (8192)"),
        ({"refusal": "lmdeploy"}, 9000, 4, 400, "context_length_exceeded"),
        ({"takes_ids": False}, 10, 4, 400, "prompt must be a string."),
        ({"vocabulary": 310}, 20, 4, 400, "Token id 319 is out of vocabulary"),
    ],
)
async def test_refusals(data: dict[str, Any], prompt: int, max_tokens: int, status: int, words: str) -> None:
    async with running(world(**data)) as sim:
        for stream in (False, True):
            answer = await post(sim.url, body(prompt, max_tokens, stream=stream))
            assert answer.status_code == status
            assert words in answer.text
        assert sim.deaths == 0


async def test_a_sum_over_the_limit_is_clamped_without_a_word() -> None:
    async with running(world()) as sim:
        usage = (await post(sim.url, body(8190, 100))).json()["usage"]
        assert usage["completion_tokens"] == 2


async def test_what_is_no_request_is_refused() -> None:
    async with running(world(api_key="secret")) as sim:
        assert (await post(sim.url, body(10))).status_code == 401
        async with httpx.AsyncClient(headers={"authorization": "Bearer secret"}, base_url=sim.url) as client:
            for content, status in [
                (b"{", 400),
                (body([]), 400),
                (body([3, -1]), 400),
                (body([3, 2**40]), 400),
                (body([3, "a"]), 400),  # type: ignore[list-item]
                (body(10, model="nope"), 404),
                (body([[5, 6]]), 200),  # type: ignore[list-item]
            ]:
                assert (await client.post("/v1/completions", content=content)).status_code == status
            wrong = await client.post("/v1/completions", content=body([3, 2**40]))
            assert "Token id 1099511627776 is out of vocabulary" in wrong.text
        assert (await get(sim.url, "/health")).status_code == 200


async def test_bos_and_template_add_to_the_count() -> None:
    async with running(world(bos=True, chat_extra=12)) as sim:
        ids = (
            await post(sim.url, json.dumps({"prompt": "a river", "add_special_tokens": False}).encode(), "/tokenize")
        ).json()
        text = (await post(sim.url, body("a river"))).json()
        assert text["usage"]["prompt_tokens"] == ids["count"] + 1
        request = {"messages": [{"role": "user", "content": "a river"}], "max_tokens": 2}
        chat = (await post(sim.url, json.dumps(request).encode(), "/v1/chat/completions")).json()
        assert chat["usage"]["prompt_tokens"] > ids["count"] + 13


async def test_the_prefix_cache_shows_in_usage_and_counters() -> None:
    async with running(world(cache={"shown": True})) as sim:
        cold = (await post(sim.url, body(100))).json()
        warm = (await post(sim.url, body(100))).json()
        salted = (await post(sim.url, body(100, cache_salt="x"))).json()
        cached = [one["usage"]["prompt_tokens_details"]["cached_tokens"] for one in (cold, warm, salted)]
        assert cached == [0, 96, 0]
        page = (await get(sim.url, "/metrics")).text
        assert sample(page, "vllm:prefix_cache_hits_total") == 96
        assert sample(page, "vllm:prefix_cache_queries_total") == 300


async def test_acceptance_is_what_the_incident_had() -> None:
    async with running(World.load(shipped()["incident"])) as sim:
        await post(sim.url, body(1000, 200, model="incident-27b"))
        page = (await get(sim.url, "/metrics")).text
        drafts = sample(page, "vllm:spec_decode_num_drafts_total")
        assert 1.40 < 1 + sample(page, "vllm:spec_decode_num_accepted_tokens_total") / drafts < 1.50
        assert sample(page, "vllm:spec_decode_num_draft_tokens_total") == 7 * drafts


async def test_health_that_turns_red_in_a_long_prefill() -> None:
    async with running(world(dialect="sglang", speed={"prefill": 5000.0}, health={"red_after_s": 0.2})) as sim:
        asked = asyncio.create_task(post(sim.url, body(3000)))
        seen = []
        while not asked.done():
            seen.append((await get(sim.url, "/health")).status_code)
            await asyncio.sleep(0.02)
        assert (await asked).status_code == 200
        assert seen[0] == 200
        assert 503 in seen
        assert (await get(sim.url, "/health")).status_code == 200


async def test_a_blocked_event_loop_answers_nobody_for_a_while() -> None:
    async with running(world(health={"blocked_s": 0.4})) as sim:
        started = time.monotonic()
        assert (await post(sim.url, body(10))).status_code == 200
        assert (await get(sim.url, "/health")).status_code == 200
        assert time.monotonic() - started > 0.39


async def test_a_mesh_and_a_slow_health() -> None:
    async with running(world(health={"flaky": 0.5, "slow_s": 0.01})) as sim:
        seen = [(await get(sim.url, "/health")).status_code for _ in range(20)]
        assert set(seen) == {200, 503}


async def test_loading_is_503_and_the_backoff_grows() -> None:
    data = {"dialect": "llamacpp", "restart": {"delay_s": 0.05, "factor": 8.0, "loading_s": 0.3}}
    async with running(world(**data)) as sim:
        gaps = []
        for _ in range(2):
            sim.kill()
            await sim.down()
            started = time.monotonic()
            await sim.listening()
            gaps.append(time.monotonic() - started)
            loading = await get(sim.url, "/health")
            assert (loading.status_code, loading.json()["error"]["message"]) == (503, "Loading model")
            assert (await post(sim.url, body(10))).status_code == 503
            await sim.up()
        assert gaps[0] >= 0.05
        assert gaps[1] >= 0.4


async def test_replicas_have_a_start_time_each() -> None:
    async with running(world(replicas=2, rules=[{"when": "P > 100"}])) as sim:
        starts = {sample((await get(sim.url, "/metrics")).text, "process_start_time_seconds") for _ in range(4)}
        assert len(starts) == 2
        assert (await post(sim.url, body(101))).status_code == 500
        assert len(sim.pids()) == 1
        assert 200 in {(await get(sim.url, "/health")).status_code for _ in range(2)}


async def test_one_of_several_data_parallel_engines_dies() -> None:
    async with running(world(data_parallel=2, restart={"policy": "by-hand"}, rules=[{"when": "P > 100"}])) as sim:
        page = (await get(sim.url, "/metrics")).text
        assert {'engine="0"', 'engine="1"'} <= {
            part for line in page.splitlines() for part in line.split("{")[-1].split(",")
        }
        born = sample(page, "process_start_time_seconds")
        assert (await post(sim.url, body(101))).status_code == 500
        while "down" not in (await get(sim.control_url, "/sim/engines")).text:
            assert (await get(sim.url, "/v1/models")).status_code == 200
        page = (await get(sim.url, "/metrics")).text
        assert ('engine="0"' in page) != ('engine="1"' in page)
        assert sample(page, "process_start_time_seconds") == born


@pytest.mark.parametrize(
    ("kind", "gone", "too_long", "words"),
    [("nginx", 502, 504, "nginx"), ("envoy", 503, 504, "upstream"), ("litellm", 500, 408, "litellm.")],
)
async def test_a_proxy_has_words_of_its_own(kind: str, gone: int, too_long: int, words: str) -> None:
    rules = [{"when": "P == 200", "symptom": "reset"}, {"when": "P == 300", "symptom": "hang"}]
    proxy = {"kind": kind, "timeout_s": 0.4, "body_limit": 20_000}
    async with running(world(rules=rules, proxy=proxy, restart={"policy": "never"})) as sim:
        assert (await post(sim.url, body(100))).json()["usage"]["prompt_tokens"] == 100
        answers = [await post(sim.url, body(200)), await post(sim.url, body(300))]
        assert [answer.status_code for answer in answers] == [gone, too_long]
        assert all(words in answer.text for answer in answers)
        assert (await post(sim.url, body(6000))).status_code == 413
        sim.kill()
        await sim.down()
        assert (await get(sim.url, "/health")).status_code == gone


async def test_a_proxy_can_only_cut_what_it_has_begun() -> None:
    rules = [{"when": "P == 200 and O > 2", "symptom": "cut", "at": "decode"}]
    async with running(world(rules=rules, proxy={"kind": "nginx"})) as sim:
        with pytest.raises(httpx.RemoteProtocolError):
            await post(sim.url, body(200, 8, stream=True))


async def test_litellm_gives_a_refusal_its_own_name() -> None:
    async with running(world(proxy={"kind": "litellm"})) as sim:
        answer = await post(sim.url, body(9000))
        assert answer.status_code == 400
        assert "ContextWindowExceededError" in answer.text


async def test_a_million_ids_take_less_than_a_second_of_work() -> None:
    async with running(world(limit={"tokens": 1_048_576}, speed={"prefill": 1e9})) as sim:
        content = body(1_000_000)
        began = time.process_time()  # what else the machine does is no matter
        answer = await post(sim.url, content)
        took = time.process_time() - began
        assert answer.json()["usage"]["prompt_tokens"] == 1_000_000
        assert took < 1.0


async def test_a_restart_is_as_quick_as_the_world_says() -> None:
    async with running(world(restart={"delay_s": 0.2})) as sim:
        sim.kill()
        await sim.down()
        started = time.monotonic()
        await sim.up()
        assert 0.19 < time.monotonic() - started < 5


@pytest.mark.parametrize("into_restart_s", [0.0, 0.02, 0.05, 0.1])
async def test_it_ends_at_any_moment_of_a_restart(into_restart_s: float) -> None:
    started = time.monotonic()
    async with running(world(restart={"delay_s": 0.01})) as sim:
        sim.kill()
        await sim.down()
        await asyncio.sleep(into_restart_s)
    assert time.monotonic() - started < 5


async def test_nothing_is_left_behind() -> None:
    async with running(world()) as sim:
        pids = sim.pids()
        port = int(sim.url.rsplit(":", 1)[1])
    assert all(map(engine_gone, pids))
    with socket.create_server(("127.0.0.1", port)):
        pass


async def host(arguments: str, *options: str) -> tuple[asyncio.subprocess.Process, str]:
    """A process that serves a world, and the first line that it printed."""
    program = f"from targets.sim import serve; from targets.sim.world import World; serve(World(), {arguments})"
    process = await asyncio.create_subprocess_exec(sys.executable, *options, "-c", program, stdout=subprocess.PIPE)
    assert process.stdout is not None
    return process, (await process.stdout.readline()).decode().strip()


def ended(pid: int) -> bool:
    """Gone, or dead and only waiting for init to reap it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("stopped", [False, True])
async def test_no_orphans_after_a_kill_of_the_host(stopped: bool) -> None:
    process, line = await host("started=lambda sim: print(*sim.pids(), flush=True)")
    engine = int(line)
    if stopped:
        os.kill(engine, signal.SIGSTOP)
    process.kill()
    await process.wait()
    await until(lambda: ended(engine))


async def test_serve_ends_cleanly_on_sigterm() -> None:
    process, url = await host("started=lambda sim: print(sim.url, flush=True)", "-W", "error")
    assert (await post(url, body(10))).status_code == 200
    process.terminate()
    assert await process.wait() == 0


async def play(sim: Simulation, name: str, prompt: int, output: int, content: list[int] | None = None) -> bool:
    """Is this prompt answered as asked, and does a small one after it come back?"""
    model = World.load(shipped()[name]).model
    try:
        answer = await post(sim.url, body(content or prompt, output, model=model), patience=1.5)
        small = await post(sim.url, body(16, 8, model=model), patience=1.0)
    except httpx.TransportError:
        return False
    if answer.status_code != 200 or "error" in answer.json() or small.status_code != 200:
        return False
    words = answer.json()["choices"][0]["text"].split()
    return bool(answer.json()["usage"]["prompt_tokens"] == prompt and (output == 1 or len(set(words)) > 1))


EDGES = [name for name, path in shipped().items() if (e := World.load(path).expect) and e.first_bad]


@pytest.mark.parametrize("name", [name for name in EDGES if name != "cat-424"])
async def test_every_shipped_edge_is_where_it_is_said_to_be(name: str) -> None:
    world = World.load(shipped()[name])
    expect = world.expect
    assert expect is not None
    assert expect.last_good is not None
    assert expect.first_bad is not None
    for prompt, good in [(expect.last_good, True), (expect.first_bad, False)]:
        content = [300 + index % 50 for index in range(prompt)] if "repeat" in expect.flags else None
        async with running(world) as sim:
            assert await play(sim, name, prompt, expect.output_tokens, content) is good

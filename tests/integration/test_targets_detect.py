"""Is every dialect found and surveyed, and is what cannot be used refused with a next step?"""

from __future__ import annotations

import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from targets.base import Survey
from targets.detect import connect
from targets.errors import TargetUnusable
from tests.integration.raw import Reader, Writer, request_of, serving, whole

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]

JSON = "content-type: application/json"


@dataclass
class Script:
    """What a played server answers, by path, and what it was asked."""

    url: str
    answers: dict[str, bytes]
    asked: list[tuple[str, bytes]] = field(default_factory=list)

    @property
    def generations(self) -> list[bytes]:
        return [body for path, body in self.asked if path.endswith("completions")]


def ok(value: object, *headers: str) -> bytes:
    return whole(200, json.dumps(value).encode(), JSON, *headers)


def models(*entries: dict[str, Any], owner: str = "someone") -> bytes:
    return ok({"object": "list", "data": [{"object": "model", "owned_by": owner} | entry for entry in entries]})


@asynccontextmanager
async def playing(answers: dict[str, bytes]) -> AsyncIterator[Script]:
    script = Script("", answers)

    async def handler(reader: Reader, writer: Writer) -> None:
        head, body = await request_of(reader)
        path = head.split(b" ")[1].decode()
        script.asked.append((path, body))
        writer.write(script.answers.get(path, whole(404, b'{"detail":"Not Found"}', JSON)))
        await writer.drain()

    async with serving(handler) as port:
        script.url = f"http://127.0.0.1:{port}"
        yield script


async def survey_of(url: str, **options: Any) -> Survey:
    target, survey = await connect(url, trust_env=False, **options)
    await target.aclose()
    return survey


TINY = ok({"choices": [{"text": "x", "finish_reason": "length"}], "usage": {"prompt_tokens": 4}})
VLLM = {
    "/v1/models": models({"id": "tiny", "root": "models/tiny", "parent": None, "max_model_len": 8192}, owner="vllm"),
    "/version": ok({"version": "0.32.0"}),
    "/tokenize": ok({"count": 1, "max_model_len": 8192, "tokens": [64]}),
    "/metrics": whole(200, b'process_start_time_seconds 1.7e9\nvllm:num_requests_running{engine="0"} 0.0\n'),
}
LLAMACPP = {
    "/v1/models": ok({"data": [{"id": "smol", "owned_by": "llamacpp", "meta": {"n_ctx": 4096}}]}, "server: llama.cpp"),
    "/props": ok({"default_generation_settings": {"n_ctx": 2048}, "build_info": "b1-7e4c0a9"}),
    "/tokenize": ok({"tokens": [19556]}),
}


async def test_vllm_is_surveyed_whole() -> None:
    async with playing(VLLM) as script:
        survey = await survey_of(script.url)
    assert survey == Survey(
        engine="vllm",
        version="0.32.0",
        models=("tiny",),
        model="tiny",
        limit=8192,
        limits={"/v1/models max_model_len": 8192, "/tokenize max_model_len": 8192},
        takes_ids=True,
        has_tokenize=True,
        has_metrics=True,
    )
    assert script.generations == []


async def test_llamacpp_is_surveyed_and_its_slots_context_is_the_limit() -> None:
    async with playing(LLAMACPP) as script:
        survey = await survey_of(script.url)
        other = await survey_of(script.url, model="any name")
    assert (survey.engine, survey.version, survey.model) == ("llamacpp", "b1-7e4c0a9", "smol")
    assert next(iter(survey.limits.items())) == ("/props default_generation_settings.n_ctx", 2048)
    assert survey.limit == 2048
    assert survey.limits["/v1/models meta.n_ctx"] == 4096
    assert (survey.has_tokenize, survey.has_metrics) == (True, False)
    assert other.model == "any name"


PLAIN = models({"id": "m"}, owner="openai")
OTHERS = {
    "sglang": {"/v1/models": models({"id": "m", "max_model_len": 7}, owner="sglang")},
    "tgi": {"/v1/models": PLAIN, "/info": ok({"max_total_tokens": 4096, "max_input_tokens": 4000, "version": "3.1"})},
    "tensorrt-llm": {"/v1/models": models({"id": "m"}, owner="tensorrt_llm"), "/version": ok({"version": "1.0"})},
    "lmdeploy": {
        "/v1/models": models({"id": "m"}, owner="lmdeploy"),
        "/v1/encode": ok({"input_ids": [5], "length": 1}),
    },
    "ollama": {
        "/v1/models": models({"id": "m"}, owner="library"),
        "/api/version": ok({"version": "0.9"}),
        "/api/ps": ok({"models": [{"name": "other", "context_length": 9}, {"name": "m", "context_length": 4096}]}),
    },
    "lmstudio": {"/v1/models": models({"id": "m"}, owner="organization_owner")},
    "litellm": {"/v1/models": PLAIN, "/health/liveliness": ok("I'm alive!")},
    "transformers": {
        "/v1/models": whole(500, b"Internal Server Error"),
        "/health": ok({"status": "ok"}, "x-request-id: 98a0"),
    },
    "vllm": {"/v1/models": models({"id": "m"}, owner="acme"), "/version": ok({"version": "0.31"})},
    "openai": {"/v1/models": models({"id": "m"}, owner="openai")},
}


@pytest.mark.parametrize("engine", OTHERS)
async def test_each_dialect_is_detected(engine: str) -> None:
    async with playing(OTHERS[engine]) as script:
        survey = await survey_of(script.url, model="m")
    assert (survey.engine, survey.model) == (engine, "m")


@pytest.mark.parametrize(
    ("path", "held", "limits"),
    [
        ("/server_info", 6_000, {"/server_info max_total_num_tokens": 6_000, "/v1/models max_model_len": 131_072}),
        ("/get_server_info", 6_000, {"/get_server_info max_total_num_tokens": 6_000}),
        ("/server_info", 1_000_000, {"/v1/models max_model_len": 131_072}),  # room to spare is no limit
    ],
)
async def test_a_window_is_no_larger_than_what_holds_it(path: str, held: int, limits: dict[str, int]) -> None:
    pages = {
        "/v1/models": models({"id": "m", "max_model_len": 131_072}, owner="sglang"),
        path: ok({"tokenizer_path": "/m", "context_length": None, "max_total_num_tokens": held}),
    }
    async with playing(pages) as script:
        survey = await survey_of(script.url)
    assert next(iter(survey.limits.items())) == next(iter(limits.items()))
    assert survey.limit == next(iter(limits.values()))
    assert survey.limits == limits | {"/v1/models max_model_len": 131_072}


async def test_limits_stand_in_the_dialects_own_places() -> None:
    async with playing(OTHERS["tgi"]) as script:
        tgi = await survey_of(script.url)
    assert next(iter(tgi.limits)) == "/info max_total_tokens"
    assert (tgi.limit, tgi.version) == (4096, "3.1")
    async with playing(OTHERS["ollama"]) as script:
        ollama = await survey_of(script.url)
    assert (ollama.limit, ollama.takes_ids) == (4096, False)


async def test_a_forced_engine_is_not_doubted() -> None:
    async with playing(VLLM) as script:
        assert (await survey_of(script.url, engine="sglang")).engine == "sglang"


@pytest.mark.parametrize(
    ("answer", "takes"),
    [
        (TINY, True),
        (ok({"choices": [], "usage": {"prompt_tokens": 11}}), False),
        (whole(500, b"Unmapped prompt"), False),
    ],
)
async def test_whether_ids_are_taken_is_learnt_by_one_tiny_request_where_it_is_open(answer: bytes, takes: bool) -> None:
    async with playing(OTHERS["litellm"] | {"/v1/completions": answer}) as script:
        survey = await survey_of(script.url)
    assert survey.takes_ids is takes
    (asked,) = script.generations
    assert json.loads(asked)["max_tokens"] == 1
    assert len(json.loads(asked)["prompt"]) == 4


@pytest.mark.parametrize("tail", ["", "/", "/v1", "/v1/", "/v1/chat/completions"])
@pytest.mark.parametrize("prefix", ["", "/team/a"])
async def test_the_url_may_end_in_v1_and_have_a_prefix(prefix: str, tail: str) -> None:
    async with playing({prefix + path: answer for path, answer in VLLM.items()}) as script:
        assert (await survey_of(script.url + prefix + tail)).limit == 8192


async def test_health_and_metrics_may_live_elsewhere() -> None:
    async with playing(VLLM) as api, playing({"/up?x=1": whole(200, b"fine"), "/prom": VLLM["/metrics"]}) as side:
        target, survey = await connect(
            api.url, health_url=side.url + "/up?x=1", metrics_url=side.url + "/prom", trust_env=False
        )
        health = await target.health()
        await target.aclose()
    assert health.ok
    assert survey.has_metrics
    assert "/metrics" not in [path for path, _ in api.asked]


async def test_aliases_of_one_model_are_no_choice_and_adapters_are_never_guessed() -> None:
    entries = [{"id": "a", "root": "r"}, {"id": "b", "root": "r"}, {"id": "lora", "root": "r2", "parent": "a"}]
    async with playing({"/v1/models": models(*entries, owner="vllm")}) as script:
        assert (await survey_of(script.url)).model == "a"
        assert (await survey_of(script.url, model="lora")).model == "lora"


UNUSABLE = [
    (whole(401, b"{}"), r"401.*--api-key"),
    (whole(403, b"{}"), r"403.*OPENAI_API_KEY"),
    (whole(404, b"{}"), r"404.*/v1 or not"),
    (whole(200, b"<html><body>Console</body></html>", "content-type: text/html"), "web page"),
    (whole(200, b"pong"), "no JSON"),
    (whole(500, b"boom"), "answers 500 .boom."),
    (whole(503, b'{"error":{"message":"Loading model"}}'), "not ready .*Loading model"),
    (whole(308, b"", "location: https://u:s3cr3t@other/v1?key=s3cr3t"), r"redirects to other/v1: give that address"),
    (whole(407, b""), "HTTPS_PROXY"),
    (ok({"data": []}), "--model"),
    (models({"id": "one"}, {"id": "two"}), "--model one of: one, two"),
    (b"SSH-2.0-OpenSSH\r\n\r\n", "does not speak HTTP"),
    (b"", "hung up before it answered"),
]


@pytest.mark.parametrize(("answer", "sentence"), UNUSABLE)
async def test_what_cannot_be_used_is_refused_with_a_next_step(answer: bytes, sentence: str) -> None:
    async with playing({"/v1/models": answer}) as script:
        with pytest.raises(TargetUnusable, match=sentence) as caught:
            await survey_of(script.url)
    assert "s3cr3t" not in str(caught.value)


async def test_a_wrong_model_is_refused_with_those_that_exist() -> None:
    async with playing(VLLM) as script:
        with pytest.raises(TargetUnusable, match=r"no model 'nope'. Choose with --model one of: tiny"):
            await survey_of(script.url, model="nope")


async def speaking_plainly(reader: Reader, writer: Writer) -> None:
    await reader.read(100)
    writer.write(whole(400, b""))


async def test_what_cannot_be_reached_is_refused_with_a_next_step() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(TargetUnusable, match="Nobody listens at"):
            await survey_of(f"http://127.0.0.1:{taken.getsockname()[1]}")
    with pytest.raises(TargetUnusable, match="check the host name"):
        await survey_of("http://no-such-host.invalid")
    async with serving(speaking_plainly) as port:
        with pytest.raises(TargetUnusable, match="TLS handshake"):
            await survey_of(f"https://127.0.0.1:{port}")
    with pytest.raises(TargetUnusable, match="say http://h:8000"):
        await survey_of("h:8000")
    with pytest.raises(TargetUnusable, match="--engine takes auto, litellm"):
        await survey_of("http://h", engine="gpt")


async def test_discovery_tries_a_lost_connection_again() -> None:
    calls = 0

    async def handler(reader: Reader, writer: Writer) -> None:
        nonlocal calls
        head, _ = await request_of(reader)
        calls += 1
        if calls > 1:
            writer.write(VLLM.get(head.split(b" ")[1].decode(), whole(404, b"{}")))

    async with serving(handler) as port:
        assert (await survey_of(f"http://127.0.0.1:{port}", engine="vllm")).model == "tiny"


async def test_hostile_answers_of_every_kind_are_survived() -> None:
    junk = ok({"data": [7, {"id": 3}, {"id": "m", "max_model_len": -5, "root": [1], "owned_by": 9}], "version": {}})
    answers = dict.fromkeys(("/v1/models", "/version", "/tokenize", "/props", "/info", "/metrics", "/api/ps"), junk)
    async with playing(answers) as script:
        survey = await survey_of(script.url, engine="vllm")
    assert (survey.model, survey.limit, survey.version, survey.has_tokenize) == ("m", None, None, False)

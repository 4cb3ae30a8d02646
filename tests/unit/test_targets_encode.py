"""Does each dialect's request carry what it must, byte for byte around the prompt?"""

from __future__ import annotations

import json
from typing import Any

import pytest

from targets.address import parse
from targets.base import Generation, Prompt
from targets.http import Http
from targets.openai import OpenAITarget
from targets.table import DIALECTS

IDS = Prompt("ids", b"[1000,1001]", 2)
CHAT = Prompt("chat", b'[{"role":"user","content":"hi"}]', 1)


def encoded(engine: str, prompt: Prompt = IDS, model: str | None = "m", **options: Any) -> dict[str, Any]:
    address = parse("http://h")
    target = OpenAITarget(Http(address, trust_env=False), address, DIALECTS[engine], model=model)
    body = target.encode(Generation(prompt, **{"max_tokens": 8} | options))
    assert prompt.json in body
    return dict(json.loads(body))


def test_vllm_is_asked_for_everything_that_it_knows() -> None:
    assert encoded("vllm", min_tokens=3, cache_salt="salt") == {
        "model": "m",
        "prompt": [1000, 1001],
        "temperature": 0.0,
        "max_tokens": 8,
        "stream": True,
        "stream_options": {"include_usage": True},
        "ignore_eos": True,
        "min_tokens": 3,
        "cache_salt": "salt",
    }


def test_what_a_dialect_does_not_know_is_never_sent() -> None:
    body = encoded("openai", min_tokens=3, cache_salt="salt", stream=False)
    assert set(body) == {"model", "prompt", "temperature", "max_tokens"}


def test_an_empty_salt_is_never_sent() -> None:
    assert "cache_salt" not in encoded("vllm", cache_salt="")


def test_llamacpps_cache_is_off_unless_it_is_wanted_warm() -> None:
    assert encoded("llamacpp")["cache_prompt"] is False
    assert "cache_prompt" not in encoded("llamacpp", cold=False)


def test_chat_goes_as_messages() -> None:
    body = encoded("vllm", CHAT)
    assert body["messages"] == [{"role": "user", "content": "hi"}]
    assert "prompt" not in body


def test_no_model_and_no_max_tokens_are_left_out() -> None:
    body = encoded("llamacpp", model=None, max_tokens=None)
    assert not {"model", "max_tokens"} & set(body)


@pytest.mark.parametrize("engine", DIALECTS)
def test_every_dialect_makes_valid_json(engine: str) -> None:
    assert encoded(engine, stream=False)["prompt"] == [1000, 1001]


@pytest.mark.parametrize("engine", DIALECTS)
def test_every_row_is_under_its_own_name_and_its_paths_are_paths(engine: str) -> None:
    traits = DIALECTS[engine]
    assert traits.name == engine
    paths = [source.path for source in (*traits.version, *traits.limits)] + [mark.path for mark in traits.marks]
    assert all(path.startswith("/") for path in [traits.health_path, *paths])

"""In which words does each engine answer? Health, errors and refusals by dialect, as data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from targets.sim.world import World

Body = dict[str, Any]
ENGINE_DEAD = "EngineCore encountered an issue. See stack trace (above) for the root cause."


def nested(message: str, kind: str, status: int, param: str | None = None) -> Body:
    """OpenAI's and vLLM's shape."""
    return {"error": {"message": message, "type": kind, "param": param, "code": status}}


def flat(message: str, kind: str, status: int, param: str | None = None) -> Body:
    """SGLang's shape, and that of vLLM before 0.10."""
    return {"object": "error", "message": message, "type": kind, "param": param, "code": status}


def short(message: str, kind: str, status: int, param: str | None = None) -> Body:  # noqa: ARG001
    """llama.cpp's shape: its types are in lower case and it names no parameter."""
    kinds = {"InternalServerError": "server_error", "BadRequestError": "invalid_request_error"}
    return {"error": {"code": status, "message": message, "type": kinds.get(kind, kind)}}


@dataclass(frozen=True, slots=True)
class Dialect:
    """`paths`: what this engine serves beside /v1. `checks_model`: is a wrong model name a 404?"""

    error: Callable[[str, str, int, str | None], Body]
    paths: frozenset[str]
    refusal: str
    health: Body | None = None
    loading: Body | None = None
    server: str | None = None  # the Server header; uvicorn's where None
    checks_model: bool = True


DIALECTS: dict[str, Dialect] = {
    "vllm": Dialect(
        error=nested,
        paths=frozenset({"/health", "/ping", "/version", "/load", "/metrics", "/tokenize", "/detokenize"}),
        refusal="vllm",
    ),
    "sglang": Dialect(
        error=flat,
        paths=frozenset({"/health", "/health_generate", "/server_info", "/metrics", "/tokenize", "/detokenize"}),
        refusal="sglang",
    ),
    "llamacpp": Dialect(
        error=short,
        paths=frozenset({"/health", "/props", "/metrics", "/tokenize", "/detokenize"}),
        refusal="llamacpp",
        health={"status": "ok"},
        loading={"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}},
        server="llama.cpp",
        checks_model=False,
    ),
    "openai": Dialect(error=nested, paths=frozenset({"/health"}), refusal="vllm"),
}


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked for, where it does not fit. `limit` is the one that is enforced."""

    limit: int
    prompt: int
    max_tokens: int


def _vllm_prompt(asked: Asked) -> tuple[int, Body]:
    limit = asked.limit
    if asked.prompt == limit:
        return 400, nested(
            "max_tokens must be at least 1, got 0. (parameter=max_tokens, value=0)",
            "BadRequestError",
            400,
            "max_tokens",
        )
    count = "at least " * (asked.prompt == limit + 1) + str(asked.prompt)
    message = (
        f"This model's maximum context length is {limit} tokens. However, your prompt contains {count} input tokens, "
        "which exceeds this limit even without any output tokens. Please reduce the length of the input prompt. "
        f"(parameter=input_tokens, value={asked.prompt})"
    )
    return 400, nested(message, "BadRequestError", 400, "input_tokens")


def _sglang(asked: Asked) -> tuple[int, Body]:
    message = f"The input ({asked.prompt} tokens) is longer than the model's context length ({asked.limit} tokens)."
    return 400, flat(message, "BadRequestError", 400)


def _tgi(asked: Asked) -> tuple[int, Body]:
    message = f"Input validation error: `inputs` must have less than {asked.limit} tokens. Given: {asked.prompt}"
    return 422, {"error": message, "error_type": "validation"}


def _llamacpp(asked: Asked) -> tuple[int, Body]:
    message = (
        f"request ({asked.prompt} tokens) exceeds the available context size ({asked.limit} tokens), try increasing it"
    )
    error = {"code": 400, "message": message, "type": "exceed_context_size_error"}
    return 400, {"error": error | {"n_prompt_tokens": asked.prompt, "n_ctx": asked.limit}}


def _lmstudio(asked: Asked) -> tuple[int, Body]:
    message = (
        f"Trying to keep the first {asked.prompt} tokens when context the overflows. However, the model is loaded with "
        f"context length of only {asked.limit} tokens, which is not enough."
    )
    return 200, {"error": message}


def _trtllm(asked: Asked) -> tuple[int, Body]:
    message = (
        f"The sum of prompt length ({asked.prompt}), query length (0) should not exceed max_num_tokens ({asked.limit})"
    )
    return 400, flat(message, "BadRequestError", 400)


def _lmdeploy(asked: Asked) -> tuple[int, Body]:
    message = f"This model's maximum context length is {asked.limit} tokens, the request has {asked.prompt}."
    return 400, flat(message, "invalid_request_error", 400) | {"code": "context_length_exceeded"}


REFUSALS: dict[str, Callable[[Asked], tuple[int, Body]]] = {
    "vllm": _vllm_prompt,
    "sglang": _sglang,
    "tgi": _tgi,
    "llamacpp": _llamacpp,
    "lmstudio": _lmstudio,
    "trtllm": _trtllm,
    "lmdeploy": _lmdeploy,
}


def prompt_refused(world: World, asked: Asked) -> tuple[int, Body]:
    """Status and body for a prompt that does not fit."""
    return REFUSALS[world.refusal or DIALECTS[world.dialect].refusal](asked)


def sum_refused(asked: Asked) -> tuple[int, Body]:
    """vLLM before 0.30: prompt + max_tokens do not fit. Its count of the prompt is wrong, and stays so here."""
    limit, claimed = asked.limit, asked.limit - asked.max_tokens + 1
    message = (
        f"This model's maximum context length is {limit} tokens. However, you requested {asked.max_tokens} output "
        f"tokens and your prompt contains at least {claimed} input tokens, for a total of at least {limit + 1} tokens. "
        "Please reduce the length of the input prompt or the number of requested output tokens. "
        f"(parameter=input_tokens, value={claimed})"
    )
    return 400, nested(message, "BadRequestError", 400, "input_tokens")

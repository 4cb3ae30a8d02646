"""Is a word of overload told from a length, a failure and an engine that is lost, and is it known whose word it is?"""

from __future__ import annotations

import pytest

from targets.base import Reply
from targets.overloads import in_cooldown, overload, turning_away, vouches
from tests.unit.test_targets_refusals import openai, replied

BUSY = [
    (429, openai("Rate limit"), {"retry-after": "7"}, 7.0),
    (429, {"error": "Model is overloaded", "error_type": "overloaded"}, {}, 0.0),
    (429, "", {"retry-after": "soon"}, 0.0),
    (429, "", {"retry-after": "-3"}, 0.0),
    (429, "", {"retry-after": "nan"}, 0.0),
    (429, "", {"retry-after": "Sun, 29 Nov 2026 16:00:30 GMT", "date": "Sun, 29 Nov 2026 16:00:00 GMT"}, 30.0),
    (503, openai("The request queue is full, try again later"), {}, 0.0),
    (503, openai("Server overloaded"), {}, 0.0),
    (503, "", {"retry-after": "2"}, 2.0),
    (503, "upstream connect error or disconnect/reset before headers. reset reason: overflow", {}, 0.0),
    (529, openai("Overloaded"), {}, 0.0),
    (
        503,
        "Request dropped due to backpressure (num_queued_requests=10, max_queued_requests=10).",
        {},
        0.0,
    ),  # Ray Serve
    (503, {"error": "Exceeds maximum queue size"}, {}, 0.0),  # Triton
    (503, openai("ResourceExhausted: Worker local total request limit reached (34/32)"), {}, 0.0),  # Dynamo
    (503, {"message": "Service temporarily unavailable: All workers are busy, please retry later"}, {}, 0.0),
    (503, openai("m-70b is currently over capacity. Please try again and back off exponentially."), {}, 0.0),  # Groq
    (503, {"message": "Too many connections, please wait before trying again."}, {}, 0.0),  # Bedrock
    (503, [{"error": {"code": 503, "message": "The model is overloaded."}}], {}, 0.0),  # Gemini
    (503, "pending request queue full", {}, 0.0),  # Knative
    (503, openai("server busy, please try again.  maximum pending requests exceeded"), {}, 0.0),  # Ollama
    (503, openai("Concurrency limit exceeded"), {}, 0.0),
    (503, openai("We have reached the limit of concurrent requests"), {}, 0.0),
    (503, openai("The engine has reached its prefill token backlog limit. Please try again later"), {}, 0.0),  # vLLM
    (429, openai("Rate limit reached for cuda-coder-7b"), {}, 0.0),
]
NOT_BUSY = [
    (503, "", {}),
    (503, openai("Service Unavailable"), {}),
    (503, "upstream connect error or disconnect/reset before headers. reset reason: connection termination", {}),
    (503, "no healthy upstream", {"retry-after": "1"}),
    (503, openai("Loading model"), {}),
    (429, openai("no healthy upstream"), {}),
    (503, {"error": "CB worker is dead and cannot accept request 5d9a: No requests can be scheduled"}, {}),
    (500, openai("overloaded"), {}),
    (200, {"choices": []}, {"retry-after": "1"}),
    # Of memory, by XLA, JAX and whoever relays them
    (503, openai("RESOURCE_EXHAUSTED: Out of memory allocating 5368709120 bytes."), {}),
    (503, openai("RESOURCE_EXHAUSTED: Attempting to allocate 5.2G. That was not possible. There are 2.1G free."), {}),
    (429, openai("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 123 bytes."), {}),
    (503, openai("CUDA out of memory, server overloaded, try again later"), {"retry-after": "1"}),
    # Of a length, or of a size
    (503, openai("RESOURCE_EXHAUSTED: Received message larger than max (5000000 vs. 4194304)"), {}),
    (503, openai("Request exceeds the model's maximum context length of 8192 tokens: over capacity"), {}),
    (503, openai("The request's token limit (8192) was reached"), {}),
    (503, openai("Request limit reached: 9000 input tokens of 8192"), {}),
    (503, openai("Request size limit exceeded"), {}),
    (503, openai("The request size exceeds the limit"), {}),
    (503, openai("The prompt exceeds the capacity of the KV cache"), {}),
    # Of an engine that was lost
    (503, openai("HTTPConnectionPool(host='vllm', port=8000): Max retries exceeded with url: /v1/queue"), {}),
    (503, openai("Connection refused by the engine. Please try again later"), {}),
    (503, openai("The engine is shutting down: request queue is full"), {}),
    (503, openai("Worker exceeded resource limits"), {}),
    (503, openai("The server encountered a temporary error. Please try again in 30 seconds."), {}),
]


@pytest.mark.parametrize(("status", "body", "headers", "wait"), BUSY)
def test_busy_is_told_with_the_seconds_to_wait(status: int, body: object, headers: dict[str, str], wait: float) -> None:
    assert overload(replied(status, body, headers=headers)) == wait


@pytest.mark.parametrize(("status", "body", "headers"), NOT_BUSY)
def test_what_may_be_a_death_is_not_called_busy(status: int, body: object, headers: dict[str, str]) -> None:
    assert overload(replied(status, body, headers=headers)) is None


LITELLM = "No deployments available for selected model, Try again in 5 seconds. Passed model=m. cooldown_list="


@pytest.mark.parametrize(
    ("status", "said", "told"),
    [
        (429, openai(f"{LITELLM}['ab12']"), True),
        (429, openai(f"{LITELLM}[]"), False),  # a rate of its router
        (503, openai("Backend circuit breaker tripped"), True),
        (503, openai("All keys are cooling down"), True),
        (429, openai("No available providers"), True),
        (429, openai("Rate limit reached for requests per minute"), False),
        (429, openai("Rate limit reached for requests per minute. Please cool down for 20s"), False),
        (429, openai("Your account has no endpoint quota left"), False),
        (429, openai(f"RateLimitError: {LITELLM}['ab12']"), True),
        (429, openai("The queue is full: no more than 8 backends' worth of requests"), False),
        (500, openai(f"{LITELLM}['ab12']"), False),
    ],
)
def test_a_cooldown_is_no_overload_of_the_engine(status: int, said: object, told: bool) -> None:
    assert in_cooldown(replied(status, said)) is told


@pytest.mark.parametrize(("listed", "deployment", "ours"), [("AB12", "ab12", True), ("ab12", "AB12", True),
    ("ab12', 'cd34", "cd34", True), ("ab12", "cd34", False), ("ab12", "", True), ("", "", False)])  # fmt: skip
def test_a_cooldown_is_ours_where_it_may_name_our_deployment(listed: str, deployment: str, ours: bool) -> None:
    said = openai(f"{LITELLM}[{repr(listed) if listed else ''}]".replace('"', "'"))
    assert in_cooldown(replied(429, said), deployment) is ours


@pytest.mark.parametrize(
    ("status", "said", "its_own"),
    [
        (429, "", True),
        (503, openai("The queue is full"), True),
        (503, openai("Service Unavailable"), False),
        (503, "overloaded", False),  # a page is nobody's word
        (503, "<html><h1>Service Unavailable</h1>The request queue limit was reached</html>", False),
        (503, "pending request queue full", True),  # but of a queue that is full nobody speaks who lost an engine
        (503, "Request dropped due to backpressure (num_queued_requests=10)", True),
        (503, "Please try again later", False),
        (503, "InferencePoolResourceExhausted - failed to find target pod", False),
        (429, openai(f"{LITELLM}['ab12']"), False),
    ],
)
def test_who_turns_a_request_away_vouches_for_an_engine_or_does_not(status: int, said: object, its_own: bool) -> None:
    assert vouches(replied(status, said, headers={"retry-after": "2"})) is its_own


def test_a_meshs_own_limit_is_no_engine_that_was_lost() -> None:
    assert vouches(replied(503, "reset reason: overflow", headers={"x-envoy-overloaded": "true"}))


# --- inside a 200 ---


def inside(message: str, code: object = None, *, events: int = 0, **more: object) -> Reply:
    """An error inside a 200, behind a comment that a reader skips."""
    error = {"error": {"message": message, "code": code, **more}}
    return replied(200, error, events=events, headers={"retry-after": "9"})


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        (inside("The request queue is full.", 503), 503),  # SGLang
        (inside("The engine is currently busy and cannot accept new requests. Please try again later", 503), 503),
        (inside("RateLimitError: Too many requests", "429"), 429),  # LiteLLM
        (inside("Slow down", 429), 429),
        (inside("Overloaded", type="overloaded_error"), 503),  # Anthropic: a word, as a 503's is
        (inside("This request would exceed your account's rate limit", type="rate_limit_error"), 429),
        (inside("All workers are busy, please retry later", 529), 529),
        (inside("ResourceExhausted: All workers are busy, please retry later"), 503),  # Dynamo: no number
        (inside("Model is overloaded", http_status_code=422), 503),  # TGI
    ],
)
def test_an_overload_that_is_told_inside_a_stream_is_one(reply: Reply, status: int) -> None:
    assert (overload(reply), turning_away(reply)) == (0.0, status)  # what the head of a 200 names is another wait


@pytest.mark.parametrize(
    "reply",
    [
        inside("The request queue is full.", 503, events=1),  # it was let in
        inside("Service Unavailable", 503),
        inside("The request queue is full.", 500),
        inside("The request queue is full.", 400),
        inside("An error occurred, please try again later."),
        inside("Connection error. Please try again later.", 503),
        inside("EngineCore encountered an issue: server overloaded", 503),
        inside("CUDA out of memory", 429),
        inside("RESOURCE_EXHAUSTED: Out of memory allocating 5368709120 bytes."),
        inside("aten::copy_.opoverload has no kernel"),
        inside("KV cache capacity exceeded"),
        replied(200, {"choices": [{"text": "the queue is full", "finish_reason": "error"}]}),  # it was generated
    ],
)
def test_what_may_be_a_failure_inside_a_stream_is_not_called_busy(reply: Reply) -> None:
    assert overload(reply) is None


@pytest.mark.parametrize(("listed", "ours"), [("'ab12'", True), ("", False)])
def test_a_cooldown_inside_a_stream_is_no_overload_either(listed: str, ours: bool) -> None:
    said = inside(f"{LITELLM}[{listed}]", "429")
    assert (in_cooldown(said), vouches(said)) == (ours, not ours)


@pytest.mark.parametrize("message", ["queue size " * 180, "exceeds a " * 200, "request limit " * 140, "limit " * 300])
@pytest.mark.timeout(20)
def test_hostile_words_are_read_in_no_time(message: str) -> None:
    for _ in range(20):
        overload(replied(503, openai(message)))

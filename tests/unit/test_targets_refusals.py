"""Is a refusal for length told from every other no, in every dialect and wording that we know?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from targets.base import Reply
from targets.bodies import server_error
from targets.refusals import in_cooldown, overload, refusal, vouches


def replied(status: int, body: object, *, events: int = 0, headers: dict[str, str] | None = None) -> Reply:
    text = body if isinstance(body, str) else json.dumps(body, separators=(",", ":"))
    error = None if isinstance(body, str) else server_error(body)
    return Reply(True, status, headers=headers or {}, complete=True, error=error, excerpt=text[:2048], events=events)


def openai(message: str) -> dict[str, object]:
    return {"error": {"message": message}}


# Recorded or documented bodies, one a line: who says it, with which status, and whether it is a refusal for length.
ROWS = json.loads((Path(__file__).parent / "data" / "refusals.json").read_text("utf-8"))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['about']} {row['status']}")
def test_a_refusal_for_length_and_its_limit_are_told_from_any_other_no(row: dict[str, Any]) -> None:
    seen = refusal(replied(row["status"], row["body"]))
    assert (seen is not None) == row["refused"]
    if seen is not None:
        assert seen.limit == row["limit"]


def test_an_error_after_tokens_is_no_refusal() -> None:
    body = openai("This model's maximum context length is 8192 tokens.")
    assert refusal(replied(200, body, events=3)) is None


@given(st.sampled_from([200, 400, 413, 422]), st.text(max_size=3_000))
def test_no_message_raises_and_a_limit_is_a_sane_number(status: int, message: str) -> None:
    seen = refusal(replied(status, openai(message)))
    assert seen is None or seen.limit is None or seen.limit > 0


@pytest.mark.parametrize(
    "message", ["context length " * 140, "prompt " * 300, "tokens exceed " * 150, "max_tokens " * 190, "(" * 2_000]
)
@pytest.mark.timeout(20)
def test_a_hostile_message_is_read_in_no_time(message: str) -> None:
    for _ in range(20):
        refusal(replied(400, openai(message)))


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
        (429, openai(f"{LITELLM}['ab12']"), False),
    ],
)
def test_who_turns_a_request_away_vouches_for_an_engine_or_does_not(status: int, said: object, its_own: bool) -> None:
    assert vouches(replied(status, said, headers={"retry-after": "2"})) is its_own


def test_a_meshs_own_limit_is_no_engine_that_was_lost() -> None:
    assert vouches(replied(503, "reset reason: overflow", headers={"x-envoy-overloaded": "true"}))

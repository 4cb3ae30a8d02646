"""Is the status read that an answer tells inside a 200, and only where it says something of this request?"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from targets.base import Reply, ServerError
from targets.bodies import server_error
from targets.proxies import sign
from targets.told import spelled, told_status

STREAM = Reply(True, 200, complete=True, error_in_stream=True, ended_s=31.0)


def inside(message: str, code: int | str | None = None, kind: str | None = None, *, events: int = 0) -> Reply:
    return replace(STREAM, error=ServerError(message, kind, code), events=events)


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        (inside("Insufficient credits", 402), 402),
        (inside("no", "429"), 429),
        (inside("no", 503, "overloaded_error"), 503),  # a number says more than a name
        (inside("no", None, "authentication_error"), 401),
        (inside("no", "server_error"), 200),
        (inside("no", 50_001), 200),  # FastChat numbers otherwise
        (inside("no", 200), 200),
        (inside("no", "503.0"), 200),
        (inside("no", "\u0665\u0660\u0663"), 200),  # digits of another script
        (inside("no", 503, events=3), 200),
        (inside("no", 504, events=3), 504),  # a clock stops any answer
        (inside("CUDA error: an illegal memory access", 429), 200),
        (replace(STREAM, status=500, error=ServerError("no", code=503)), 500),  # its own says more
        (STREAM, 200),
        (Reply(False), None),
    ],
)
def test_the_status_that_an_answer_tells(reply: Reply, status: int | None) -> None:
    assert told_status(reply) == status


@given(st.text(max_size=20) | st.integers(), st.text(max_size=20), st.integers(0, 2))
def test_no_code_and_no_name_tells_a_status_that_is_none(code: int | str, kind: str, events: int) -> None:
    told = told_status(inside("boom", code, kind, events=events))
    assert told == 200 or 400 <= (told or 0) < 600


SAME = [
    ("Upstream idle timeout exceeded", 504, "deadline"),
    ("litellm.Timeout: APITimeoutError - Request timed out.", "408", "deadline"),
    ("User not found.", 401, "auth"),
    ("No endpoints found for m.", 404, "not-found"),
    ("The response was filtered by a content filter", 400, "blocked"),
    ("request entity too large", 413, "body-limit"),
]


@pytest.mark.parametrize(("message", "code", "kind"), SAME)
def test_a_door_and_a_clock_are_the_same_inside_a_stream(message: str, code: int | str, kind: str) -> None:
    within = sign(inside(message, code))
    over_http = sign(replace(inside(message, code), status=int(code), error_in_stream=False))
    assert within is not None
    assert within == over_http
    assert within.kind == kind


def test_a_gateways_clock_is_not_blamed_on_a_queue() -> None:
    seen = sign(inside("litellm.Timeout: APITimeoutError - Request timed out.", "408"))
    assert seen is not None
    assert (seen.product, "request_timeout" in seen.advice) == ("litellm", True)


@pytest.mark.parametrize(
    "reply",
    [
        inside("Bad Gateway", 502),
        inside("Service Unavailable", 503),
        inside("Provider disconnected", 502),
        inside("RPC call to sample_tokens timed out.", 504),  # an engine's own clock
        inside("EngineCore encountered an issue.", 504),
        inside("boom", 500),
        inside("boom", 400),
        inside("User not found.", 401, events=2),
    ],
)
def test_what_an_engine_may_say_itself_inside_a_stream_is_nobody_elses(reply: Reply) -> None:
    assert sign(reply) is None


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (inside("no", 503), "HTTP 503 inside a 200"),
        (inside("no"), "an error inside a 200"),
        (Reply(True, 503), "HTTP 503"),
        (STREAM, "HTTP 200"),
    ],
)
def test_a_reader_is_told_where_a_status_stood(reply: Reply, said: str) -> None:
    assert spelled(reply) == said


def test_an_error_that_is_alone_in_a_list_is_one() -> None:
    listed = {"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}  # Gemini
    assert server_error([listed]) == server_error(listed) == ServerError("The model is overloaded.", code=503)


@pytest.mark.parametrize("value", [[], [{"error": None}], [{"choices": []}], [{"message": "hello"}], [[[]]],
    [{"error": {"message": "a"}}, {"error": {"message": "b"}}]])  # fmt: skip
def test_a_list_of_anything_else_is_no_error(value: list[object]) -> None:
    assert server_error(value) is None

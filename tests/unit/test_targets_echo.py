"""Does the echo of a prompt cost nothing, whatever its length, and is all else of the answer read as it is?"""

from __future__ import annotations

import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from targets.answer import Answer
from targets.base import Fault, Generation, Prompt, Reply
from targets.echo import Echo
from targets.exchange import Exchange

IDS = [15, 151_000, 7]
CHOICE = {"index": 0, "text": " a", "token_ids": [5, 60]}
FINISHED = {"index": 0, "text": " b", "finish_reason": "length", "token_ids": [7], "prompt_token_ids": None}
USAGE = {"prompt_tokens": 3, "completion_tokens": 3}
SSE = {"content-type": "text/event-stream"}
JSON = {"content-type": "application/json"}
TOLD = '{"prompt_token_ids":[1,2]}'  # what a model may write


def without(*pieces: bytes) -> bytes:
    echo = Echo()
    return b"".join(map(echo.without, pieces))


def read(
    body: bytes, headers: dict[str, str] = SSE, *, tokens: int = 3, ids: bool = True, piece: int = 65_536
) -> Reply:
    answer = Answer(Generation(Prompt("ids", b"[]", tokens), 8, token_ids=ids))
    answer.begin(200, headers, 0.1)
    ended = all(answer.feed(body[at : at + piece], 0.2) for at in range(0, len(body), piece))
    return answer.reply(Exchange(200, headers, ended=ended, first_byte_s=0.1, ended_s=0.3))


def stream(ids: list[int], text: str = " a", separators: tuple[str, str] = (",", ":")) -> bytes:
    """vLLM's: its first chunk holds the ids of the whole prompt."""
    first = {"choices": [{**CHOICE, "text": text, "prompt_token_ids": ids}]}
    chunks = [first, {"choices": [FINISHED]}, {"choices": [], "usage": USAGE}]
    said = [json.dumps(chunk, separators=separators).encode() for chunk in chunks]
    return b"".join(b"data: " + one + b"\n\n" for one in (*said, b"[DONE]"))


def whole(ids: list[int], indent: int | None = None) -> bytes:
    choice = {**CHOICE, "finish_reason": "length", "prompt_token_ids": ids}
    return json.dumps({"choices": [choice], "usage": USAGE}, indent=indent).encode()


@pytest.mark.parametrize("indent", [None, 1])
def test_only_the_ids_of_the_prompt_are_taken_out(indent: int | None) -> None:
    left = json.loads(without(whole(IDS, indent)))
    assert left == json.loads(whole([], indent))


@given(at=st.integers(0, 400), to=st.integers(0, 400))
def test_it_does_not_matter_where_the_bytes_are_split(at: int, to: int) -> None:
    body = stream(IDS, TOLD, (", ", ": "))
    at, to = sorted((at, to))
    assert without(body[:at], body[at:to], body[to:]) == without(body)


@pytest.mark.parametrize(
    "body", [b'{"prompt_token_ids":null,"a":[1]}', b'{"token_ids": [1, 2]}', json.dumps({"text": TOLD}).encode()]
)
def test_what_is_no_such_list_stays(body: bytes) -> None:
    assert json.loads(without(body)) == json.loads(body)


@pytest.mark.parametrize("tokens", [3, 250_000, 1_000_000])
@pytest.mark.parametrize("piece", [65_536, 1_000])
def test_an_echo_of_any_length_that_was_sent_is_read_over(tokens: int, piece: int) -> None:
    """Also where blanks stand between the ids, and each has six digits."""
    ids = [151_000] * tokens
    streamed = read(stream(ids, separators=(", ", ": ")), tokens=tokens, piece=piece)
    assert (streamed.complete, streamed.text, streamed.token_ids) == (True, " a b", (5, 60, 7))
    at_once = read(whole(ids), JSON, tokens=tokens, piece=piece)
    assert (at_once.complete, at_once.text, at_once.token_ids) == (True, " a", (5, 60))


def test_no_echo_is_held() -> None:
    body = stream([151_000] * 1_000_000)
    tracemalloc.start()
    try:
        assert read(body, tokens=1_000_000).complete
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1 << 20


def test_what_the_model_itself_writes_is_left_alone() -> None:
    assert read(stream(IDS, TOLD)).text == TOLD + " b"


@pytest.mark.parametrize(
    "endless",
    [
        b'data: {"prompt_token_ids":[' + b"1," * 100_000,
        b'data: {"prompt_token_ids":[' + b"[" * 5_000_000,
        b'data: {"prompt_token_ids":[1],"x":"' + b"1" * 5_000_000,
        b'"prompt_token_ids"' * 300_000,
        b'"prompt_token_ids' * 300_000,
    ],
)
def test_more_than_was_sent_is_no_echo(endless: bytes) -> None:
    """Whoever goes on past it is hung up on where he is in any other answer."""
    reply = read(endless)
    assert (reply.fault, reply.complete) == (Fault.OVERSIZE, False)


def test_nobody_who_asked_for_no_ids_is_sent_them() -> None:
    assert read(stream([151_000] * 200_000), ids=False, tokens=200_000).fault is Fault.OVERSIZE

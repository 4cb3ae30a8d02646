"""Is a server that says nothing without end hung up on soon, and one that says little for long read to its end?"""

from __future__ import annotations

import json
import tracemalloc

import pytest

from targets.answer import Answer
from targets.base import Fault, Generation, Prompt, Reply
from targets.exchange import Exchange

SSE = {"content-type": "text/event-stream"}
GOOD = b'data: {"choices":[{"text":"a","finish_reason":"length"}]}\n\ndata: [DONE]\n\n'
NO_CHOICE = b'data: {"choices":[]}\n\n'
EMPTY = b'data: {"choices":[{"delta":{"content":""}}]}\n\n'
SOON = 1 << 18  # bytes; where events are counted, and not bytes alone


def read(body: bytes, max_tokens: int = 8) -> tuple[Reply, int]:
    """What is read of it, and how many bytes were taken for that."""
    answer, taken = Answer(Generation(Prompt("ids", b"[]", 1), max_tokens)), 0
    answer.begin(200, SSE, 0.1)
    ended = True
    while ended and taken < len(body):
        piece = body[taken : taken + 4_096]
        ended, taken = answer.feed(piece, 0.2), taken + len(piece)
    return answer.reply(Exchange(200, SSE, ended=ended, first_byte_s=0.1, ended_s=0.3)), taken


@pytest.mark.parametrize(
    "event", [b"data: {}\n\n", b"data:\n\n", b"data: x\n\n", b'{"\n', b'data: {"choices":[]}\n\n', EMPTY]
)
def test_events_of_nothing_are_counted_too(event: bytes) -> None:
    reply, taken = read(event * 400_000)
    assert reply.fault is Fault.OVERSIZE
    assert taken < 4 * SOON


@pytest.mark.parametrize("ping", [b": ping\n\n", b"data: {}\n\n", NO_CHOICE, EMPTY])
def test_who_pings_for_hours_before_he_answers_is_heard_out(ping: bytes) -> None:
    reply, _ = read(ping * 15_000 + GOOD)
    assert (reply.fault, reply.complete, reply.text) == (None, True, "a")


def test_as_many_events_come_as_tokens_were_asked_for() -> None:
    token = b'data: {"choices":[{"text":"x","finish_reason":null}]}\n\n'
    assert read(token * 60_000 + GOOD, 60_000)[0].complete


def whole(body: bytes, status: int = 200, sent: int = 1, asked: int = 8) -> Reply:
    headers = {"content-type": "application/json"}
    answer = Answer(Generation(Prompt("ids", b"[]", sent), asked))
    answer.begin(status, headers, 0.1)
    answer.feed(body, 0.2)
    return answer.reply(Exchange(status, headers, ended=True, first_byte_s=0.1, ended_s=0.3))


@pytest.mark.parametrize(
    "item", [b"[]", b"{}", b'{"":0}', b'"ab"', b"1.5", b"300", b"[[[]]]", '"\u0101\u0101"'.encode()]
)
def test_a_body_of_ever_so_many_parts_is_not_parsed(item: bytes) -> None:
    body = b"[" + (item + b",") * (4_190_000 // (len(item) + 1)) + b"0]"
    tracemalloc.start()
    try:
        assert whole(body).fault is Fault.OVERSIZE
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 3 * len(body)


def test_a_body_of_as_many_parts_as_are_allowed_is_no_more_than_that() -> None:
    tracemalloc.start()
    try:
        assert whole(b"[" + b"[]," * 100_000 + b"0]" + b" " * 3_800_000).fault is Fault.PROTOCOL
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 32 << 20


@pytest.mark.parametrize("as_text", [False, True])
def test_who_refuses_a_long_prompt_may_repeat_its_ids(as_text: bool) -> None:
    ids = [151_000] * 400_000
    told = {"message": f"prompt: {ids}"} if as_text else {"message": "not so", "input": ids}
    body = json.dumps({"error": told}, separators=(",", ":")).encode()
    error = whole(body, 422, sent=400_000).error
    assert error is not None
    assert error.message.startswith("prompt: [" if as_text else "not so")


def test_as_many_quotes_and_commas_as_a_long_answer_has_are_read() -> None:
    text = '"a", {[' * 100_000
    body = json.dumps({"choices": [{"text": text, "finish_reason": "length"}]}).encode()
    assert whole(body, asked=100_000).text_chars == len(text)

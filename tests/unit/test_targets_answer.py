"""Is one generation's response read right, chunk by chunk, whatever the engine sends?"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from targets.answer import Answer
from targets.base import Fault, Generation, Prompt, Reply, Usage
from targets.exchange import Exchange
from targets.scrape import DraftCounts

SSE = {"content-type": "text/event-stream; charset=utf-8"}
JSON = {"content-type": "application/json"}


def read(
    body: bytes,
    headers: dict[str, str] = SSE,
    *,
    status: int = 200,
    ended: bool = True,
    fault: Fault | None = None,
    max_tokens: int | None = 8,
    stop_after: int | None = None,
    piece: int = 7,
) -> Reply:
    generation = Generation(Prompt("ids", b"[1]", 1), max_tokens, stop_after=stop_after)
    answer = Answer(generation)
    answer.begin(status, headers, 0.5)
    for number, start in enumerate(range(0, len(body), piece)):
        if not answer.feed(body[start : start + piece], 1.0 + number):
            ended = False
            break
    return answer.reply(Exchange(status, headers, fault, ended=ended, first_byte_s=0.5, ended_s=9.0, bytes_sent=3))


def event(value: object) -> bytes:
    return b"data: " + (value if isinstance(value, bytes) else json.dumps(value).encode()) + b"\n\n"


def token(text: str, finish: str | None = None, **more: Any) -> bytes:
    return event({"choices": [{"index": 0, "text": text, "finish_reason": finish}], **more})


def delta(finish: str | None = None, **fields: object) -> bytes:
    return event({"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]})


USAGE = {"prompt_tokens": 20, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}
DONE = event(b"[DONE]")
FATAL = event({"error": {"message": "EngineCore encountered an issue.", "type": "InternalServerError", "code": 500}})


def test_a_stream_with_its_usage_in_a_chunk_of_its_own() -> None:
    reply = read(token("a") + token("b", "length") + event({"choices": [], "usage": USAGE}) + DONE)
    assert reply.complete
    assert (reply.text, reply.events, reply.finish_reason) == ("ab", 2, "length")
    assert reply.usage == Usage(20, 2, 4)
    assert reply.first_byte_s == 0.5
    assert reply.first_token_s is not None
    assert reply.first_token_s > 1
    assert reply.excerpt == ""


def test_a_stream_without_done_is_complete_at_a_clean_end_after_its_finish() -> None:
    assert read(token("a", "length")).complete
    assert not read(token("a", "length"), ended=False, fault=Fault.CUT).complete


def test_a_clean_end_without_a_finish_reason_is_not_complete() -> None:
    reply = read(token("a") + token("b"))
    assert not reply.complete
    assert reply.fault is None


def test_an_error_inside_a_200_stream_is_kept_and_ends_it() -> None:
    reply = read(token("a") + FATAL + DONE)
    assert reply.error is not None
    assert (reply.error.code, reply.error_in_stream, reply.events, reply.complete) == (500, True, 1, False)
    assert "EngineCore" in reply.excerpt


def test_errors_in_other_shapes_are_seen() -> None:
    plain = read(event({"error": "index out of range in self"}))
    assert plain.error is not None
    assert plain.error.message == "index out of range in self"
    named = read(b"event: error\n" + event({"message": "context overflow", "code": 400}))
    assert named.error is not None
    assert named.error.code == 400


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (b"event: error\ndata: Internal Server Error\n\n", "Internal Server Error"),
        (b"event: error\ndata: it went wrong\ndata: twice\n\n", "it went wrong\ntwice"),
        (b'event: error\ndata: {"status": 500, "reason": "boom"}\n\n', '{"status": 500, "reason": "boom"}'),
        (b"event: error\ndata:\n\n", ""),
        (b"data: [ERROR] the worker failed\n\n", "[ERROR] the worker failed"),
        (b"data: Internal Server Error\n\n", "Internal Server Error"),
        (b'data: "RuntimeError: bad index"\n\n', '"RuntimeError: bad index"'),
        (b"data: torch.OutOfMemoryError: no room\n\n", "torch.OutOfMemoryError: no room"),
        (b'error: {"code": 500, "message": "boom", "type": "server_error"}\n\n', "boom"),  # llama.cpp
        (b"data: Prompt sequence length is greater than 8192\n\n", "Prompt sequence length is greater than 8192"),
        (b'data: {"text": "NETWORK ERROR (boom)", "error_code": 50001}\n\n', "NETWORK ERROR (boom)"),  # FastChat
        (b'data: {"errors": [{"message": "AiError: boom", "code": 5021}], "result": {}}\n\n', "AiError: boom"),
        (
            b'event: error\n: "Stream ended before generation completed"\n\n',
            '"Stream ended before generation completed"',
        ),
        (b'{"error": "model runner has unexpectedly stopped"}\n', "model runner has unexpectedly stopped"),  # Ollama
    ],
)
def test_an_error_in_plain_words_is_an_error_and_ends_the_stream(said: bytes, message: str) -> None:
    reply = read(token("a") + said + token("b", "length") + DONE)
    assert reply.error is not None
    assert (reply.error.message, reply.error_in_stream, reply.complete, reply.text) == (message, True, False, "a")


def test_a_bare_error_that_no_line_break_ends_is_read_at_the_end() -> None:
    reply = read(token("a") + b'{"object": "error", "message": "boom", "code": 400}')
    assert reply.error is not None
    assert (reply.error.message, reply.error_in_stream) == ("boom", True)
    assert read(token("a", "length") + DONE + b'{"error": "late"}').error is None
    assert read(token("a") + b'{"error": "half', ended=False, fault=Fault.CUT).error is None


def test_what_may_hold_errors_and_holds_none_is_no_error() -> None:
    told = {"text": "a", "error_code": 0, "errors": []}
    assert read(event({"choices": [{"text": "a", "finish_reason": "length"}], **told}) + DONE).complete
    assert read(json.dumps(told).encode(), JSON).error is None


@pytest.mark.parametrize(
    "said", [b"data: ping\n\n", b"event: ping\ndata: keep-alive\n\n", b"data: no errors so far\n\n"]
)
def test_other_plain_words_between_the_tokens_are_passed_over(said: bytes) -> None:
    assert read(token("a") + said + token("b", "length") + DONE).complete


def test_a_generated_text_about_an_error_is_text() -> None:
    assert read(token("Error: ") + token("[ERROR] RuntimeError", "length") + DONE).complete


def test_empty_texts_are_tokens_but_an_empty_last_chunk_is_none() -> None:
    assert read(token("") + token("") + token("", "length") + DONE).events == 2


def test_chat_counts_tokens_and_not_the_opening_role() -> None:
    body = (
        delta(role="assistant", content="") + delta(content="x") + delta(reasoning_content="y") + delta("stop") + DONE
    )
    reply = read(body)
    assert (reply.text, reply.events, reply.complete) == ("xy", 2, True)


def test_stop_after_closes_on_purpose() -> None:
    reply = read(token("a") * 6, stop_after=2)
    assert (reply.stopped, reply.events, reply.complete, reply.fault) == (True, 2, False, None)


@pytest.mark.parametrize("endless", [token("x") * 200, b": keep-alive\n\n" * 500_000, b"data: " + b"x" * 5_000_000])
def test_an_endless_stream_is_stopped_at_a_bound(endless: bytes) -> None:
    reply = read(endless, max_tokens=8, piece=65_536)
    assert reply.fault is Fault.OVERSIZE
    assert not reply.complete
    assert len(reply.excerpt) <= 2048
    assert len(reply.text) <= 4096


def test_an_endless_body_is_stopped_at_a_bound() -> None:
    assert read(b'{"choices": [' + b" " * 6_000_000, JSON, piece=65_536).fault is Fault.OVERSIZE


def test_a_whole_body_is_read() -> None:
    body = {"choices": [{"text": "ab", "finish_reason": "length", "token_ids": [5, 6]}], "usage": USAGE}
    reply = read(json.dumps(body).encode(), JSON)
    assert (reply.complete, reply.text, reply.events, reply.token_ids) == (True, "ab", 1, (5, 6))
    assert reply.usage == Usage(20, 2, 4)


def test_a_whole_chat_body_is_read() -> None:
    body = {"choices": [{"message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}]}
    assert read(json.dumps(body).encode(), JSON).text == "hi"


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"error": {"code": 502, "message": "provider died"}, "finish_reason": "error"}, "provider died"),
        ({"finish_reason": "error"}, "the answer ended with finish_reason error"),
        ({"finish_reason": "abort"}, "the answer ended with finish_reason abort"),
        ({"finish_reason": "cancelled"}, "the answer ended with finish_reason cancelled"),
        ({"finish_reason": "TIMEOUT"}, "the answer ended with finish_reason TIMEOUT"),
    ],
)
def test_an_error_in_the_choice_is_an_error_whatever_came_before_it(choice: dict[str, object], message: str) -> None:
    value = {"choices": [{"text": " one two", **choice}], "usage": {"prompt_tokens": 9, "completion_tokens": 32}}
    for said, kind in ((event(value), SSE), (json.dumps(value).encode(), JSON)):
        reply = read(said, kind)
        assert reply.error is not None
        assert reply.error.message == message


@pytest.mark.parametrize("part", ["text", "delta", "message"])
def test_the_text_of_a_failed_answer_is_shown_where_it_says_why(part: str) -> None:
    why = "internal error happened, status code ResponseType.INTERNAL_ENGINE_ERROR"
    said = why if part == "text" else {"content": why}
    reply = read(event({"choices": [{part: said, "finish_reason": "error"}]}))
    assert reply.error is not None
    assert reply.error.message == f"the answer ended with finish_reason error: {why}"


def test_a_finish_reason_of_another_shape_is_no_error() -> None:
    assert read(event({"choices": [{"text": "a", "finish_reason": {"type": "error"}}]})).error is None


def test_a_200_with_an_error_body_is_an_error() -> None:
    reply = read(b'{"error": "the context overflows"}', JSON)
    assert reply.error is not None
    assert reply.error.message == "the context overflows"
    assert not reply.error_in_stream


def test_the_words_beside_a_bare_reason_are_read() -> None:
    said = read(b'{"status": 500, "error": "Internal Server Error", "message": "Exceeded limit"}', JSON, status=500)
    assert said.error is not None
    assert said.error.message == "Internal Server Error: Exceeded limit"


def test_a_page_that_comes_as_an_answer_is_quoted() -> None:
    page = b"<html><style>p { color: red }</style><title>Request&nbsp;Rejected</title>\n<body>Ask your <b>admin</b>"
    assert read(page, {"content-type": "text/html"}).fault_text.endswith("choices: Request Rejected Ask your admin")
    assert read(b"", JSON).fault_text.endswith("choices")


@pytest.mark.parametrize(
    "body", [b"", b"<html>hello</html>", b"[1]", b"{", b"[" * 100_000, b'{"choices": 7}', b"9" * 5_000]
)
def test_a_200_that_is_no_answer_is_a_fault(body: bytes) -> None:
    reply = read(body, JSON, piece=65_536)
    assert reply.fault is Fault.PROTOCOL
    assert not reply.complete


def test_an_error_status_keeps_its_body() -> None:
    reply = read(b"Internal Server Error", {"content-type": "text/plain"}, status=500)
    assert (reply.complete, reply.error, reply.excerpt) == (True, None, "Internal Server Error")


def test_a_stream_that_does_not_say_so_is_recognised() -> None:
    assert read(token("a", "length") + DONE, {"content-type": "text/plain"}).complete


def test_an_event_that_is_no_json_is_kept_as_an_excerpt_and_passed_over() -> None:
    reply = read(event(b"{broken") + token("a", "length") + DONE)
    assert reply.complete
    assert "{broken" in reply.excerpt


def test_invalid_utf8_becomes_replacement_characters() -> None:
    reply = read(b'data: {"choices":[{"text":"\xff","finish_reason":"length"}]}\n\n' + DONE)
    assert reply.text == "\ufffd"


NONSENSE = [-1, True, 1.5, "7", None, float("nan"), [], 10**30]


@pytest.mark.parametrize("value", NONSENSE, ids=str)
def test_usage_that_is_no_count_is_absent(value: object) -> None:
    usage = {"prompt_tokens": value, "completion_tokens": value, "prompt_tokens_details": {"cached_tokens": value}}
    assert read(token("a", "length", usage=usage) + DONE).usage == Usage()
    assert read(token("a", usage=USAGE) + token("b", "length", usage=usage) + DONE).usage == Usage(20, 2, 4)
    assert read(token("a", "length", usage=value) + DONE).usage == Usage()


def test_llamacpps_timings_tell_the_drafts_of_this_request() -> None:
    timings = {"predicted_n": 8, "draft_n": 5, "draft_n_accepted": 5}
    draft = read(token("", "length", timings=timings) + DONE).draft
    assert draft == DraftCounts(2, 5, 5)
    assert draft.mean_acceptance_length == 3.5
    assert read(token("", "length", timings={"predicted_n": 8}) + DONE).draft is None


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["choices", "delta", "text", "usage", "error", "timings", "message", "token_ids", "content"]
            ),
            inner,
        )
    ),
    max_leaves=12,
)


@given(st.lists(VALUES, max_size=4), st.sampled_from([200, 400, 500]), st.integers(1, 50))
def test_no_stream_of_json_raises(values: list[object], status: int, piece: int) -> None:
    body = b"".join(event(value) for value in values)
    read(body, SSE, status=status, piece=piece)
    read(json.dumps(values[0] if values else None).encode(), JSON, status=status, piece=piece)


@given(st.binary(max_size=200), st.sampled_from([SSE, JSON, {}]), st.integers(1, 9))
def test_no_bytes_raise_and_the_split_does_not_matter(body: bytes, headers: dict[str, str], piece: int) -> None:
    once, split = read(body, headers, piece=1_000), read(body, headers, piece=piece)
    assert (once.text, once.error, once.events, once.complete) == (
        split.text,
        split.error,
        split.events,
        split.complete,
    )


def test_an_answer_that_says_all_and_done_needs_no_finish_reason() -> None:
    usage = event({"choices": [], "usage": {"prompt_tokens": 20, "completion_tokens": 2}})
    assert read(token("a") + token("b") + usage + DONE, max_tokens=2).complete
    assert not read(token("a") + token("b") + usage, max_tokens=2).complete


def test_an_answer_that_counts_its_tokens_and_is_done_needs_no_finish_reason() -> None:
    """There are servers that never say why they end."""
    usage = event({"choices": [], "usage": {"prompt_tokens": 20, "completion_tokens": 2}})
    assert read(token("a") + token("b") + usage + DONE, max_tokens=8).complete
    assert read(event({"choices": [], "usage": {"prompt_tokens": 20, "completion_tokens": 0}}) + DONE).complete
    assert not read(token("a") + token("b") + usage, max_tokens=8).complete
    assert not read(token("a") + token("b") + DONE, max_tokens=8).complete
    running = token("a", usage={"prompt_tokens": 20, "completion_tokens": 1})
    assert not read(running + running + DONE, max_tokens=8).complete, "a count that runs along ends nothing"
    assert not read(token("a") * 5 + usage + DONE, max_tokens=8).complete, "not all of it came"
    assert read(token("a") + token("b", usage=USAGE) + DONE, max_tokens=8).complete
    assert not read(token("a", usage=USAGE) + token("b") + DONE, max_tokens=8).complete


def test_content_may_come_in_parts() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}, {"type": "other"}, 7]
    assert read(delta(content=parts) + delta("stop") + DONE).text == "ab"
    thought = [{"type": "thinking", "thinking": [{"type": "text", "text": "so"}]}]
    called = [{"index": 0, "function": {"name": "f", "arguments": "{}"}}]
    assert read(delta(content=thought) + delta(tool_calls=called) + delta("stop") + DONE).text == "so{}"


def test_a_count_of_nothing_is_none() -> None:
    """Who does not count says 0 for any prompt, and for text that is there (LocalAI's streams)."""
    zero = {"prompt_tokens": 0, "completion_tokens": 0, "prompt_tokens_details": {"cached_tokens": 0}}
    assert read(token("a", "length", usage=zero) + DONE).usage == Usage(None, None, 0)
    assert read(token("", "stop", usage=zero) + DONE).usage == Usage(None, 0, 0)
    whole = {"choices": [{"text": "ab", "finish_reason": "length"}], "usage": zero}
    assert read(json.dumps(whole).encode(), JSON).usage == Usage(None, None, 0)


def test_a_late_zero_takes_no_count_away() -> None:
    zero = {"prompt_tokens": 0, "completion_tokens": 0, "prompt_tokens_details": {"cached_tokens": 0}}
    first, last = token("a", usage=USAGE), token("b", "length", usage=zero)
    assert read(first + last + DONE).usage == Usage(20, 2, 4)
    assert read(token("a", usage=zero) + token("b", "length", usage=USAGE) + DONE).usage == Usage(20, 2, 4)

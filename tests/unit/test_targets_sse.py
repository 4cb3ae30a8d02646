"""Does the event stream parser find the same events at every split, and stay within its bounds?"""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from targets.sse import OversizeError, ServerSentEvent, SseParser


def parse(data: bytes, cuts: list[int] | None = None) -> list[ServerSentEvent]:
    parser, events, start = SseParser(), [], 0
    for cut in [*sorted(cuts or []), len(data)]:
        events += parser.feed(data[start:cut])
        start = cut
    return events


def by_the_book(data: bytes) -> list[ServerSentEvent]:
    """The standard's algorithm over the whole text at once: slow, plain, and written without looking at ours.

    But for one thing: a comment in an event of the name error is its data.
    """
    text = data.decode("utf-8", "replace").removeprefix("\ufeff")
    lines = re.split("\r\n|\r|\n", text)[:-1]
    events, buffer, kind = [], "", ""
    for line in lines:
        if line == "":
            if buffer:
                events.append(ServerSentEvent(buffer[:-1], kind or "message"))
            buffer, kind = "", ""
        elif ":" in line and not (line.startswith(":") and kind != "error"):
            name, value = line.split(":", 1)
            value = value.removeprefix(" ")
            buffer, kind = (buffer + value + "\n", kind) if name in {"data", ""} else (buffer, kind)
            kind = value if name == "event" else kind
        elif line == "data":
            buffer += "\n"
        elif line == "event":
            kind = ""
    return events


FIELDS = ["data: a", "data:b", "data:  c", "data", "data:", "data : no", "dat", "event: error", "event"]
OTHERS = [
    "id: 7",
    "retry: 1",
    ": comment",
    ":",
    "x",
    "data: \u00e9\u2603\U0001d11e",
    'data: {"a": 1}',
    "\ufeffdata: bom",
    "",
    "",
]
LINES = st.sampled_from([*FIELDS, *OTHERS])
ENDS = st.sampled_from(["\n", "\r", "\r\n"])
STREAMS = st.lists(st.tuples(LINES, ENDS)).map(lambda rows: "".join(line + end for line, end in rows).encode())
# A lone CR at the very end may be half of a CRLF: neither reading is wrong, so streams end in a known way.
WHOLE = st.one_of(STREAMS, st.binary(max_size=80), STREAMS.map(lambda data: b"\xef\xbb\xbf" + data)).map(
    lambda data: data + b"\n\n"
)


@given(WHOLE)
def test_agrees_with_the_standards_own_algorithm(data: bytes) -> None:
    assert parse(data) == by_the_book(data)


@given(WHOLE, st.data())
def test_any_split_gives_the_same_events(data: bytes, draw: st.DataObject) -> None:
    cuts = draw.draw(st.lists(st.integers(0, len(data))))
    assert parse(data, cuts) == parse(data)


@given(WHOLE)
def test_byte_by_byte_gives_the_same_events(data: bytes) -> None:
    assert parse(data, list(range(len(data)))) == parse(data)


def test_a_crlf_that_is_cut_in_two_ends_one_line() -> None:
    parser = SseParser()
    assert parser.feed(b"data: a\r") == []
    assert parser.feed(b"\ndata: b\r\n\r") == [ServerSentEvent("a\nb")]
    assert parser.feed(b"\n") == []


def test_an_event_is_told_as_soon_as_a_cr_ends_it() -> None:
    assert SseParser().feed(b"data: a\r\r") == [ServerSentEvent("a")]


def test_json_on_a_line_of_its_own_is_an_event() -> None:
    assert parse(b'data: a\n\n{"error": "b"}\n') == [ServerSentEvent("a"), ServerSentEvent('{"error": "b"}')]
    parser = SseParser()
    assert parser.feed(b'{"error": "b"}') == []
    assert parser.end() == [ServerSentEvent('{"error": "b"}')]


def test_an_unfinished_line_of_the_standards_kind_is_none_at_the_end() -> None:
    parser = SseParser()
    assert parser.feed(b'data: {"error": "b"}') == []
    assert parser.end() == []


def test_invalid_utf8_becomes_replacement_characters_also_over_a_split() -> None:
    assert parse(b"data: \xff\xe2\x98\n\n") == [ServerSentEvent("\ufffd\ufffd")]
    assert parse("data: ☃\n\n".encode(), [7]) == [ServerSentEvent("☃")]


def test_an_event_without_its_blank_line_is_not_told() -> None:
    assert parse(b"data: half\n") == []


@pytest.mark.parametrize("piece", [b"x" * 100, b"data: " + b"x" * 10 + b"\n", b"event: " + b"x" * 100])
def test_a_line_or_an_event_without_end_stops_at_the_bound(piece: bytes) -> None:
    parser = SseParser(max_event=1_000)

    def endless() -> None:
        for _ in range(1_000):
            parser.feed(piece)

    with pytest.raises(OversizeError):
        endless()


def test_comments_without_end_hold_no_memory() -> None:
    parser = SseParser(max_event=1_000)
    for _ in range(10_000):
        assert parser.feed(b": keep-alive\n") == []
    assert parser.feed(b"data: at last\n\n") == [ServerSentEvent("at last")]

"""Is a limit on bytes or on characters told from an engine's limit on tokens, with the setting that raises it?"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fuzzer.evidence import Evidence
from fuzzer.model import Outcome
from fuzzer.outcome import judge
from targets.overloads import overload
from targets.proxies import sign
from targets.refusals import refusal
from targets.sizes import names_bytes, outgrows
from tests.unit.test_outcome import evidence
from tests.unit.test_targets_refusals import replied

# Documented or recorded bodies, one a line: who says it, with which status, and the setting that the advice names.
ROWS = json.loads((Path(__file__).parent / "data" / "sizes.json").read_text("utf-8"))


def seen(status: int, body: object, headers: dict[str, str], limit: int | None) -> Evidence:
    """A probe of 8,000 tokens in and 32 out that was answered so, by a target that passed shorter ones."""
    reply = replied(status, body, headers=headers)
    found = evidence(reply, refusal=refusal(reply), proxy=sign(reply), overload_s=overload(reply))
    return replace(found, limit=limit)


@pytest.mark.parametrize("limit", [None, 16384])
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['about']} {row['status']}")
def test_a_limit_on_bytes_or_characters_is_no_engines_limit(row: dict[str, Any], limit: int | None) -> None:
    verdict = judge(seen(row["status"], row["body"], row["headers"], limit))
    assert verdict.outcome is Outcome.INFRA
    assert verdict.next_step
    assert row["setting"] in verdict.next_step


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (400, "Request length 8000 is greater than max_seq_len 7999"),
        (400, "request (8032 tokens) exceeds the limit of 8000"),
        (400, "Input payload of 8032 tokens exceeds the maximum of 8000"),
        (400, "The message exceeds the maximum context length of 8000"),
        (400, "Input too big"),
        (400, "Prompt length 8000 exceeds the maximum allowed 7999"),
        (413, "request body holds 8032 tokens: the context window is 8000"),
        (413, "Prompt too large for the model"),
        (422, "the sequence is too long: 8032 > 8000"),
        (400, "the prompt is too long: 9000 tokens of another tokenizer, 8500 are allowed"),
    ],
)
def test_an_engines_limit_stays_one_whatever_else_it_names(status: int, said: str) -> None:
    assert judge(seen(status, {"error": {"message": said}}, {}, None)).outcome is Outcome.REJECTED


@pytest.mark.parametrize("status", [400, 413])
@pytest.mark.parametrize(
    "said",
    [
        "The input is too large (max 4 MB)",
        "input exceeds 25MB",
        "Input payload of 7 MB exceeds 6 MB",
        "The input of the function exceeds its maximum size of 2 MiB",
        "The prompt field is larger than 1,000 kB",
    ],
)
def test_a_unit_of_bytes_says_more_than_the_name_of_an_input(status: int, said: str) -> None:
    assert judge(seen(status, {"message": said}, {}, None)).outcome is Outcome.INFRA


@pytest.mark.parametrize(
    "said",
    ["The KV cache needs 12 GB, which exceeds the limit of 10 GB", "12 GiB exceed the maximum of device 0"],
)
def test_the_size_of_an_engines_memory_is_no_requests(said: str) -> None:
    assert judge(seen(500, {"error": {"message": said}}, {}, None)).outcome is Outcome.ERROR


def typed(said: str, **fields: object) -> dict[str, object]:
    return {"error": {"message": said, "type": "invalid_request_error", **fields}}


TERSE = [
    "Request too long",
    "Request is too large",
    "The request is too long for the model",
    "Message exceeds max length",
]


@pytest.mark.parametrize("status", [400, 422])
@pytest.mark.parametrize("said", TERSE)
def test_past_its_own_limit_an_engine_refuses_in_few_words(status: int, said: str) -> None:
    past, within = (judge(seen(status, typed(said), {}, limit)) for limit in (8031, 8032))
    assert (past.outcome, within.outcome) == (Outcome.REJECTED, Outcome.INFRA)
    assert "AWS" not in str(within.next_step)
    assert judge(seen(413, typed(said), {}, 8031)).outcome is Outcome.INFRA


@pytest.mark.parametrize(
    "row", [row for row in ROWS if row["status"] in {400, 422} and row["about"] != "Tyk"], ids=lambda row: row["about"]
)
def test_past_it_too_a_limit_on_bytes_or_characters_is_none(row: dict[str, Any]) -> None:
    assert judge(seen(row["status"], row["body"], row["headers"], 8000)).outcome is Outcome.INFRA


@pytest.mark.parametrize(
    ("said", "limit", "code"),
    [
        ("Prompt length 8064 exceeds maximum 8048", None, None),  # blocks, or drafts
        ("Prompt length 9056 exceeds maximum 9055", None, None),
        ("Requested length 30000 exceeds the maximum of 20000", 20000, None),
        ("Prompt exceeds maximum length (request 90001234, port 45678)", 8000, None),
        ("Sequence of 28256 exceeds max_seq_len 18192", None, None),
        ("prompt length 28201 > max_position_embeddings 18192", None, None),
        ("prompt too long: 28201 > 18192", None, "context_length_exceeded"),
    ],
)
def test_what_an_engine_adds_to_a_prompt_makes_no_bytes_of_it(said: str, limit: int | None, code: str | None) -> None:
    assert judge(seen(400, typed(said, code=code), {}, limit)).outcome is Outcome.REJECTED


def test_an_output_that_was_not_named_may_be_of_any_length() -> None:
    found = seen(400, typed("Prompt length 28352 exceeds the maximum of 20000"), {}, None)
    assert judge(found).outcome is Outcome.INFRA
    assert judge(replace(found, spec=replace(found.spec, omit_max_tokens=True))).outcome is Outcome.REJECTED


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (503, "Server overloaded: request too large to be scheduled now, try again later"),
        (503, "queue is full: 4 requests wait, 9000000 bytes are above the limit, try again later"),
        (503, "at capacity: the request is too long for the free slots, retry later"),
        (529, "overloaded: in-flight bytes exceed limit"),
        (429, "KV cache is full: 1048576 bytes needed exceed the 524288 bytes that are free"),
    ],
)
def test_a_word_of_overload_says_more_than_a_number_of_bytes(status: int, said: str) -> None:
    verdict = judge(seen(status, {"error": {"message": said, "type": "overloaded_error"}}, {"retry-after": "5"}, None))
    assert (verdict.outcome, verdict.retry_after_s) == (Outcome.BUSY, 5.0)


def test_a_code_of_engines_says_more_than_words() -> None:
    body = {"error": {"message": "Request too large for this model", "code": "context_length_exceeded"}}
    assert judge(seen(400, body, {}, None)).outcome is Outcome.REJECTED


def test_a_page_is_nobodys_refusal_for_tokens() -> None:
    assert judge(seen(413, "the prompt is too long", {}, None)).outcome is Outcome.INFRA


def test_a_rate_in_bytes_is_still_busy() -> None:
    assert overload(replied(429, {"error": {"message": "rate limit: more bytes per second than the maximum"}})) == 0.0


@pytest.mark.parametrize(
    ("said", "grown"),
    [
        ("size 9000 exceeds 8500", True),
        ("size 9,000 exceeds 8,500", True),
        ("size 9000 exceeds 8000", False),
        ("exceeds 9000", False),  # an error's number, may be
        ("code 3: 9000 > 8500", True),
        ("9000 tokens exceed 8500", False),
        ("context of 9000 exceeds 8500", False),
        ("version 9000.8500 is the maximum", False),
        ("prompt is too long (request 90001234, trace 4f12345-98765a)", False),
        ("prompt is too long (request 90001234, host 45678)", False),
    ],
)
def test_a_limit_above_the_request_counts_something_else(said: str, grown: bool) -> None:
    assert outgrows(said, 8032) is grown


@pytest.mark.parametrize("said", ["bytes exceed " * 150, "body " * 400, "string " * 300, "request is too " * 140])
@pytest.mark.timeout(20)
def test_hostile_words_are_measured_in_no_time(said: str) -> None:
    for _ in range(20):
        names_bytes(said)
        refusal(replied(400, {"error": {"message": said}}))

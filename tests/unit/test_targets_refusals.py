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
from targets.refusals import refusal


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

"""Does a gateway say that it asked again, or somebody else?"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from targets.base import Reply
from targets.gateways import asked_again, deployment, fell_back, stranger


@pytest.mark.parametrize(
    ("headers", "told"),
    [
        ({"x-litellm-attempted-fallbacks": "1"}, "it fell back"),
        ({"x-litellm-attempted-retries": "2"}, "it asked again"),
        ({"x-portkey-retry-attempt-count": "1"}, "it asked again"),
        ({"x-envoy-attempt-count": "2"}, "it asked again"),
        ({"x-envoy-attempt-count": "1"}, None),
        ({"x-litellm-attempted-retries": "0", "x-litellm-attempted-fallbacks": "0"}, None),
        ({"x-litellm-attempted-retries": "None"}, None),
        ({}, None),
    ],
)
def test_more_than_one_request_is_told(headers: dict[str, str], told: str | None) -> None:
    words = asked_again(headers)
    assert words is None if told is None else words is not None and words.startswith(told)


@given(st.text(max_size=5_000))
def test_no_header_makes_it_fail(value: str) -> None:
    words = asked_again({"x-litellm-attempted-retries": value})
    assert words is None or len(words) < 80
    assert len(deployment({"x-litellm-model-id": value})) <= 64


@pytest.mark.parametrize(
    ("reply", "who", "fell"),
    [
        (Reply(sent=True), None, False),
        (Reply(sent=True, model="hosted_vllm/M", headers={"x-litellm-model-id": "first"}), None, False),
        (Reply(sent=True, model="other"), "other answered in the place of m", True),
        (Reply(sent=True, headers={"x-litellm-model-id": "b"}), "deployment b answered in the place of first", False),
        (Reply(sent=True, headers={"x-litellm-attempted-fallbacks": "1"}), None, True),
    ],
)
def test_who_answers_in_anothers_place_is_told_and_whether_that_failed(
    reply: Reply, who: str | None, fell: bool
) -> None:
    assert stranger(reply, ["m"], "first") == who
    assert fell_back(reply, ["m"]) is fell
    assert stranger(reply, ["", "m", "Other"], "") is None, "it has these names too"
    assert stranger(reply, ["", ""], "") is None, "nobody was known"

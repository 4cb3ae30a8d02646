"""Does a gateway say that it asked again, or somebody else?"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from targets.gateways import asked_again, deployment


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

"""Does a response cache say that it answered, and is nothing else taken for one?"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from targets.base import Reply
from targets.replayed import bypass, replayed


def answered(name: str, value: str, **more: float) -> Reply:
    return Reply(sent=True, status=200, headers={"content-type": "application/json", name: value}, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("x-litellm-cache-key", "586bf3f3c1bf5aec"),
        ("x-portkey-cache-status", "HIT"),
        ("x-portkey-cache-status", "SEMANTIC HIT"),
        ("cf-aig-cache-status", "HIT"),
        ("helicone-cache", "HIT"),
        ("x-openrouter-cache-status", "HIT"),
        ("x-litellm-cache-hit", "True"),
        ("x-cache-status", "Hit"),
        ("x-cache", "Hit from cloudfront"),
        ("x-cache", "MISS, HIT"),
        ("x-cache", "TCP_MEM_HIT"),
        ("cache-status", "Edge; hit; ttl=300"),
    ],
)
def test_a_cache_that_answers_says_so(name: str, value: str) -> None:
    assert replayed(answered(name, value)) == f"it came out of a response cache ({name}: {value})"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("x-litellm-cache-key", ""),
        ("x-portkey-cache-status", "MISS"),
        ("x-portkey-cache-status", "REFRESH"),
        ("x-portkey-cache-status", "DISABLED"),
        ("cf-cache-status", "DYNAMIC"),
        ("x-cache", "Miss from cloudfront"),
        ("x-cache", "CONFIG_NOCACHE"),
        ("x-cache-lookup", "HIT from squid:3128"),
        ("cache-status", "Edge; fwd=uri-miss; hit=?0"),
        ("cache-control", "no-cache"),
        ("x-prefix-cache", "HIT"),
        ("x-prompt-cache-hit", "true"),
        ("x-kv-cache-status", "hit"),
        ("x-auth-cache", "HIT"),
        ("fireworks-cached-prompt-tokens", "8000"),
        ("x-cache-hit-rate", "1"),
        ("x-litellm-cache-hit", "False"),
        ("x-radix-cache", "HIT"),
        ("x-lora-cache-hit", "1"),
        ("x-tokenizer-cache-status", "hit"),
        ("x-cache", "hit-for-pass"),
        ("x-varnish-cache", "HIT for miss"),
        ("cache-status", "Edge; fwd=miss; detail=no-hit"),
    ],
)
def test_what_was_asked_of_the_engine_is_none(name: str, value: str) -> None:
    assert replayed(answered(name, value)) is None


@pytest.mark.parametrize(("age", "is_kept"), [("40", True), ("32", False), ("0", False), ("-1", False), ("old", False)])
def test_an_answer_is_kept_where_it_is_older_than_its_request(age: str, is_kept: bool) -> None:
    """Some proxies count the time until the answer began as its age."""
    assert (replayed(answered("age", age, first_byte_s=31.5, ended_s=90.0)) is not None) is is_kept


def test_what_is_no_answer_came_out_of_no_cache() -> None:
    assert replayed(Reply(sent=True, status=502, headers={"x-cache": "HIT"})) is None
    assert replayed(Reply(sent=True)) is None


def test_the_step_names_the_header_that_asks_a_cache_not_to_answer() -> None:
    assert "--header 'x-portkey-cache-force-refresh: true'" in bypass(answered("x-portkey-cache-status", "HIT"))
    assert "--header" not in bypass(answered("x-cache", "HIT"))
    assert "--seed" in bypass(answered("x-litellm-cache-key", "ab"))


@given(st.text(max_size=3_000), st.text(max_size=3_000))
def test_no_header_makes_it_fail(name: str, value: str) -> None:
    for reply in (answered(name, value), answered("age", value), answered("x-cache", value)):
        assert len(replayed(reply) or "") < 200

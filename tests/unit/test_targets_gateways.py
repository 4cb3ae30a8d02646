"""Does a gateway say that it asked again, or somebody else?"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from targets.base import Reply
from targets.gateways import asked_again, deployment, fell_back, stranger, untold


@pytest.mark.parametrize(
    ("headers", "told"),
    [
        ({"x-litellm-attempted-fallbacks": "1"}, "it fell back"),
        ({"cf-aig-step": "1"}, "it fell back"),
        ({"cf-aig-step": "0"}, None),
        ({"helicone-fallback-index": "2"}, "it fell back"),
        ({"helicone-fallback-index": "0"}, None),
        ({"x-litellm-attempted-retries": "2"}, "it asked again"),
        ({"x-portkey-retry-attempt-count": "1"}, "it asked again"),
        ({"x-portkey-retry-attempt-count": "-1"}, None),
        ({"ngrok-aig-attempts": "2"}, "it asked again"),
        ({"ngrok-aig-attempts": "1"}, None),
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
    assert len(deployment(Reply(sent=True, headers={"x-litellm-model-id": value}, provider=value))) <= 64


@pytest.mark.parametrize(
    ("reply", "who", "fell"),
    [
        (Reply(sent=True), None, False),
        (Reply(sent=True, model="hosted_vllm/M", headers={"x-litellm-model-id": "first"}), None, False),
        (Reply(sent=True, model="other"), "other answered in the place of m", True),
        (Reply(sent=True, headers={"x-litellm-model-id": "b"}), "deployment b answered in the place of first", False),
        (Reply(sent=True, headers={"x-litellm-attempted-fallbacks": "1"}), None, True),
        (Reply(sent=True, headers={"cf-aig-step": "1"}), None, True),
        (Reply(sent=True, model="m", also="other"), "other answered in the place of m", False),
        (Reply(sent=True, model="m", also="hosted_vllm/M"), None, False),
    ],
)
def test_who_answers_in_anothers_place_is_told_and_whether_that_failed(
    reply: Reply, who: str | None, fell: bool
) -> None:
    assert stranger(reply, ["m"], "first") == who
    assert fell_back(reply, ["m"]) is fell
    assert stranger(reply, ["", "m", "Other"], "") is None, "it has these names too"
    assert stranger(reply, ["", ""], "") is None, "nobody was known"


NAMED = [
    ("x-portkey-last-used-option-index", "config.targets[0]", "config.targets[1]"),
    ("cf-aig-provider", "custom-ours", "openai"),
    ("cf-aig-model", "our-own", "gpt-5"),
    ("ngrok-aig-model", "our-own", "gemini-3.6-flash"),
    ("x-kong-llm-model", "openai/our-own", "openai/gpt-5"),
    ("x-tfy-resolved-model", "vllm/our-own", "openai/gpt-5"),
    ("x-inference-provider", "ours", "theirs"),
]


@pytest.mark.parametrize(("header", "ours", "other"), NAMED, ids=[name for name, _, _ in NAMED])
def test_every_gateway_that_names_who_answered_is_heard(header: str, ours: str, other: str) -> None:
    def told(who: str) -> Reply:
        return Reply(sent=True, model="m", headers={header: who, "x-request-id": f"of {who}"})

    assert stranger(told(ours), ["m"], deployment(told(ours))) is None
    assert stranger(told(other), ["m"], deployment(told(ours))) == f"deployment {other} answered in the place of {ours}"


def test_both_names_of_one_gateway_are_held_against_the_later_ones() -> None:
    def told(provider: str, model: str) -> Reply:
        return Reply(sent=True, headers={"cf-aig-provider": provider, "cf-aig-model": model})

    ours = deployment(told("ours", "m"))
    assert [stranger(told(*who), [], ours) is None for who in (("ours", "m"), ("theirs", "m"), ("ours", "n"))] == [
        True, False, False,
    ]  # fmt: skip


def test_a_provider_is_told_by_the_answer_itself() -> None:
    ours, other = Reply(sent=True, model="m", provider="A"), Reply(sent=True, model="m", provider="B")
    assert stranger(other, ["m"], deployment(ours)) == "deployment B answered in the place of A"
    assert stranger(ours, ["m"], deployment(ours)) is None
    assert stranger(Reply(sent=True, model="m", provider="A", also="B"), ["m"], "A") == "B answered in the place of m"


def test_whoever_named_himself_before_and_does_not_now_is_not_known() -> None:
    nameless = Reply(sent=True, model="m")
    assert untold(nameless, "first") == "it does not say who gave this answer, as it did before (first)"
    assert untold(nameless, "") is None, "it never did"
    assert untold(Reply(sent=True, headers={"x-litellm-model-id": "second"}), "first") is None, "it says it now"

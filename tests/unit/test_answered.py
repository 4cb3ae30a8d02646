"""What is bad in itself is told of an answer whose count fell silent, and what only that count could tell is not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fuzzer.model import Baseline, Outcome
from fuzzer.outcome import judge
from targets.base import Reply
from tests.unit.test_outcome import SPEC, answer, evidence


def silent(output: int | None = None, text: str = "", finish: str | None = "stop") -> Reply:
    """An answer that does not say how many prompt tokens were read; `output`: as it counts those that it gave."""
    return answer(None, output, text, finish_reason=finish)


BAD = {
    "empty, without any usage": silent(),
    "empty, with a usage of zeros": silent(0),
    "one token over and over": silent(text="! " * 32, finish="length"),
    "replacement characters": silent(text="\ufffd" * 40, finish="length"),
    "the same, counted": silent(32, "\ufffd" * 40, finish="length"),
}


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize("reply", BAD.values(), ids=BAD)
def test_garbage_needs_no_count(reply: Reply, stream: bool) -> None:
    assert judge(evidence(reply, spec=replace(SPEC, stream=stream))).outcome is Outcome.GARBLED


def test_no_token_at_all_is_no_clamp_whatever_was_read() -> None:
    assert judge(evidence(silent(0, finish="length"))).outcome is Outcome.TRUNCATED


@pytest.mark.parametrize("limit", [16384, None])
@pytest.mark.parametrize("finish", ["length", "stop", None])
def test_a_few_tokens_may_be_a_clamp_that_nobody_can_check(finish: str | None, limit: int | None) -> None:
    reply = silent(7, "The quick brown fox jumps over the", finish)
    assert judge(evidence(reply, limit=limit, goes_on=True)).outcome is Outcome.INFRA


def test_a_good_answer_without_a_count_is_no_pass() -> None:
    verdict = judge(evidence(answer(None, None)))
    assert (verdict.outcome, "no longer says" in verdict.reason) == (Outcome.INFRA, True)


def test_whoever_says_nothing_in_short_answers_too_shows_nothing_by_it() -> None:
    odd = Baseline(has_text=False, full_output=False)
    assert judge(evidence(silent(), baseline=odd)).outcome is Outcome.INFRA

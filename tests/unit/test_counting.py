"""Is another tokenizer told from what the server adds, and from a prompt that was really shortened?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import ceil, floor

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fuzzer.counting import SHORT_LENGTHS, adds_up, counts_otherwise, looks_odd, of_another_tokenizer
from fuzzer.evidence import Evidence
from fuzzer.model import Outcome, ProbeSpec, Role
from fuzzer.outcome import judge
from targets.base import Mode, Reply, Usage

LENGTHS = st.integers(1, 1_000_000).filter(lambda length: length not in SHORT_LENGTHS)
ADDED = st.integers(0, 2_000)


def counts_of(count: Callable[[int], int], sent: int) -> dict[int, int]:
    return {length: count(length) for length in (*SHORT_LENGTHS, sent)}


def evidence(
    counted: int | None, sent: int, mode: Mode = "ids", *, offset: int | None = None, estimated: bool = False
) -> Evidence:
    reply = Reply(
        sent=True, status=200, complete=True, text="words", finish_reason="length", usage=Usage(counted, 32), events=32
    )
    spec = ProbeSpec(sent, 32, Role.LO, "because", mode=mode)
    return Evidence(spec, reply, sent_tokens=sent, offset=offset, estimated=estimated)


@given(st.floats(0.5, 2.0), st.sampled_from([floor, ceil, round]), ADDED, LENGTHS)
def test_a_tokenizer_of_another_proportion_is_told_at_any_length(
    ratio: float, rounded: Callable[[float], int], added: int, sent: int
) -> None:
    assume(abs(ratio - 1) > 0.008)  # nearer to ours than the short prompts can tell
    assert counts_otherwise(counts_of(lambda length: rounded(length * ratio) + added, sent))


@given(ADDED, LENGTHS)
def test_what_a_server_adds_to_every_prompt_is_no_other_tokenizer(added: int, sent: int) -> None:
    counts = counts_of(lambda length: length + added, sent)
    assert adds_up(counts)
    assert not counts_otherwise(counts)


@given(st.integers(max(SHORT_LENGTHS), 10**6), st.floats(0, 1), ADDED, LENGTHS)
def test_a_prompt_shortened_above_a_limit_is_no_other_tokenizer(
    limit: int, share: float, added: int, sent: int
) -> None:
    """Down to the limit, or to any share of it or of the prompt: short ones were counted right."""
    for kept in (lambda _: limit, lambda _: int(limit * share), lambda length: int(length * share)):
        assert not counts_otherwise(counts_of(lambda n, kept=kept: (n if n <= limit else kept(n)) + added, sent))  # type: ignore[misc]


@given(st.integers(0, max(SHORT_LENGTHS) - 1), ADDED, st.integers(1_000, 10**6))
def test_a_limit_below_the_short_prompts_is_no_other_tokenizer(limit: int, added: int, sent: int) -> None:
    assert not counts_otherwise(counts_of(lambda length: min(length, limit) + added, sent))


@pytest.mark.parametrize("counts", [{}, {1_000: 900}, {120: 108, 500: 450}, {120: 108, 1_000: 900}])
def test_without_both_short_counts_and_a_third_nothing_is_told(counts: dict[int, int]) -> None:
    assert not counts_otherwise(counts)


@pytest.mark.parametrize(
    ("seen", "odd"),
    [
        (evidence(64, 64), False),
        (evidence(65, 64), False),  # a BOS
        (evidence(66, 64), True),
        (evidence(63, 64), True),
        (evidence(None, 64), False),
        (evidence(90, 64, "chat"), False),  # a template
        (evidence(63, 64, "chat"), True),
        (evidence(90, 64, "chat", offset=26), False),
        (evidence(92, 64, "chat", offset=26), True),
        (evidence(89, 64, "chat", offset=26), True),
        (evidence(50, 64, "text", estimated=True), False),  # nobody knows how long it is
    ],
)
def test_only_an_odd_count_is_asked_about(seen: Evidence, odd: bool) -> None:
    assert looks_odd(seen) is odd


def test_an_answer_that_another_tokenizer_counted_is_no_evidence() -> None:
    seen = replace(evidence(900, 1_000), short_counts=((120, 108), (500, 450)))
    verdict = judge(seen)
    assert verdict.outcome is Outcome.INFRA
    assert verdict.reason.startswith("the server counts 900 for 1000 ids that were sent: another tokenizer counts")
    assert "--url" in verdict.next_step
    assert judge(replace(seen, short_counts=((120, 120), (500, 500)))).outcome is Outcome.TRUNCATED
    assert of_another_tokenizer(replace(seen, short_counts=())) is None

"""Is another tokenizer told from what the server adds, and from a prompt that was really shortened?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import ceil, floor

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fuzzer.evidence import Evidence
from fuzzer.model import Outcome, ProbeSpec, Role
from fuzzer.outcome import judge
from fuzzer.outcome.counting import (
    SHORT_LENGTHS,
    Counts,
    adds_up,
    counts_otherwise,
    expected,
    looks_odd,
    of_another_tokenizer,
    tells_nothing,
)
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


def test_the_counts_of_good_prompts_come_to_the_least_that_is_added_and_the_shortest() -> None:
    assert Counts.of(64, 94).also(Counts.of(8_000, 8_004)) == Counts(4, (64, 94))
    assert Counts.of(8_000, 8_035).also(Counts.of(64, 94)) == Counts(30, (64, 94))


@given(st.integers(0, 100), st.integers(0, 40), LENGTHS)
def test_what_a_cache_served_is_counted_of_the_first_prompt_alone(offset: int, head: int, sent: int) -> None:
    """mlx_lm.server leaves out what all prompts share: the head of each, a BOS, a template."""
    short = tuple((length, length + offset - head) for length in SHORT_LENGTHS)
    seen = replace(evidence(sent + offset - head, sent, "text", offset=offset), short_counts=short)
    assert judge(seen).outcome is Outcome.PASS
    cut = evidence(sent + offset - head - 1, sent, "text", offset=offset)
    assert judge(replace(cut, short_counts=short)).outcome is Outcome.TRUNCATED


def test_a_token_that_the_longer_of_two_short_prompts_lost_is_not_taken_for_a_cache() -> None:
    seen = replace(evidence(999, 1_000, offset=0), short_counts=((120, 120), (500, 499)))
    assert judge(seen).outcome is Outcome.TRUNCATED


@given(st.integers(-100, 100), st.integers(0, 40), st.integers(0, 40))
def test_no_more_is_expected_than_the_first_prompts_had(offset: int, more: int, less: int) -> None:
    """And no less either, where what short prompts are counted as does not add up: then something cuts them."""
    seen = evidence(1, 1_000, "text", offset=offset)
    added = tuple((length, length + offset + more) for length in SHORT_LENGTHS)
    cut = tuple((length, length + offset - (less + 2) * at) for at, length in enumerate(SHORT_LENGTHS))
    assert expected(replace(seen, short_counts=added)) == expected(replace(seen, short_counts=cut)) == 1_000 + offset


@given(st.integers(1, 2_000), st.integers(1, 119), LENGTHS)
def test_a_figure_that_is_the_same_for_all_is_no_count(told: int, shortest: int, sent: int) -> None:
    counts = counts_of(lambda _: told, sent)
    assert tells_nothing({**counts, shortest: told})
    assert not tells_nothing({**counts, shortest: told + 1})


@given(st.integers(64, max(SHORT_LENGTHS)), st.sampled_from([0, 1, 30]), st.integers(1_000, 10**6))
def test_a_window_of_more_than_the_shortest_prompt_tells_something(window: int, added: int, sent: int) -> None:
    assume(window > 64 + added)
    assert not counts_otherwise({n: min(n + added, window) for n in (64, *SHORT_LENGTHS, sent)})


@given(st.integers(65, 119) | st.integers(65, 2_000), st.sampled_from([0, 1, 30]), st.integers(1, 50) | st.integers(1))
def test_what_a_window_of_any_size_cuts_is_shortened(window: int, added: int, over: int) -> None:
    assume(window > 64 + added)
    short = tuple((n, min(n + added, window)) for n in SHORT_LENGTHS)
    cut = evidence(window, window - added + over, offset=added)
    assert judge(replace(cut, short_counts=short, shortest=(64, 64 + added))).outcome is Outcome.TRUNCATED


def test_an_answer_that_is_counted_like_any_other_is_no_evidence() -> None:
    alike = tuple((length, 100) for length in SHORT_LENGTHS)
    seen = replace(evidence(100, 1_000, offset=36), short_counts=alike, shortest=(64, 100))
    verdict = judge(seen)
    assert verdict.outcome is Outcome.INFRA
    assert verdict.reason == (
        "the server counts 100 for 64 ids as for 1000: its count says nothing of a prompt's length"
    )
    assert judge(replace(seen, shortest=(64, 64), offset=0)).outcome is Outcome.TRUNCATED  # a window of 100
    assert judge(replace(evidence(100, 64), short_counts=alike)).outcome is Outcome.INFRA


def test_where_the_short_counts_are_withheld_fewer_tokens_are_no_truncation() -> None:
    """They may be longer than what is known to pass, where no death is allowed: then nobody can tell."""
    seen = evidence(48, 64)
    assert judge(seen).outcome is Outcome.TRUNCATED
    assert judge(replace(seen, unrecounted=True)).outcome is Outcome.INFRA
    assert judge(replace(evidence(64, 64), unrecounted=True)).outcome is Outcome.PASS

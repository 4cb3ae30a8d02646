"""Does each observation get its verdict? One test a row and a phrase of the outcome table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzzer.evidence import Canary, Evidence
from fuzzer.model import Baseline, Corroboration, Outcome, ProbeSpec, Role
from fuzzer.outcome import judge
from fuzzer.outcome.vitals import contended
from targets import proxies
from targets.base import Fault, Health, ProxySign, Refusal, Reply, ServerError, Usage
from targets.bodies import server_error
from targets.refusals import refusal
from targets.scrape import START_HEADER, DraftCounts, Scrape

SPEC = ProbeSpec(8000, 32, Role.SEARCH, "because")
VARIED = "The quick brown fox jumps over the lazy dog while rain falls on seven quiet hills"
SINGS = Canary(ok=True, duration_s=0.1, status=200)
CANARY_500 = Canary(ok=False, duration_s=0.1, status=500, error="EngineCore encountered an issue.")
CANARY_REFUSED = Canary(ok=False, duration_s=0.1, fault="refused")
CANARY_HANGS = Canary(ok=False, duration_s=60, fault="timeout", timed_out=True)
GIVEN_UP_ON = Canary(ok=False, duration_s=60, status=504, given_up_on=True)
GREEN = Health(0.0, 200)
RED = Health(0.1, 503)
GONE = Health(0.2, fault=Fault.REFUSED)
ENGINE_500 = ServerError("EngineCore encountered an issue. See stack trace (above) for the root cause.", code=500)


def scrape(start: float = 1000.0, done: float = 5.0, **more: object) -> Scrape:
    plain = Scrape(0.0, {"process": start}, {"requests": done}, running=0, waiting=0, finished=done)
    return replace(plain, **more)  # type: ignore[arg-type]


def answer(prompt: int | None = 8000, output: int | None = 32, text: str = VARIED, **more: object) -> Reply:
    plain = Reply(
        sent=True, status=200, complete=True, text=text, finish_reason="length", events=output or 1,
        usage=Usage(prompt, output), ended_s=1.0,
    )  # fmt: skip
    return replace(plain, **more)  # type: ignore[arg-type]


def evidence(reply: Reply | None = None, /, **more: object) -> Evidence:
    """A pass in which everything is well, changed where the test wants it."""
    plain = Evidence(
        spec=SPEC, reply=reply or answer(), sent_tokens=8000, offset=0, health_during=(GREEN,), health_after=(GREEN,),
        before=scrape(), after=scrape(done=6), settled=scrape(done=7), canary=SINGS, baseline=Baseline(), limit=16384,
        deadline_s=60,
    )  # fmt: skip
    return replace(plain, **more)  # type: ignore[arg-type]


def http(status: int, message: str = "boom", **more: object) -> Reply:
    return replace(Reply(sent=True, status=status, complete=True, error=ServerError(message)), **more)  # type: ignore[arg-type]


RESET = Reply(sent=True, fault=Fault.RESET, fault_text="connection reset by peer", ended_s=2.0)
BLIND: dict[str, object] = {"before": None, "after": None, "settled": None}  # a target without metrics
REBORN: dict[str, object] = {"settled": scrape(start=2000.0, done=1)}


# --- pass ---


def test_a_complete_answer_with_a_canary_after_it_is_a_pass() -> None:
    verdict = judge(evidence())
    assert (verdict.outcome, verdict.deaths, verdict.clamped) == (Outcome.PASS, 0, False)


def test_clamped_is_a_pass_with_a_mark() -> None:
    spec = replace(SPEC, length=16370)
    verdict = judge(evidence(answer(16370, 14), spec=spec, sent_tokens=16370))
    assert (verdict.outcome, verdict.clamped) == (Outcome.PASS, True)


def test_llama_cpp_clamps_one_short_of_its_context() -> None:
    spec = replace(SPEC, length=2000, output_tokens=64)
    verdict = judge(evidence(answer(2000, 47), spec=spec, sent_tokens=2000, limit=2048))
    assert (verdict.outcome, verdict.clamped) == (Outcome.PASS, True)


def test_sglang_clamps_two_short_of_its_context() -> None:
    spec = replace(SPEC, length=8159)
    verdict = judge(evidence(answer(8159, 31), spec=spec, sent_tokens=8159, limit=8192))
    assert (verdict.outcome, verdict.clamped) == (Outcome.PASS, True)


def test_a_clamp_by_a_limit_that_nobody_told_us_is_a_pass_with_a_mark() -> None:
    assert judge(evidence(answer(8000, 20), limit=None)).clamped
    assert judge(evidence(answer(8000, 20, finish_reason="context"), limit=None)).clamped


@pytest.mark.parametrize(
    "finish", ["time_limit", "timelimit", "max_time", "rate_limit", "RateLimit", "user_limit_stop"]
)
def test_a_limit_of_time_or_of_a_rate_is_no_clamp(finish: str) -> None:
    verdict = judge(evidence(answer(8000, 7, finish_reason=finish), limit=None))
    assert (verdict.outcome, verdict.clamped) == (Outcome.TRUNCATED, False)


def test_an_answer_that_we_stopped_on_purpose_is_a_pass() -> None:
    spec = replace(SPEC, output_tokens=5000, stop_after=3)
    verdict = judge(evidence(answer(output=3, complete=False, stopped=True), spec=spec))
    assert verdict.outcome is Outcome.PASS
    assert verdict.reason == "well until we hung up, as we meant to, after its first 3 tokens"


@pytest.mark.parametrize(
    "health", [RED, Health(1.0, 503, detail="no healthy upstream"), Health(1, fault=Fault.TIMEOUT), GONE]
)
def test_health_alone_never_turns_a_pass_into_a_death(health: Health) -> None:
    """SGLang's health turns 503 in a long prefill; a mesh says 503; a blocked loop does not answer at all."""
    verdict = judge(evidence(health_during=(GREEN, health), health_after=(health, health)))
    assert (verdict.outcome, verdict.deaths) == (Outcome.PASS, 0)


def test_a_pass_without_metrics_is_a_pass() -> None:
    assert judge(evidence(**BLIND)).outcome is Outcome.PASS


def test_replicas_with_other_start_times_prove_nothing() -> None:
    assert judge(evidence(replicas=True, **REBORN)).outcome is Outcome.PASS


def test_more_prompt_tokens_than_sent_are_no_truncation() -> None:
    assert judge(evidence(answer(prompt=8007))).outcome is Outcome.PASS


def test_a_usage_that_says_nothing_is_no_truncation() -> None:
    assert judge(evidence(answer(prompt=None, output=None), offset=None)).outcome is Outcome.PASS


def test_a_stream_of_a_server_whose_streams_never_told_is_a_pass_and_a_whole_answer_is_none() -> None:
    silent = evidence(answer(None), streams_tell=False)
    assert judge(silent).outcome is Outcome.PASS
    assert judge(replace(silent, spec=replace(SPEC, stream=False))).outcome is Outcome.INFRA


def test_a_usage_that_falls_silent_may_hide_a_truncation_and_is_no_pass() -> None:
    verdict = judge(evidence(answer(prompt=None, output=None), offset=0))
    assert verdict.outcome is Outcome.INFRA
    assert verdict.next_step


# --- right after a good answer, right after a clean refusal ---

REFUSED = evidence(http(400, "maximum context length is 16384 tokens"), refusal=Refusal("too long", 16384))


@pytest.mark.parametrize("calm", [evidence(), REFUSED], ids=["pass", "refusal"])
@pytest.mark.parametrize(
    ("change", "outcome"),
    [
        ({"canary": CANARY_HANGS}, Outcome.HANG),
        ({"canary": CANARY_500}, Outcome.DEATH),
        ({"canary": CANARY_REFUSED, "health_after": (GONE,), "settled": None}, Outcome.DEATH),
        ({"settled": scrape(start=2000.0, done=0)}, Outcome.DEATH),
        ({"canary": GIVEN_UP_ON}, Outcome.HANG),
    ],
)
def test_engines_die_and_hang_right_after_an_answer(
    calm: Evidence, change: dict[str, object], outcome: Outcome
) -> None:
    verdict = judge(replace(calm, **change))  # type: ignore[arg-type]
    assert verdict.outcome is outcome
    assert verdict.deaths == (outcome is Outcome.DEATH)
    assert verdict.wedged == (outcome is Outcome.HANG)


def test_a_clean_refusal_is_rejected() -> None:
    assert judge(REFUSED).outcome is Outcome.REJECTED


def test_an_error_body_inside_a_200_can_be_a_refusal() -> None:
    reply = answer(error=ServerError("The number of tokens to keep exceeds the context length"))
    assert judge(evidence(reply, refusal=Refusal("context length"))).outcome is Outcome.REJECTED


@pytest.mark.parametrize(
    "reply",
    [
        http(500, "request (9001 tokens) exceeds the available context size (8192 tokens)"),  # LocalAI
        http(417, "the input prompt token len is too long 9001 + 32 > 8192"),  # LightLLM
        http(403, "Input token count must be less than the context length of the model (8192)"),  # Together
        http(200, "Prompt sequence length is greater than 8192", error_in_stream=True),  # mistral.rs
    ],
    ids=lambda reply: str(reply.status),
)
def test_a_refusal_in_a_status_of_its_own_is_one_where_the_canary_sings(reply: Reply) -> None:
    seen = evidence(reply, refusal=refusal(reply), proxy=proxies.sign(reply), **BLIND)
    assert judge(seen).outcome is Outcome.REJECTED
    assert judge(replace(seen, canary=CANARY_500)).outcome is Outcome.DEATH
    assert judge(replace(seen, canary=CANARY_HANGS)).outcome is Outcome.HANG


def test_unknown_words_in_a_400_are_a_refusal_where_the_same_request_passed_shorter() -> None:
    assert judge(evidence(http(400, "zu lang"), limit=None)).outcome is Outcome.REJECTED
    assert judge(evidence(http(400, "zu lang"), limit=8031)).outcome is Outcome.REJECTED


@pytest.mark.parametrize("said", ["Bad Request", "nope", "", "Operation canceled."])
@pytest.mark.parametrize("limit", [None, 8032])
def test_a_400_that_names_no_length_is_an_edge_and_no_limit(said: str, limit: int | None) -> None:
    """It may hide a death: that all is well up to there, and safe, nobody can say."""
    assert judge(evidence(http(400, said), limit=limit)).outcome is Outcome.ERROR
    assert judge(evidence(http(400, said), limit=8031)).outcome is Outcome.REJECTED  # past what is advertised


@pytest.mark.parametrize(
    "said",
    [
        "could not broadcast input array from shape (8000,) into shape (7999,)",
        "The size of tensor a (7999) must match the size of tensor b (8000)",
        "failed to decode the batch, n_tokens = 512, ret = -3",
        "[Errno 5] Input/output error",
        "rpc error: context canceled",
        "maximum recursion depth exceeded",
        "request 8000",
    ],
)
@pytest.mark.parametrize("limit", [None, 131_072])
def test_a_failure_that_names_the_requests_own_length_is_no_refusal(said: str, limit: int | None) -> None:
    assert judge(evidence(http(400, said), limit=limit, **BLIND)).outcome is Outcome.ERROR


def test_a_400_that_speaks_of_no_length_before_a_late_canary_is_a_presumed_death() -> None:
    reply = http(400, "Model reloaded while the prompt was processed")
    assert judge(evidence(reply, limit=None, **BLIND)).outcome is Outcome.REJECTED
    assert judge(evidence(reply, limit=None, **LATE)).outcome is Outcome.DEATH


@pytest.mark.parametrize("said", ["trop de tokens", "8000 > 7999", "8032 > 7999", "输入过长"])
def test_words_of_any_language_that_measure_it_are_a_refusal(said: str) -> None:
    assert judge(evidence(http(400, said), limit=None)).outcome is Outcome.REJECTED


@pytest.mark.parametrize("status", [400, 422])
@pytest.mark.parametrize("said", ["Channel Error", "Model unloaded."])
def test_a_400_of_a_model_that_is_gone_is_a_presumed_death_whatever_is_advertised(status: int, said: str) -> None:
    for limit in (None, 4096, 16384):
        verdict = judge(evidence(http(status, said), limit=limit, **BLIND))
        assert (verdict.outcome, verdict.corroboration) == (Outcome.DEATH, Corroboration.PRESUMED)


def test_words_about_a_rate_are_about_no_length() -> None:
    said = (
        "Request too large for model: tokens per minute (TPM): Limit 9000, Requested 9500, please reduce your message"
    )
    for status in (400, 413):
        verdict = judge(evidence(http(status, said), limit=None))
        assert (verdict.outcome, "tokens per minute" in verdict.next_step) == (Outcome.INFRA, True)


def test_what_comes_in_no_engines_shape_and_names_no_tokens_may_be_about_bytes() -> None:
    plain = Reply(sent=True, status=400, complete=True, excerpt="limit reached")
    assert judge(evidence(plain, limit=None)).outcome is Outcome.INFRA
    assert judge(evidence(plain)).outcome is Outcome.INFRA
    assert judge(evidence(plain, limit=8_001)).outcome is Outcome.REJECTED  # above what is advertised
    assert judge(evidence(replace(plain, excerpt="prompt limit reached"), limit=None)).outcome is Outcome.REJECTED


@pytest.mark.parametrize("status", [400, 500])
def test_a_gateways_words_for_a_lost_engine_are_a_presumed_death_whatever_the_status(status: int) -> None:
    said = "Connection Error, ('Connection aborted.', RemoteDisconnected('Remote end closed connection'))"
    verdict = judge(evidence(http(status, said), limit=None, **BLIND))
    assert (verdict.outcome, verdict.corroboration) == (Outcome.DEATH, Corroboration.PRESUMED)
    assert judge(evidence(http(status, said))).outcome is Outcome.ERROR  # its metrics went on


def test_unknown_words_below_an_advertised_limit_are_an_error_unless_they_are_about_a_length() -> None:
    assert judge(evidence(http(400, "nope"), limit=8032)).outcome is Outcome.ERROR
    assert judge(evidence(http(400, "Input too big"), limit=8032)).outcome is Outcome.REJECTED


@pytest.mark.parametrize("status", [400, 413, 418, 422])
def test_a_4xx_that_names_a_failure_of_the_machine_is_an_error_at_any_length(status: int) -> None:
    reply = http(status, "CUDA out of memory. Tried to allocate 2.00 GiB, max_split_size_mb")
    for limit in (None, 4096, 16384):
        assert judge(evidence(reply, limit=limit)).outcome is Outcome.ERROR
    assert judge(evidence(reply, baseline=None, **BLIND)).outcome is Outcome.ERROR


def test_a_400_that_says_that_the_engine_is_dead_is_believed_where_nothing_else_can_tell() -> None:
    reply = http(400, "The model has crashed without additional information. (Exit code: 6)")
    verdict = judge(evidence(reply, **BLIND))
    assert (verdict.outcome, verdict.corroboration, verdict.deaths) == (Outcome.DEATH, Corroboration.PRESUMED, 1)
    assert judge(evidence(reply)).outcome is Outcome.ERROR, "its identity says that it lives"
    assert judge(evidence(reply, **REBORN)).corroboration is Corroboration.PROVEN


def test_an_odd_4xx_after_a_good_baseline_is_no_evidence_and_no_question_of_the_mode() -> None:
    verdict = judge(evidence(http(418, "I am a teapot")))
    assert verdict.outcome is Outcome.INFRA
    assert verdict.next_step
    assert "--mode" not in verdict.next_step


def test_unknown_words_in_a_400_at_the_very_first_request_are_our_own_fault() -> None:
    assert judge(evidence(http(400, "prompt must be a string"), baseline=None)).outcome is Outcome.INFRA


LIST = [{"type": "too_long", "loc": ["body", "prompt"], "msg": "List should have at most 7999 items", "input": [5]}]
STRING = [{"type": "string_too_long", "loc": ["body", "prompt"], "msg": "String should have at most 40000 characters"}]
OLD_STRING = [{"loc": ["body", "prompt"], "msg": "ensure this value has at most 40000 characters"}]
TOO_LONG_A_STRING = "Invalid 'messages[0].content': string too long. Expected a string with maximum length 1048576"


@pytest.mark.parametrize(
    "said", [{"detail": STRING}, {"detail": OLD_STRING}, {"error": {"message": TOO_LONG_A_STRING}}]
)
@pytest.mark.parametrize("limit", [None, 16384])
def test_a_limit_on_characters_is_none_on_tokens(said: dict[str, object], limit: int | None) -> None:
    reply = Reply(sent=True, status=422, complete=True, error=server_error(said))
    assert refusal(reply) is None
    verdict = judge(evidence(reply, limit=limit))
    assert verdict.outcome is Outcome.INFRA
    assert "characters" in verdict.next_step


def test_a_limit_on_the_items_of_a_list_of_ids_is_one_on_tokens() -> None:
    reply = Reply(sent=True, status=422, complete=True, error=server_error({"detail": LIST}))
    assert judge(evidence(reply, limit=None)).outcome is Outcome.REJECTED


def test_what_a_validation_echoes_of_the_request_is_no_word_of_its_own() -> None:
    echoing = [{**STRING[0], "input": "a token of a context length that was exceeded, and out of memory"}]
    reply = Reply(sent=True, status=422, complete=True, error=server_error({"detail": echoing}))
    assert "characters" in judge(evidence(reply, limit=None)).next_step


def test_where_stream_options_are_refused_the_step_is_not_to_stream() -> None:
    named = [{"type": "extra_forbidden", "loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted"}]
    for said in ({"detail": named}, {"error": {"message": "Unrecognized request argument supplied: stream_options"}}):
        reply = Reply(sent=True, status=422, complete=True, error=server_error(said))
        verdict = judge(evidence(reply, baseline=None, spec=replace(SPEC, mode="text")))
        assert (verdict.outcome, "--no-stream" in verdict.next_step) == (Outcome.INFRA, True)


# --- truncated ---


def test_fewer_prompt_tokens_than_sent_are_truncated() -> None:
    assert judge(evidence(answer(prompt=7999))).outcome is Outcome.TRUNCATED


def test_a_count_below_sent_plus_offset_is_truncated() -> None:
    assert judge(evidence(answer(prompt=8000), sent_tokens=7995, offset=6)).outcome is Outcome.TRUNCATED
    assert judge(evidence(answer(prompt=8001), sent_tokens=7995, offset=6)).outcome is Outcome.PASS


def test_fewer_output_tokens_with_room_left_are_truncated() -> None:
    assert judge(evidence(answer(output=20))).outcome is Outcome.TRUNCATED


def test_three_tokens_short_of_the_limit_is_room_left() -> None:
    spec = replace(SPEC, length=480)
    verdict = judge(evidence(answer(480, 29), spec=spec, sent_tokens=480, limit=512))
    assert verdict.outcome is Outcome.TRUNCATED


@pytest.mark.parametrize(
    ("output", "told", "more", "outcome"),
    [
        (20, 8_020, {}, Outcome.PASS),
        (20, 8_016, {}, Outcome.PASS),  # a limit on prompts, which leaves room for some output
        (20, None, {}, Outcome.TRUNCATED),
        (20, 7_500, {}, Outcome.TRUNCATED),  # it was told another
        (20, 8_020, {"longest_total": 9_000}, Outcome.TRUNCATED),  # more came whole: what was told is no limit
        (20, 8_020, {"clamped_total": 7_900}, Outcome.TRUNCATED),
    ],
)
def test_a_limit_that_a_refusal_told_clamps_below_what_is_advertised(
    output: int, told: int | None, more: dict[str, object], outcome: Outcome
) -> None:
    verdict = judge(evidence(answer(8_000, output), refused_limit=told, **more))
    assert (verdict.outcome, verdict.clamped) == (outcome, outcome is Outcome.PASS)


def test_an_answer_that_the_model_itself_ended_is_not_short() -> None:
    """A server that takes `ignore_eos` and does not honour it: at a limit of its own it would say "length"."""
    assert judge(evidence(answer(output=3, finish_reason="stop"))).outcome is Outcome.PASS
    assert judge(evidence(answer(output=3, finish_reason="length"))).outcome is Outcome.TRUNCATED


@pytest.mark.parametrize(
    ("finish", "outcome"),
    [
        ("eos_token", Outcome.PASS),  # TGI
        ("stop_sequence", Outcome.PASS),
        ("end_turn", Outcome.PASS),
        ("STOP", Outcome.PASS),
        ("COMPLETE", Outcome.PASS),
        ("max_tokens", Outcome.TRUNCATED),
        ("MAX_TOKENS", Outcome.TRUNCATED),
        ("model_context_window_exceeded", Outcome.TRUNCATED),
        ("SAFETY", Outcome.TRUNCATED),
        ("abort", Outcome.TRUNCATED),
        ("time_limit", Outcome.TRUNCATED),
        ("context", Outcome.TRUNCATED),
        ("FINISH_REASON_UNSPECIFIED", Outcome.TRUNCATED),
        (None, Outcome.TRUNCATED),
    ],
)
def test_each_engine_names_its_models_end_in_its_own_way(finish: str | None, outcome: Outcome) -> None:
    assert judge(evidence(answer(output=7, finish_reason=finish))).outcome is outcome
    if outcome is Outcome.PASS:
        assert judge(evidence(answer(output=1, text="", finish_reason=finish))).outcome is Outcome.GARBLED
        unlike = Baseline(full_output=False)
        assert judge(evidence(answer(output=1, text="", finish_reason=finish), baseline=unlike)).outcome is Outcome.PASS


def test_an_early_stop_of_a_kind_that_goes_on_when_told_to_is_short() -> None:
    """A drafted end that is accepted although it was to be ignored (vLLM with MTP): short answers were whole."""
    assert judge(evidence(answer(output=2, finish_reason="stop"), goes_on=True)).outcome is Outcome.TRUNCATED
    never_whole = Baseline(full_output=False)
    assert judge(evidence(answer(output=2, finish_reason="stop"), goes_on=True, baseline=never_whole)).outcome is (
        Outcome.PASS
    )


@pytest.mark.parametrize(
    ("known", "outcome"),
    [
        ({}, Outcome.PASS),  # the first clamp of a limit that nobody told us
        ({"longest_total": 8_001, "clamped_total": 8_001}, Outcome.PASS),
        ({"longest_total": 9_000}, Outcome.TRUNCATED),  # more came whole
        ({"clamped_total": 7_000}, Outcome.TRUNCATED),  # no limit clamps at two totals
        ({"longest_total": 9_000, "baseline": Baseline(full_output=False)}, Outcome.PASS),  # it bounds the number alone
    ],
)
def test_a_limit_that_nobody_told_clamps_at_one_total(known: dict[str, object], outcome: Outcome) -> None:
    verdict = judge(evidence(answer(8_000, 1, finish_reason="length"), limit=None, **known))
    assert (verdict.outcome, verdict.clamped) == (outcome, outcome is Outcome.PASS)


def test_the_first_answer_may_stop_by_itself() -> None:
    assert judge(evidence(answer(output=3, finish_reason="stop"), baseline=None)).outcome is Outcome.PASS
    assert judge(evidence(answer(output=3, finish_reason="length"), baseline=None)).outcome is Outcome.TRUNCATED
    assert judge(evidence(answer(output=3, finish_reason=None), baseline=None)).outcome is Outcome.PASS


def test_an_early_stop_says_nothing_where_short_answers_stopped_early_too() -> None:
    reply = answer(output=20, finish_reason="stop")
    assert judge(evidence(reply, baseline=Baseline(full_output=False))).outcome is Outcome.PASS


def test_an_answer_that_a_filter_ended_shows_nothing() -> None:
    verdict = judge(evidence(answer(output=3, finish_reason="content_filter")))
    assert (verdict.outcome, "--content" in verdict.next_step) == (Outcome.INFRA, True)


# --- garbled ---


@pytest.mark.parametrize(
    "text", ["", "  \n", "\ufffd" * 40, "nan nan nan nan", "!" * 32, "the the the the the the the the the the"]
)
def test_garbage_is_garbled(text: str) -> None:
    assert judge(evidence(answer(text=text))).outcome is Outcome.GARBLED


@pytest.mark.parametrize("output", [0, 1])
def test_an_answer_that_ends_before_it_says_anything_is_garbled(output: int) -> None:
    assert judge(evidence(answer(output=output, text="", finish_reason="stop"))).outcome is Outcome.GARBLED


def test_one_token_that_shows_nothing_is_no_garbage_where_no_more_fits() -> None:
    assert judge(evidence(answer(8_000, 1, text="", finish_reason="length"), limit=8_001)).clamped
    one = replace(SPEC, output_tokens=1)
    assert judge(evidence(answer(output=1, text="", finish_reason="stop"), spec=one)).outcome is Outcome.PASS


def test_garbage_is_no_news_where_short_answers_are_garbage_too() -> None:
    odd = Baseline(has_text=False, repeats=True, has_replacement=True)
    assert judge(evidence(answer(text="!" * 32), baseline=odd)).outcome is Outcome.PASS
    assert judge(evidence(answer(text=""), baseline=odd)).outcome is Outcome.PASS
    assert judge(evidence(answer(text="\ufffd" * 9), baseline=odd)).outcome is Outcome.PASS


# --- degraded ---

USUAL = Baseline(mean_acceptance_length=1.45)


def test_speculation_that_went_off_is_degraded() -> None:
    assert judge(evidence(baseline=USUAL, draft=DraftCounts(31, 62, 0))).outcome is Outcome.DEGRADED
    assert judge(evidence(baseline=USUAL, draft=DraftCounts(0, 0, 0))).outcome is Outcome.DEGRADED


def test_usual_acceptance_is_a_pass() -> None:
    assert judge(evidence(baseline=USUAL, draft=DraftCounts(22, 66, 10))).outcome is Outcome.PASS


def test_counts_that_others_moved_prove_no_degradation() -> None:
    crowd = evidence(baseline=USUAL, draft=DraftCounts(31, 62, 0), after=scrape(done=9))
    assert judge(crowd).outcome is Outcome.PASS


# --- error ---


def test_a_500_that_the_engine_demonstrably_lived_through_is_an_error() -> None:
    verdict = judge(evidence(http(500)))
    assert (verdict.outcome, verdict.deaths) == (Outcome.ERROR, 0)


def test_a_500_with_green_health_and_no_metrics_is_an_error() -> None:
    assert judge(evidence(http(500), **BLIND)).outcome is Outcome.ERROR


def test_424_is_an_error() -> None:
    assert judge(evidence(http(424, "generation failed"))).outcome is Outcome.ERROR


def test_an_error_event_inside_a_200_stream_is_an_error() -> None:
    reply = answer(complete=False, error=ServerError("bad"), error_in_stream=True)
    assert judge(evidence(reply)).outcome is Outcome.ERROR


def test_a_reset_that_the_same_process_survived_is_an_error() -> None:
    assert judge(evidence(RESET)).outcome is Outcome.ERROR


def test_counters_that_did_not_count_the_canary_prove_no_survival() -> None:
    verdict = judge(evidence(RESET, after=scrape(), settled=scrape()))
    assert (verdict.outcome, verdict.corroboration) == (Outcome.DEATH, Corroboration.PRESUMED)
    late = evidence(RESET, after=scrape(), settled=None)
    assert judge(late).outcome is Outcome.ERROR, "the look before the canary cannot tell whether it was counted"


def test_a_start_mark_beside_no_engines_work_proves_no_survival() -> None:
    """A gateway has one too, and outlives its engines."""
    bare = Scrape(0.0, {"process": 1000.0})
    assert judge(evidence(RESET, before=bare, after=bare, settled=bare)).outcome is Outcome.DEATH
    llamacpp = Scrape(0.0, {START_HEADER: 1000.0})
    assert judge(evidence(RESET, before=llamacpp, after=llamacpp, settled=llamacpp)).outcome is Outcome.ERROR


# --- death ---


@pytest.mark.parametrize("reply", [http(500), http(502), http(503), RESET, answer(complete=False, error=ENGINE_500)])
def test_another_process_afterwards_proves_a_death(reply: Reply) -> None:
    verdict = judge(evidence(reply, **REBORN))
    assert (verdict.outcome, verdict.corroboration) == (Outcome.DEATH, Corroboration.PROVEN)
    assert (verdict.deaths, verdict.blames) == (1, "this")


def test_a_restart_quicker_than_any_poll_is_seen_by_the_start_time() -> None:
    verdict = judge(evidence(http(500), health_after=(GREEN,) * 50, **REBORN))
    assert verdict.corroboration is Corroboration.PROVEN


def test_refused_health_after_a_failure_proves_a_death() -> None:
    verdict = judge(evidence(RESET, health_after=(GREEN, RED, GONE), canary=None, settled=None, after=None))
    assert (verdict.outcome, verdict.corroboration) == (Outcome.DEATH, Corroboration.PROVEN)


def test_a_label_of_a_data_parallel_engine_that_vanished_is_a_death() -> None:
    two = scrape(monotone={'n{engine="0"}': 3.0, 'n{engine="1"}': 3.0})
    one = scrape(monotone={'n{engine="0"}': 4.0})
    assert judge(evidence(http(500), before=two, settled=one, after=None)).outcome is Outcome.DEATH


def test_the_process_that_stays_and_says_its_engine_is_dead() -> None:
    verdict = judge(evidence(http(500, ENGINE_500.message), health_after=(RED, RED), canary=CANARY_500))
    assert (verdict.outcome, verdict.corroboration) == (Outcome.DEATH, Corroboration.PROVEN)


def test_a_poisoned_engine_that_answers_nothing_any_more_is_dead_to_us() -> None:
    verdict = judge(evidence(http(500, "cuda decode failed"), canary=replace(CANARY_500, error="prefill reset failed")))
    assert (verdict.outcome, verdict.corroboration) == (Outcome.DEATH, Corroboration.PRESUMED)


@pytest.mark.parametrize("reply", [RESET, replace(RESET, fault=Fault.CUT), answer(complete=False, events=3)])
def test_a_lost_connection_without_proof_of_survival_is_a_presumed_death(reply: Reply) -> None:
    verdict = judge(evidence(reply, **BLIND))
    assert (verdict.outcome, verdict.corroboration) == (Outcome.DEATH, Corroboration.PRESUMED)


def test_a_lost_connection_behind_replicas_is_a_presumed_death() -> None:
    verdict = judge(evidence(RESET, replicas=True))
    assert (verdict.outcome, verdict.corroboration) == (Outcome.DEATH, Corroboration.PRESUMED)


@pytest.mark.parametrize("status", [502, 503, 520])
def test_a_gateways_view_of_a_death_is_a_presumed_death(status: int) -> None:
    page = Reply(sent=True, status=status, complete=True, excerpt="<html>Bad Gateway</html>")
    assert judge(evidence(page, **BLIND)).outcome is Outcome.DEATH


@pytest.mark.parametrize(("kind", "outcome"), [(None, Outcome.DEATH), ("ServerError", Outcome.ERROR)])
def test_a_503_is_a_gateways_view_unless_it_comes_in_an_engines_shape(kind: str | None, outcome: Outcome) -> None:
    reply = replace(http(503), error=ServerError("Service Unavailable", kind))
    assert judge(evidence(reply, **BLIND)).outcome is outcome


def test_a_503_of_who_gave_up_its_own_completion_is_an_error_where_it_lives_as_far_as_can_be_seen() -> None:
    aborted = http(503, "Completion 8c1f2 aborted. Maybe the model was unloaded? Please check the server console.")
    assert judge(evidence(aborted, **BLIND)).outcome is Outcome.ERROR
    assert judge(evidence(aborted, canary=CANARY_REFUSED, **BLIND)).outcome is Outcome.DEATH
    lost = http(503, "Completion 8c1f2 aborted: connection reset by peer")
    assert judge(evidence(lost, **BLIND)).outcome is Outcome.DEATH


def test_litellms_connection_error_is_a_presumed_death() -> None:
    sign = ProxySign("upstream-lost", "litellm", "look at the engine behind it")
    assert judge(evidence(http(500, "Connection error."), proxy=sign, **BLIND)).outcome is Outcome.DEATH


LATE: dict[str, object] = {
    "canary": replace(SINGS, duration_s=4.0), "slowest_canary_s": 0.05, "predicted_s": 0.2, **BLIND,
}  # fmt: skip


@pytest.mark.parametrize(
    "reply", [http(500), http(400, "nope"), http(424), answer(complete=False, error=ServerError("bad"))]
)
def test_a_canary_that_is_late_as_after_a_start_is_a_presumed_death_after_a_failure(reply: Reply) -> None:
    verdict = judge(evidence(reply, **LATE))
    assert (verdict.outcome, verdict.corroboration, verdict.deaths) == (Outcome.DEATH, Corroboration.PRESUMED, 1)


def test_a_canary_that_is_late_after_anything_else_is_late() -> None:
    for well in (answer(), answer(prompt=4000), http(400, "too many tokens")):
        assert judge(evidence(well, **LATE)).outcome is not Outcome.DEATH


@pytest.mark.parametrize(
    "change",
    [
        {"slowest_canary_s": None},  # nothing tells what is late
        {"slowest_canary_s": 0.5},  # one after a good answer took as long, within reason
        {"predicted_s": None},
        {"predicted_s": 2.5},  # it may have waited for the probe itself
        {"canary": replace(SINGS, duration_s=0.9)},  # any machine may stop for a moment
        {"companions": 1},
        {"drained": (replace(SINGS, ok=False, busy=True),)},
        {"others_seen": True},
        {"away_s": 9.0},
        {"replicas": True},
        {"before": scrape(), "after": scrape(done=6), "settled": scrape(done=7)},  # the same process went on
    ],
)
def test_a_canary_that_may_have_waited_for_something_else_proves_no_start(change: dict[str, object]) -> None:
    assert judge(evidence(http(500), **{**LATE, **change})).outcome is Outcome.ERROR


def test_an_error_with_health_that_went_down_in_the_grace_is_a_presumed_death() -> None:
    assert judge(evidence(http(500), health_after=(GREEN, RED, GREEN), **BLIND)).outcome is Outcome.DEATH


def test_an_engine_that_says_it_is_dead_is_believed_where_nothing_else_can_tell() -> None:
    assert judge(evidence(http(500, ENGINE_500.message), **BLIND)).outcome is Outcome.DEATH
    assert judge(evidence(http(500, ENGINE_500.message))).outcome is Outcome.ERROR


# --- hang ---


def test_no_progress_until_the_deadline_is_a_hang_though_health_is_green() -> None:
    verdict = judge(evidence(Reply(sent=True, ended_s=60), hung=True))
    assert (verdict.outcome, verdict.wedged) == (Outcome.HANG, False)


def test_a_hang_that_takes_the_canary_with_it_is_a_wedge() -> None:
    assert judge(evidence(Reply(sent=True, ended_s=60), hung=True, canary=CANARY_HANGS)).wedged


def test_a_supervisor_that_kills_a_hung_engine_makes_it_a_death() -> None:
    assert judge(evidence(Reply(sent=True, ended_s=60), hung=True, **REBORN)).outcome is Outcome.DEATH


# --- no evidence ---


def test_overload_is_busy_only_while_the_engine_is_well() -> None:
    reply = http(429)
    assert judge(evidence(reply, overload_s=7.0)).retry_after_s == 7.0
    assert judge(evidence(reply, overload_s=7.0)).outcome is Outcome.BUSY
    assert judge(evidence(reply, overload_s=7.0, canary=replace(CANARY_500, busy=True))).outcome is Outcome.BUSY
    assert judge(evidence(http(503), overload_s=0.0, **REBORN)).outcome is Outcome.DEATH


def test_a_bare_retry_after_is_no_word_of_an_engine_of_which_nothing_is_known() -> None:
    """A platform says the same while it starts the next one: sent again, the probe would kill that too."""
    assert judge(evidence(http(503, "Service Unavailable"), overload_s=1.0, **BLIND)).outcome is Outcome.DEATH
    assert judge(evidence(http(503, "The queue is full"), overload_s=1.0, **BLIND)).outcome is Outcome.BUSY
    assert judge(evidence(http(503, "Service Unavailable"), overload_s=1.0)).outcome is Outcome.BUSY


@pytest.mark.parametrize("status", [400, 403, 404])
def test_a_canary_that_is_turned_away_after_a_lost_probe_finds_nobody(status: int) -> None:
    shut = Canary(ok=False, duration_s=0.1, status=status, error="Forbidden")
    for lost in (http(502), RESET, answer(complete=False)):
        verdict = judge(evidence(lost, canary=shut, served_before=True, **BLIND))
        assert (verdict.outcome, verdict.corroboration) == (Outcome.DEATH, Corroboration.PRESUMED)
        assert judge(evidence(lost, canary=shut, **BLIND)).outcome is Outcome.INFRA, "it never was let in"
    assert judge(evidence(http(502), canary=shut, served_before=True)).outcome is Outcome.INFRA, "it goes on"


@pytest.mark.parametrize("status", [400, 403, 404])
def test_a_canary_that_is_turned_away_after_the_words_of_a_death_finds_nobody(status: int) -> None:
    """However they came: in a stream, or as a 400."""
    shut = Canary(ok=False, duration_s=0.1, status=status, error="Only these are allowed now:")
    dead = ServerError("The model has crashed without additional information. (Exit code: 6)")
    streamed = answer(complete=False, error=dead, error_in_stream=True)
    for said in (streamed, http(400, dead.message), http(500, dead.message)):
        verdict = judge(evidence(said, canary=shut, served_before=True, **BLIND))
        assert (verdict.outcome, verdict.corroboration) == (Outcome.DEATH, Corroboration.PRESUMED)
        assert dead.message in verdict.reason
        assert judge(evidence(said, canary=shut, **BLIND)).outcome is Outcome.INFRA, "it never was let in"


def test_after_an_engines_own_error_only_words_say_that_nobody_is_there() -> None:
    """A firewall that has had enough of us says 403 too."""
    nobody = Canary(ok=False, duration_s=0.1, status=400, error="Model m not found or vLLM engine is sleeping.")
    for canary, outcome in ((nobody, Outcome.DEATH), (replace(nobody, error="Quota exceeded"), Outcome.INFRA)):
        assert judge(evidence(http(500), canary=canary, served_before=True, **BLIND)).outcome is outcome


@pytest.mark.parametrize("fault", [Fault.CUT, Fault.RESET])
def test_a_line_that_is_lost_within_moments_is_no_clocks_doing(fault: Fault) -> None:
    for at_s, outcome in ((0.5, Outcome.ERROR), (1.5, Outcome.INFRA)):
        late = replace(RESET, fault=fault, ended_s=at_s)
        assert judge(evidence(late, recent_cuts_s=(at_s, at_s))).outcome is outcome


def test_cuts_that_became_alike_as_the_search_closed_in_are_the_engines_own() -> None:
    late = replace(RESET, fault=Fault.CUT, ended_s=40.0)
    assert judge(evidence(late, recent_cuts_s=(40.0, 41.0))).outcome is Outcome.INFRA
    assert judge(evidence(late, recent_cuts_s=(40.0, 40.5, 41.0, 55.0))).outcome is Outcome.ERROR


def test_an_error_event_in_the_engines_own_words_is_no_lost_line() -> None:
    shut = Canary(ok=False, duration_s=0.1, status=403, error="Forbidden")
    said = answer(complete=False, error=ServerError("boom"), error_in_stream=True)
    assert judge(evidence(said, canary=shut, served_before=True, **BLIND)).outcome is Outcome.INFRA


def test_where_metrics_count_no_work_an_engines_own_word_of_overload_is_believed() -> None:
    bare = Scrape(0.0, {"process": 1000.0})
    told = evidence(http(503, "The server is overloaded"), overload_s=1.0, before=bare, after=bare, settled=bare)
    assert judge(told).outcome is Outcome.BUSY


def test_a_death_after_a_whole_answer_must_repeat_where_others_were_seen() -> None:
    assert judge(evidence(others_seen=True, **REBORN)).contended
    assert not judge(evidence(**REBORN)).contended
    assert not judge(evidence(RESET, others_seen=True, **REBORN)).contended
    assert not judge(evidence(others_seen=True)).contended


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (413, "body-limit"),
        (504, "deadline"),
        (408, "deadline"),
        (524, "deadline"),
        (401, "auth"),
        (302, "redirect"),
        (404, "not-found"),
    ],
)
def test_the_door_is_infra_and_names_its_setting(status: int, kind: str) -> None:
    sign = ProxySign(kind, "nginx", "raise client_max_body_size")  # type: ignore[arg-type]
    reply = Reply(sent=True, status=status, complete=True, ended_s=60.0)
    verdict = judge(evidence(reply, proxy=sign, baseline=None))
    assert (verdict.outcome, verdict.next_step) == (Outcome.INFRA, "raise client_max_body_size")


@pytest.mark.parametrize(("status", "kind"), [(401, "auth"), (403, "auth"), (407, "auth"), (404, "not-found")])
def test_a_door_that_is_shut_to_longer_prompts_alone_measures_them(status: int, kind: str) -> None:
    sign = ProxySign(kind, "awselb", "give a valid key")  # type: ignore[arg-type]
    shut = evidence(Reply(sent=True, status=status, complete=True, excerpt="<h1>403 Forbidden</h1>"), proxy=sign)
    verdict = judge(shut)
    assert (verdict.outcome, verdict.unusable) == (Outcome.INFRA, False)
    assert "limit on request bodies" in verdict.next_step
    assert "403 Forbidden" in verdict.reason
    ran_out = judge(replace(shut, canary=Canary(ok=False, duration_s=0.1, status=status, error="expired")))
    assert (ran_out.outcome, ran_out.unusable) == (Outcome.INFRA, True)
    first = judge(replace(shut, baseline=None))
    assert (first.unusable, first.next_step) == (True, "give a valid key")


@pytest.mark.parametrize(
    ("message", "outcome", "at_first"),
    [
        ("[metal::malloc] Attempting to allocate 27000000000 bytes, greater than", Outcome.ERROR, Outcome.ERROR),
        ("[broadcast_shapes] Shapes (1,32,300000,128) and (1,32,262144,128)", Outcome.ERROR, Outcome.ERROR),
        ("[quantized_matmul] The last axis is not divisible by 64", Outcome.ERROR, Outcome.INFRA),
        ("Not Found", Outcome.INFRA, Outcome.INFRA),
        ("The model `tiny` does not exist.", Outcome.INFRA, Outcome.INFRA),
        ("no Route matched with those values", Outcome.INFRA, Outcome.INFRA),
    ],
)
def test_a_404_that_names_nothing_missing_is_the_engines_own_failure(
    message: str, outcome: Outcome, at_first: Outcome
) -> None:
    """mlx_lm.server says 404 of every exception."""
    reply = replace(http(404), error=server_error({"error": message}))
    seen = evidence(reply, proxy=proxies.sign(reply), **BLIND)
    assert judge(seen).outcome is outcome
    assert judge(replace(seen, baseline=None)).outcome is at_first, "at first it may be the model's name"
    if outcome is Outcome.ERROR:
        gone = replace(seen, canary=CANARY_REFUSED, health_after=(GONE,))
        assert judge(gone).outcome is Outcome.DEATH


def test_a_canary_that_gets_a_failure_behind_a_404_is_not_turned_away() -> None:
    reply = http(404, "[METAL] Command buffer execution failed: Insufficient Memory")
    sick = Canary(ok=False, duration_s=0.1, status=404, error="[METAL] Insufficient Memory")
    verdict = judge(evidence(reply, proxy=proxies.sign(reply), canary=sick, **BLIND))
    assert (verdict.outcome, verdict.corroboration) == (Outcome.DEATH, Corroboration.PRESUMED)


def test_a_404_in_words_of_a_failure_is_one_from_the_first_prompt_on() -> None:
    reply = http(404, "Command buffer execution failed: Insufficient Memory")
    assert judge(evidence(reply, proxy=proxies.sign(reply), baseline=None)).outcome is Outcome.ERROR


def test_a_filter_is_infra_and_says_what_it_said() -> None:
    sign = ProxySign("blocked", "a proxy", "try another --content")
    verdict = judge(evidence(http(400, "violates our content policy"), proxy=sign))
    assert (verdict.outcome, verdict.next_step) == (Outcome.INFRA, "try another --content")
    assert "violates our content policy" in verdict.reason
    assert "--mode text" in judge(evidence(http(400), proxy=sign, baseline=None)).next_step
    gone = judge(evidence(Reply(sent=True, status=419, complete=True), proxy=sign, canary=CANARY_500))
    assert gone.outcome is Outcome.DEATH


def test_a_proxys_deadline_names_the_seconds() -> None:
    sign = ProxySign("deadline", "nginx", "raise proxy_read_timeout")
    verdict = judge(evidence(Reply(sent=True, status=504, complete=True, ended_s=60.0), proxy=sign))
    assert "60.0 s" in verdict.reason


def test_a_proxys_deadline_over_an_engine_that_hangs_is_a_hang() -> None:
    sign = ProxySign("deadline", "nginx", "raise proxy_read_timeout")
    reply = Reply(sent=True, status=504, complete=True, ended_s=60.0)
    assert judge(evidence(reply, proxy=sign, canary=GIVEN_UP_ON)).outcome is Outcome.HANG


@pytest.mark.parametrize("status", [200, 202, 424, 504])
@pytest.mark.parametrize("reply", [answer(), Reply(sent=True, status=504, complete=True, ended_s=60.0)])
def test_whoever_gives_up_on_the_canary_says_nothing_of_a_death(reply: Reply, status: int) -> None:
    """A queue of jobs says 200 or 202 of what it is not done with, and SageMaker 424: as they say of the probe."""
    seen = evidence(reply, proxy=proxies.sign(reply), canary=replace(GIVEN_UP_ON, status=status), **BLIND)
    verdict = judge(seen)
    assert (verdict.outcome, verdict.deaths, verdict.unusable) == (Outcome.HANG, 0, False)


def test_a_proxy_that_failed_itself_is_no_edge_unless_the_engine_is_gone_too() -> None:
    sign = ProxySign("broken", "nginx", "see its error log")
    reply = Reply(sent=True, status=500, complete=True, excerpt="<html>")
    assert judge(evidence(reply, proxy=sign)).outcome is Outcome.INFRA
    assert judge(evidence(reply, proxy=sign, canary=CANARY_500)).outcome is Outcome.DEATH
    assert judge(evidence(reply, proxy=sign, **REBORN)).outcome is Outcome.DEATH


def test_streams_cut_at_a_near_constant_time_are_a_proxys_deadline() -> None:
    cut = Reply(sent=True, status=200, fault=Fault.CUT, ended_s=60.2)
    assert judge(evidence(cut, recent_cuts_s=(60.0, 60.1))).outcome is Outcome.INFRA
    assert judge(evidence(cut, recent_cuts_s=(12.0, 60.1))).outcome is Outcome.ERROR
    assert judge(evidence(cut, recent_cuts_s=(60.0, 60.1), **REBORN)).outcome is Outcome.DEATH


PLAIN_500 = Reply(sent=True, status=500, complete=True, excerpt="Internal Server Error", ended_s=4.01)
TICKS: dict[str, object] = {"recent_cuts_s": (4.01, 4.02), "cut_lengths": (7000, 8400)}


@pytest.mark.parametrize(
    "said", ["No instances available for model tiny", "no healthy workers", "no available backends"]
)
def test_a_router_with_nobody_to_send_it_to_was_killed_by_nothing_that_it_did_not_send(said: str) -> None:
    """A pool of its own for long prompts: the canary goes to another one, and sings."""
    reply = replace(http(503), error=ServerError(said, type="service_unavailable", code=503))
    seen = evidence(reply, served_before=True, **BLIND)
    assert judge(seen).outcome is Outcome.ERROR
    assert judge(replace(seen, canary=CANARY_REFUSED, health_after=(GONE,))).outcome is Outcome.DEATH


@pytest.mark.parametrize("seen", [{}, BLIND])
@pytest.mark.parametrize("reply", [PLAIN_500, http(500, "Internal Server Error", ended_s=4.01)])
def test_what_fails_at_the_same_tick_at_any_length_is_a_proxys_deadline(reply: Reply, seen: dict[str, object]) -> None:
    verdict = judge(evidence(reply, **TICKS, **seen))
    assert (verdict.outcome, "gives up at 4 s" in verdict.next_step) == (Outcome.INFRA, True)


@pytest.mark.parametrize(
    "change",
    [
        {"recent_cuts_s": (4.01,)},  # twice is chance
        {"recent_cuts_s": (4.01, 4.2)},
        {"recent_cuts_s": (3.6, 4.01)},
        {"cut_lengths": (7990, 8010)},  # what is alike takes as long
        {"reply": replace(PLAIN_500, ended_s=4.5), "recent_cuts_s": (4.5, 4.5)},  # clocks strike at whole seconds
        {"reply": replace(PLAIN_500, ended_s=0.5), "recent_cuts_s": (0.5, 0.5)},
        {"reply": http(500, "index 262144 is out of bounds", ended_s=4.01)},  # it says of what it failed
        {"slowest_pass_s": 4.3},  # nobody gave up on that one
    ],
)
def test_what_fails_at_one_place_in_the_prompt_fails_after_one_time_too(change: dict[str, object]) -> None:
    asked = {"reply": PLAIN_500, **TICKS, **BLIND, **change}
    assert judge(evidence(asked.pop("reply"), **asked)).outcome is Outcome.ERROR  # type: ignore[arg-type]


def test_what_may_be_a_death_is_no_clocks_doing() -> None:
    for change in (REBORN, {"canary": CANARY_500, **BLIND}, {"health_after": (GREEN, RED, GREEN), **BLIND}):
        assert judge(evidence(PLAIN_500, **TICKS, **change)).outcome is Outcome.DEATH


@pytest.mark.parametrize("fault", [Fault.NO_ROUTE, Fault.TLS, Fault.PROXY])
def test_a_way_that_is_closed_is_infra(fault: Fault) -> None:
    verdict = judge(evidence(Reply(sent=False, fault=fault, fault_text="nope")))
    assert verdict.outcome is Outcome.INFRA
    assert verdict.next_step


def test_refused_before_a_byte_left_is_no_evidence_and_nobodys_death() -> None:
    refused = Reply(sent=False, fault=Fault.REFUSED)
    verdict = judge(evidence(refused, health_after=(GONE,), canary=None, before=None, after=None, settled=None))
    assert (verdict.outcome, verdict.deaths, verdict.blames) == (Outcome.ABANDONED, 1, "nobody")
    assert judge(evidence(refused)).deaths == 0


@pytest.mark.parametrize("fault", [Fault.REFUSED, Fault.NO_ROUTE])
def test_whoever_is_gone_right_after_a_canary_sang_has_died_of_nobodys_probe(fault: Fault) -> None:
    """Engines die seconds after a good answer; a pod that is away takes its name with it."""
    gone = Reply(sent=False, fault=fault, fault_text="no such host")
    silent = {"health_during": (GONE,), "health_after": (GONE,), "canary": None, "served_before": True, **BLIND}
    verdict = judge(evidence(gone, **silent))
    assert (verdict.outcome, verdict.deaths, verdict.blames) == (Outcome.ABANDONED, 1, "nobody")
    assert verdict.corroboration is Corroboration.PRESUMED
    assert judge(evidence(gone, served_before=True)).deaths == 0 or fault is Fault.NO_ROUTE


def test_a_503_that_nothing_vouches_for_is_not_busy() -> None:
    """A maintenance page with Retry-After, a mesh, a load balancer: it may be a death, and is not sent again."""
    page = Reply(sent=True, status=503, complete=True, excerpt="down for maintenance")
    assert judge(evidence(page, overload_s=5.0, **BLIND)).outcome is Outcome.DEATH
    queue_full = {"overload_s": 5.0, "health_after": (GREEN, RED, GREEN), **BLIND}
    assert judge(evidence(http(503, "queue full"), **queue_full)).outcome is Outcome.DEATH
    assert judge(evidence(http(503, "queue full"), overload_s=5.0, **BLIND)).outcome is Outcome.BUSY
    assert judge(evidence(http(503, "queue full"), overload_s=5.0)).outcome is Outcome.BUSY


@pytest.mark.parametrize("status", [401, 403, 404])
@pytest.mark.parametrize("reply", [answer(), http(500)], ids=["pass", "failure"])
def test_a_canary_that_is_turned_away_tells_nothing_of_the_engine(reply: Reply, status: int) -> None:
    shut = Canary(ok=False, duration_s=0.1, status=status, error="expired")
    for served in (False, status != 404):
        verdict = judge(evidence(reply, canary=shut, served_before=served, **BLIND))
        assert (verdict.outcome, verdict.unusable, verdict.deaths) == (Outcome.INFRA, True, 0)
    assert judge(evidence(reply, canary=shut, served_before=True)).outcome is Outcome.INFRA, "the same process goes on"


def test_a_canary_that_gets_a_400_from_a_crashed_engine_is_not_turned_away() -> None:
    crashed = Canary(ok=False, duration_s=0.1, status=400, error="The model has crashed")
    assert judge(evidence(http(400, "The model has crashed"), canary=crashed, **BLIND)).outcome is Outcome.DEATH


def test_health_that_never_said_yes_proves_no_death() -> None:
    lost = Health(0.0, 404)
    verdict = judge(evidence(http(500), health_during=(lost,), health_after=(lost,), canary=CANARY_500))
    assert (verdict.outcome, verdict.corroboration) == (Outcome.DEATH, Corroboration.PRESUMED)


def test_a_proxys_deadline_over_an_engine_that_is_gone_is_a_death() -> None:
    sign = ProxySign("deadline", "nginx", "raise proxy_read_timeout")
    reply = Reply(sent=True, status=504, complete=True, ended_s=60.0)
    assert judge(evidence(reply, proxy=sign, canary=CANARY_REFUSED, **BLIND)).outcome is Outcome.DEATH


def test_an_older_process_is_another_one_and_not_a_restart() -> None:
    assert judge(evidence(settled=scrape(start=500.0, done=9))).outcome is Outcome.PASS


def test_a_cold_prompt_that_came_out_of_a_cache_shows_nothing() -> None:
    cached = answer(usage=Usage(8000, 32, cached_tokens=7900))
    verdict = judge(evidence(cached))
    assert (verdict.outcome, "begins anew" in verdict.next_step) == (Outcome.ABANDONED, True)
    assert judge(evidence(cached, spec=replace(SPEC, cache="warm"))).outcome is Outcome.PASS
    assert judge(evidence(cached, resent=True)).outcome is Outcome.PASS
    assert judge(evidence(answer(usage=Usage(8000, 32, cached_tokens=16)))).outcome is Outcome.PASS


def read(hits: float, queries: float | None, prompts: float, done: float = 5.0) -> Scrape:
    return scrape(done=done, prefix_hits=hits, prefix_queries=queries, prompt_tokens=prompts)


@pytest.mark.parametrize(
    ("before", "after", "change", "outcome"),
    [
        (read(0, 900, 900), read(7900, 8900, 8900), {}, Outcome.ABANDONED),
        (read(0, 900, 900), read(7900, 8909, 8909), {}, Outcome.ABANDONED),  # to a block
        (read(0, 900, 900), read(6000, 7900, 7900), {}, Outcome.PASS),  # a shorter prompt: somebody else's alone
        (read(0, None, 900), read(6000, None, 2900), {}, Outcome.PASS),  # nothing tells how long that prompt was
        (read(0, 900, 900), read(16, 8900, 8900), {}, Outcome.PASS),
        (read(0, 900, 900), read(7900, 16900, 16900), {}, Outcome.PASS),  # somebody else's prompt was looked up too
        (read(0, None, 900), read(7900, None, 8900), {}, Outcome.PASS),
        (read(0, 900, 900), read(7900, 8900, 8900, done=9), {}, Outcome.PASS),  # contended
        (read(0, 900, 900), read(7900, 8900, 8900), {"companions": 1}, Outcome.PASS),
        (read(0, 900, 900), read(7900, 8900, 8900), {"others_seen": True}, Outcome.PASS),
        (read(0, 900, 900), read(7900, 8900, 8900), {"replicas": True}, Outcome.PASS),
        (read(9000, 900, 900), read(0, 8900, 8900), {"replicas": True}, Outcome.PASS),
    ],
)
def test_counters_tell_of_a_cache_where_the_usage_does_not_and_nobody_else_was_read(
    before: Scrape, after: Scrape, change: dict[str, object], outcome: Outcome
) -> None:
    verdict = judge(evidence(before=before, after=after, **change))
    assert verdict.outcome is outcome


def test_interrupted_is_abandoned() -> None:
    assert judge(evidence(Reply(sent=True), cancelled=True)).outcome is Outcome.ABANDONED


# --- contended ---


def test_a_failure_beside_others_is_contended_too() -> None:
    assert judge(evidence(http(500), after=scrape(done=7))).contended
    assert not judge(evidence(http(500))).contended


def test_counters_that_moved_by_more_than_ours_are_contended() -> None:
    assert not contended(evidence())
    assert contended(evidence(after=scrape(done=7)))
    assert contended(evidence(peak_running=2))
    assert not contended(evidence(after=scrape(done=7), companions=1, companion_requests=1))
    assert contended(evidence(after=scrape(done=8), companions=1, companion_requests=1))
    assert not contended(evidence(peak_running=2, companions=1))


def test_requests_that_run_on_before_and_after_ours_are_others() -> None:
    there = scrape(done=6, running=1.0)
    assert contended(evidence(before=scrape(running=1.0), after=there))
    assert contended(evidence(after=there, settled=there)), "it came while we were there, and stayed"
    assert not contended(evidence(after=there)), "a gauge may lag behind the end of ours"
    given_up = Reply(sent=True, fault=Fault.TIMEOUT)
    assert not contended(evidence(given_up, after=there, settled=there)), "it may be ours that runs on"
    assert not contended(evidence(http(500), before=scrape(running=1.0), after=there)), "a dead engine's gauge stays"
    assert not contended(evidence(before=scrape(running=1.0), after=there, companions=1, companion_requests=1))


# --- every evidence has a verdict ---

REPLIES = st.builds(
    Reply,
    sent=st.just(value=True),
    status=st.one_of(
        st.none(), st.sampled_from([200, 204, 302, 400, 401, 404, 413, 422, 424, 429, 500, 502, 503, 504])
    ),
    fault=st.one_of(st.none(), st.sampled_from(list(Fault))),
    complete=st.booleans(),
    error=st.one_of(st.none(), st.builds(ServerError, st.text(max_size=20))),
    text=st.text(max_size=40),
    usage=st.builds(Usage, st.one_of(st.none(), st.integers(0, 10**6)), st.one_of(st.none(), st.integers(0, 100))),
    ended_s=st.floats(0, 100),
)
CANARIES = st.sampled_from([None, SINGS, CANARY_500, CANARY_REFUSED, CANARY_HANGS])
SCRAPES = st.sampled_from([None, scrape(), scrape(start=2000.0, done=1)])


@given(REPLIES, CANARIES, SCRAPES, SCRAPES, st.sampled_from([(), (GREEN,), (RED,), (GONE,)]), st.booleans())
def test_judge_is_total_and_a_pass_is_never_called_without_a_singing_canary(
    reply: Reply,
    canary: Canary | None,
    before: Scrape | None,
    settled: Scrape | None,
    health: tuple[Health, ...],
    hung: bool,
) -> None:
    e = evidence(reply, canary=canary, before=before, after=None, settled=settled, health_after=health, hung=hung)
    verdict = judge(e)
    assert verdict.deaths == (verdict.outcome is Outcome.DEATH)
    if verdict.outcome in {Outcome.REJECTED, Outcome.DEGRADED, Outcome.ERROR} or (
        verdict.outcome is Outcome.PASS and canary is not None
    ):
        is_wedged = verdict.outcome is Outcome.ERROR and verdict.wedged and canary is CANARY_HANGS
        assert canary is None or canary.ok or is_wedged


# --- our own absence, our own network, and a supervisor's hand ---


UNREACHED = Health(0.1, fault=Fault.NO_ROUTE)
NO_ROUTE = Canary(ok=False, duration_s=0.1, fault="no_route")


@pytest.mark.parametrize(
    ("change", "outcome"),
    [
        ({}, Outcome.ABANDONED),  # the network is back already
        ({"canary": NO_ROUTE, **BLIND}, Outcome.ABANDONED),
        ({"canary": Canary(ok=False, duration_s=0.1, fault="network"), **BLIND}, Outcome.ABANDONED),
        ({"canary": None, **BLIND}, Outcome.ABANDONED),
        (REBORN, Outcome.DEATH),  # the host was restarted
        ({"canary": CANARY_500, **BLIND}, Outcome.DEATH),
        ({"canary": CANARY_REFUSED, "health_after": (GONE,), **BLIND}, Outcome.DEATH),
        ({"health_after": (GONE, GREEN), **BLIND}, Outcome.DEATH),
        ({"health_after": (UNREACHED, RED, GREEN), **BLIND}, Outcome.DEATH),  # a server that loads its model
        ({"health_after": (UNREACHED, GREEN), **BLIND}, Outcome.ABANDONED),
    ],
)
def test_a_network_that_went_away_under_a_read_is_no_death_by_itself(
    change: dict[str, object], outcome: Outcome
) -> None:
    lost = Reply(sent=True, fault=Fault.NETWORK, fault_text="[Errno 100] Network is down", ended_s=9.0)
    verdict = judge(evidence(lost, **change))
    assert (verdict.outcome, verdict.deaths) == (outcome, int(outcome is Outcome.DEATH))
    assert "Network is down" in verdict.reason
    served = judge(evidence(lost, served_before=True, **change))
    lives = change == {}
    assert (served.outcome, served.deaths) == (outcome, int(not lives)), "its host may have died: nobody is blamed"
    assert served.blames == (None if lives else "nobody" if outcome is Outcome.ABANDONED else "this")


def test_a_line_that_went_dead_while_we_were_away_is_no_evidence() -> None:
    lost = evidence(RESET, **BLIND)
    assert judge(lost).outcome is Outcome.DEATH
    assert judge(replace(lost, away_s=3600.0)).outcome is Outcome.ABANDONED
    assert judge(evidence(RESET, away_s=3600.0, **REBORN)).outcome is Outcome.DEATH, "another process is proof"
    assert judge(evidence(away_s=3600.0)).outcome is Outcome.PASS


def test_health_that_was_silent_before_the_death_points_at_a_liveness_probe() -> None:
    silent = tuple(Health(float(at), fault=Fault.TIMEOUT) for at in range(2, 30, 6))
    verdict = judge(evidence(RESET, health_during=(GREEN, *silent), **BLIND))
    assert verdict.outcome is Outcome.DEATH
    assert "health had not said yes for 24 s before: a liveness probe" in verdict.reason
    assert "liveness" in verdict.next_step
    for told_nothing in ((GREEN, *silent[:2]), silent, (GREEN, *silent, GREEN)):
        assert "liveness" not in judge(evidence(RESET, health_during=told_nothing, **BLIND)).reason


@pytest.mark.parametrize(("now", "outcome"), [("ours", "pass"), ("", "pass"), ("small-fallback", "infra")])
def test_an_answer_of_another_model_says_nothing_of_ours(now: str, outcome: str) -> None:
    verdict = judge(evidence(replace(answer(), model=now), baseline=Baseline(model="ours")))
    assert verdict.outcome == outcome
    if outcome == "infra":
        assert "small-fallback answered in the place of ours" in verdict.reason
        assert "fallbacks" in verdict.next_step


@pytest.mark.parametrize(
    ("headers", "words"),
    [
        ({"x-litellm-attempted-fallbacks": "1"}, "fell back"),
        ({"x-litellm-attempted-retries": "2"}, "asked again"),
        ({"x-litellm-model-id": "other"}, "deployment other answered in the place of first"),
    ],
)
def test_a_gateway_that_asked_more_than_once_hides_what_became_of_ours(headers: dict[str, str], words: str) -> None:
    verdict = judge(evidence(replace(answer(), headers=headers), baseline=Baseline(deployment="first")))
    assert verdict.outcome is Outcome.INFRA
    assert words in verdict.reason
    seen_dead = judge(evidence(replace(answer(), headers=headers), baseline=Baseline(deployment="first"), **REBORN))
    assert seen_dead.outcome is Outcome.DEATH


def test_a_failure_says_how_often_a_gateway_asked() -> None:
    lost = replace(http(503, "upstream connect error"), headers={"x-envoy-attempt-count": "4"})
    verdict = judge(evidence(lost, canary=CANARY_500, **BLIND))
    assert verdict.outcome is Outcome.DEATH
    assert "asked again (x-envoy-attempt-count: 4)" in verdict.reason
    once = replace(lost, headers={"x-envoy-attempt-count": "1"})
    assert "attempt" not in judge(evidence(once, canary=CANARY_500, **BLIND)).reason


def test_a_redirect_of_one_prompt_alone_is_a_deadline() -> None:
    sign = ProxySign("redirect", "a proxy", "Give other as --url")
    sent_on = Reply(sent=True, status=303, complete=True, ended_s=150.2)
    verdict = judge(evidence(sent_on, proxy=sign))
    assert (verdict.outcome, verdict.unusable) == (Outcome.INFRA, False)
    assert "after 150.2 s" in verdict.reason
    assert "deadline" in verdict.next_step
    assert judge(evidence(sent_on, proxy=sign, baseline=None)).unusable


def test_the_same_deployment_that_asked_once_is_no_other() -> None:
    headers = {"x-litellm-model-id": "first", "x-litellm-attempted-retries": "0"}
    assert judge(evidence(replace(answer(), headers=headers), baseline=Baseline(deployment="first"))).outcome is (
        Outcome.PASS
    )


def test_who_never_said_its_name_has_no_substitute() -> None:
    assert judge(evidence(replace(answer(), model="anything"))).outcome is Outcome.PASS


@pytest.mark.parametrize("name", ["hosted_vllm/Ours", "ours", "OURS"])
def test_another_spelling_is_no_other_model(name: str) -> None:
    assert judge(evidence(replace(answer(), model=name), baseline=Baseline(model="ours"))).outcome is Outcome.PASS


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_way_that_is_shut_is_no_death_whatever_it_says(status: int) -> None:
    canary = Canary(
        ok=False, duration_s=0.1, status=status, error="Authentication Error, Exception occurred: terminated"
    )
    verdict = judge(evidence(canary=canary, before=None, after=None, settled=None))
    assert (verdict.outcome, verdict.deaths) == (Outcome.INFRA, 0)


@pytest.mark.parametrize("status", [400, 500])
def test_words_about_a_body_may_hide_a_death(status: int) -> None:
    """Nothing tells of a process, and the canary after it finds a dead engine."""
    canary = Canary(ok=False, duration_s=0.1, status=500, error="EngineCore encountered an issue")
    reply = http(status, "content length exceeded")
    verdict = judge(evidence(reply, proxy=proxies.sign(reply), canary=canary, before=None, after=None, settled=None))
    assert (verdict.outcome, verdict.deaths) == (Outcome.DEATH, 1)


# --- several engines, from the middle of the run on ---

TURNS: dict[str, object] = {"replicas": True, "several": "process start went back from 1030.00 to 1000.00"}


def test_what_is_wrong_with_an_answer_of_one_of_several_engines_is_told() -> None:
    assert judge(evidence(answer(text="x " * 32), **TURNS)).outcome is Outcome.GARBLED
    assert judge(evidence(answer(prompt=4000), **TURNS)).outcome is Outcome.TRUNCATED


@pytest.mark.parametrize("reply", [answer(), http(400, "too long")])
def test_an_answer_of_one_of_several_engines_stops_the_run(reply: Reply) -> None:
    refusal = Refusal("too long") if reply.status == 400 else None
    verdict = judge(evidence(reply, refusal=refusal, **TURNS))
    assert (verdict.outcome, verdict.several, verdict.deaths) == (Outcome.INFRA, True, 0)
    assert "--allow-replicas" in verdict.next_step


@pytest.mark.parametrize(("reply", "outcome"), [(RESET, Outcome.DEATH), (http(500), Outcome.ERROR)])
def test_what_fails_behind_several_engines_fails_all_the_same(reply: Reply, outcome: Outcome) -> None:
    assert judge(evidence(reply, **TURNS)).outcome is outcome
    assert judge(evidence(canary=CANARY_REFUSED, **TURNS)).outcome is Outcome.DEATH


# --- a 503 that may hide a death ---


def test_the_word_of_a_gateway_is_taken_once() -> None:
    """Where the same comes of what was asked again, it may be a life that was lost each time."""
    turned_away = evidence(http(503, "overloaded", error=ServerError("overloaded", code=503)), overload_s=0.0, **BLIND)
    first, again = judge(turned_away), judge(replace(turned_away, took_its_word=True))
    assert (first.outcome, first.its_word) == (Outcome.BUSY, True)
    assert (again.outcome, again.corroboration) == (Outcome.DEATH, Corroboration.PRESUMED)


@pytest.mark.parametrize(
    ("reply", "more"),
    [
        (http(503, "overloaded"), {}),  # the same process was there, and went on
        (http(503, "overloaded", headers={"retry-after": "2"}), BLIND),
        (http(429, "overloaded"), BLIND),
    ],
)
def test_what_is_more_than_a_word_is_believed_again_and_again(reply: Reply, more: dict[str, object]) -> None:
    verdict = judge(evidence(reply, overload_s=0.0, took_its_word=True, **more))
    assert (verdict.outcome, verdict.its_word) == (Outcome.BUSY, False)


# --- a canary that does not come to the engine ---

COOLDOWN = Canary(ok=False, duration_s=0.1, status=429, error="No deployments available", busy=True, let_down=True)
RATE = Canary(ok=False, duration_s=0.1, status=429, error="Rate limit reached", busy=True, wait_s=7.0)
FELL_BACK = Canary(ok=False, duration_s=0.1, status=200, instead="it fell back (x: 1)", let_down=True)
ASKED_AGAIN = Canary(ok=False, duration_s=0.1, status=200, instead="it asked again (x: 1)")
LOST_ROUTE = Canary(ok=False, duration_s=0.1, status=404, error="404 page not found")
LOST_MODEL = Canary(ok=False, duration_s=0.1, status=400, error="The model `m` does not exist")
CLEAN_400: dict[str, object] = {"reply": http(400, "too long"), "refusal": Refusal("too long")}
SERVED: dict[str, object] = {"served_before": True, **BLIND}
GOOD_OR_REFUSED = pytest.mark.parametrize("seen", [{"reply": answer()}, CLEAN_400], ids=["good", "refused"])


def after(canary: Canary, *drained: Canary, **more: Any) -> Evidence:
    """The evidence of `reply`, and of a canary that was asked again after each of the `drained` ones."""
    return evidence(more.pop("reply"), canary=canary, drained=drained, **more)


@GOOD_OR_REFUSED
@pytest.mark.parametrize("canary", [COOLDOWN, FELL_BACK, LOST_ROUTE, LOST_MODEL])
def test_who_is_before_an_engine_that_served_says_that_it_failed_him(seen: dict[str, Any], canary: Canary) -> None:
    verdict = judge(after(canary, **seen, **SERVED))
    assert (verdict.outcome, verdict.corroboration, verdict.deaths) == (Outcome.DEATH, Corroboration.PRESUMED, 1)
    never = judge(after(canary, **seen, **BLIND))
    assert (never.outcome, never.deaths) == (Outcome.INFRA, 0), "it was not seen to serve"
    lives = judge(after(canary, **seen, served_before=True))
    assert (lives.outcome, lives.deaths) == (Outcome.INFRA, 0), "the process is there, and nobody sees whether it works"


@GOOD_OR_REFUSED
@pytest.mark.parametrize("first", [COOLDOWN, FELL_BACK])
def test_who_sings_after_a_cooldown_twice_may_be_the_next_life(seen: dict[str, Any], first: Canary) -> None:
    """Once it may be a rate, or another engine's cooldown. The same twice comes of the length, and each was a life."""
    late = after(SINGS, first, **seen, **SERVED)
    assert (judge(late).outcome, judge(late).its_word) == (Outcome.BUSY, True)
    again = judge(replace(late, took_its_word=True, uncharged=True))
    assert (again.outcome, again.corroboration, again.deaths) == (Outcome.DEATH, Corroboration.PRESUMED, 2)
    assert judge(replace(late, took_its_word=True)).deaths == 1, "it was another length that was let go"
    assert judge(replace(late, health_after=(RED, GREEN))).corroboration is Corroboration.PRESUMED
    assert judge(replace(late, served_before=False)).outcome in {Outcome.PASS, Outcome.REJECTED}
    assert judge(after(SINGS, first, **seen, served_before=True)).outcome in {Outcome.PASS, Outcome.REJECTED}


def test_where_probe_and_canary_are_answered_by_a_fallback_the_engine_is_gone() -> None:
    fell_back = answer(headers={"x-litellm-attempted-fallbacks": "1"})
    assert judge(after(FELL_BACK, reply=fell_back, **SERVED)).corroboration is Corroboration.PRESUMED
    assert judge(after(SINGS, reply=fell_back, **SERVED)).outcome is Outcome.INFRA, "a window may be too small for it"


@GOOD_OR_REFUSED
def test_a_canary_that_a_gateway_sent_more_than_once_shows_nothing(seen: dict[str, Any]) -> None:
    late = after(SINGS, ASKED_AGAIN, **seen, **SERVED)
    assert (judge(late).outcome, judge(late).its_word) == (Outcome.BUSY, True), "it may do so once of anything"
    for unclear in (after(ASKED_AGAIN, **seen, **SERVED), replace(late, took_its_word=True, uncharged=True)):
        verdict = judge(unclear)
        assert (verdict.outcome, verdict.deaths, verdict.unusable) == (Outcome.INFRA, 0, False)
        assert "retries" in verdict.next_step
    assert judge(after(SINGS, ASKED_AGAIN, **seen)).outcome in {Outcome.PASS, Outcome.REJECTED}


@pytest.mark.parametrize("reply", [answer(), http(400, "too long"), http(500), http(429)])
def test_nothing_rests_on_a_canary_that_stays_busy(reply: Reply) -> None:
    overload_s = 0.0 if reply.status == 429 else None
    verdict = judge(after(RATE, reply=reply, overload_s=overload_s, **SERVED))
    assert (verdict.outcome, verdict.deaths, verdict.unusable) == (Outcome.INFRA, 0, False)
    assert "the canary got HTTP 429: Rate limit reached" in verdict.reason
    assert "a rate" in verdict.next_step
    lives = judge(after(RATE, reply=reply, overload_s=overload_s))
    assert lives.outcome not in {Outcome.INFRA, Outcome.DEATH}, "the same process went on"
    assert judge(after(SINGS, RATE, reply=reply, overload_s=overload_s, **SERVED)).outcome is lives.outcome


def test_what_a_canary_has_waited_for_is_not_waited_for_again() -> None:
    busy = after(SINGS, RATE, reply=http(429), overload_s=7.0, **SERVED)
    assert [judge(replace(busy, drained=drained)).retry_after_s for drained in ((), (RATE,))] == [7.0, 0.0]


def test_a_canary_that_is_told_to_come_back_much_later_is_busy() -> None:
    verdict = judge(after(replace(RATE, wait_s=3600.0), reply=answer(), **SERVED))
    assert (verdict.outcome, verdict.retry_after_s) == (Outcome.BUSY, 3600.0)


@pytest.mark.parametrize("canary", [RATE, COOLDOWN])
def test_where_the_run_had_no_time_to_ask_on_the_engine_is_busy(canary: Canary) -> None:
    cut = after(canary, reply=answer(), ran_out=True, **SERVED)
    verdict = judge(cut)
    assert (verdict.outcome, verdict.its_word) == (Outcome.BUSY, canary.let_down)
    again = judge(replace(cut, took_its_word=True, uncharged=True))
    assert (again.outcome, again.deaths) == ((Outcome.DEATH, 2) if canary.let_down else (Outcome.BUSY, 0))


def test_a_busy_canary_after_health_went_down_is_no_proof_of_life() -> None:
    went_down = after(RATE, reply=answer(), health_after=(GREEN, RED), **SERVED)
    assert judge(went_down).corroboration is Corroboration.PRESUMED


@pytest.mark.parametrize("canary", [COOLDOWN, FELL_BACK, LOST_ROUTE])
def test_an_engine_that_hung_and_is_not_heard_again_is_wedged(canary: Canary) -> None:
    hung = judge(after(canary, reply=Reply(sent=True, ended_s=60.0), hung=True, **SERVED))
    assert (hung.outcome, hung.wedged) == (Outcome.HANG, True)
    assert judge(after(SINGS, canary, reply=Reply(sent=True), hung=True, **SERVED)).wedged is False


@pytest.mark.parametrize(
    ("canary", "more", "wedged"),
    [
        (RATE, SERVED, False),
        (RATE, {"health_after": (GREEN, RED), **SERVED}, True),
        (RATE, {"drained": (COOLDOWN,), **SERVED}, True),
        (RATE, {}, False),  # the same process was there, and went on
        (COOLDOWN, {}, False),
    ],
)
def test_a_limit_that_stands_before_an_engine_that_hung_wedges_nothing(
    canary: Canary, more: dict[str, Any], wedged: bool
) -> None:
    hung = judge(evidence(Reply(sent=True, ended_s=60.0), hung=True, canary=canary, **more))
    assert (hung.outcome, hung.wedged) == (Outcome.HANG, wedged)


@pytest.mark.parametrize(
    ("canary", "outcome"), [(COOLDOWN, Outcome.HANG), (RATE, Outcome.INFRA), (LOST_ROUTE, Outcome.DEATH)]
)
def test_a_deadlines_answer_blames_no_timeout_where_nobody_is_heard_again(canary: Canary, outcome: Outcome) -> None:
    sign = ProxySign("deadline", "litellm", "raise request_timeout")
    late = Reply(sent=True, status=408, complete=True, ended_s=60.0)
    verdict = judge(after(canary, reply=late, proxy=sign, **SERVED))
    assert (verdict.outcome, "request_timeout" in verdict.next_step) == (outcome, False)


@pytest.mark.parametrize("canary", [SINGS, COOLDOWN])
def test_a_cooldown_that_the_probe_finds_may_be_its_own_doing(canary: Canary) -> None:
    """A gateway that asks again runs into the cooldown that the first death was the reason of."""
    said = "No deployments available for selected model, Try again in 5 seconds. cooldown_list=['ab12']"
    cold = evidence(http(429, said), overload_s=0.0, canary=canary, **SERVED)
    again = judge(replace(cold, took_its_word=True))
    assert again.corroboration is Corroboration.PRESUMED
    assert judge(replace(cold, took_its_word=True, uncharged=True)).deaths > again.deaths == 1
    others = replace(cold, canary=SINGS, baseline=Baseline(deployment="cd34"), took_its_word=True)
    assert judge(others).outcome is Outcome.BUSY, "it lets another one alone"
    assert judge(replace(cold, before=scrape(), settled=scrape(done=7))).outcome is Outcome.BUSY
    once = judge(replace(cold, canary=SINGS))
    assert (once.outcome, once.its_word) == (Outcome.BUSY, True), "it may be a rate, or another one's"
    rate = http(429, said.replace("'ab12'", ""))
    assert judge(evidence(rate, overload_s=0.0, **SERVED)).outcome is Outcome.BUSY, "it has let nobody alone"
    assert judge(evidence(http(429, said), overload_s=0.0, **BLIND)).outcome is Outcome.BUSY, "it never served"


def test_an_engines_error_with_a_cooldown_after_it_is_an_error_where_it_sings_again() -> None:
    assert judge(after(SINGS, COOLDOWN, reply=http(500), **SERVED)).outcome is Outcome.ERROR
    assert judge(after(COOLDOWN, reply=http(500), **SERVED)).outcome is Outcome.DEATH


# --- a body that is not taken ---


def test_a_body_that_was_not_taken_whole_is_a_limit_on_bytes() -> None:
    held_up = evidence(Reply(sent=True, untaken=298_794, ended_s=60.0), hung=True)
    verdict = judge(held_up)
    assert verdict.outcome is Outcome.INFRA
    assert "298794 bytes of its body were not taken in 60 s" in verdict.reason
    assert "bytes, not on tokens" in verdict.next_step
    assert judge(replace(held_up, reply=replace(held_up.reply, untaken=0))).outcome is Outcome.HANG
    assert judge(replace(held_up, canary=CANARY_HANGS)).outcome is Outcome.HANG
    assert judge(replace(held_up, health_after=(RED, GREEN), **BLIND)).outcome is Outcome.HANG  # type: ignore[arg-type]
    assert judge(replace(held_up, **REBORN)).outcome is Outcome.DEATH  # type: ignore[arg-type]

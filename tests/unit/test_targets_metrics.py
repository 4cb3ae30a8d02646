"""Are metrics read right in each dialect, and is hostile text survived?"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzzer.before.preflight import read as company
from targets.metrics import scrape
from targets.scrape import DraftCounts, Scrape, counted, restarted, went_on

VLLM = """\
# HELP python_gc_objects_collected_total Objects collected during gc
# TYPE python_gc_objects_collected_total counter
python_gc_objects_collected_total{generation="0"} 14745.0
process_start_time_seconds 1.79596971452e+09
# TYPE process_cpu_seconds_total counter
process_cpu_seconds_total 25.31
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="tiny"} 1.0
vllm:num_requests_running{engine="1",model_name="tiny"} 2.0
vllm:num_requests_waiting{engine="0",model_name="tiny"} 4.0
# TYPE vllm:spec_decode_num_drafts_total counter
vllm:spec_decode_num_drafts_total{engine="0",model_name="tiny"} 10.0
vllm:spec_decode_num_drafts_created{engine="0",model_name="tiny"} 1.7959697937203026e+09
vllm:spec_decode_num_draft_tokens_total{engine="0",model_name="tiny"} 30.0
vllm:spec_decode_num_accepted_tokens_total{engine="0",model_name="tiny"} 9.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",model_name="tiny",position="1"} 3.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",model_name="tiny",position="0"} 5.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",model_name="tiny",position="2"} 1.0
vllm:prefix_cache_queries_total{engine="0",model_name="tiny"} 700.0
vllm:prefix_cache_hits_total{engine="0",model_name="tiny"} 128.0
vllm:prompt_tokens_total{engine="0",model_name="a \\"b\\" {c}"} 1234.0
vllm:request_success_total{engine="0",finished_reason="stop",model_name="tiny"} 2.0
vllm:request_success_total{engine="0",finished_reason="length",model_name="tiny"} 3.0
# TYPE vllm:iteration_tokens_total histogram
vllm:iteration_tokens_total_bucket{engine="0",le="1.0",model_name="tiny"} 40.0
vllm:iteration_tokens_total_count{engine="0",model_name="tiny"} 45.0
vllm:iteration_tokens_total_sum{engine="0",model_name="tiny"} 900.0
vllm:cache_config_info{block_size="128",engine="0",kv_cache_size_tokens="2796160",num_gpu_blocks="21845"} 1.0
"""

LLAMACPP = """\
# TYPE llamacpp:prompt_tokens_total counter
llamacpp:prompt_tokens_total 43
# TYPE llamacpp:n_decode_total counter
llamacpp:n_decode_total 17
# TYPE llamacpp:n_tokens_max counter
llamacpp:n_tokens_max 39
llamacpp:spec_decode_num_draft_tokens_total 31
llamacpp:spec_decode_num_accepted_tokens_total 31
llamacpp:spec_decode_num_drafts_total 11
# TYPE llamacpp:requests_processing gauge
llamacpp:requests_processing 1
llamacpp:requests_deferred 2
llamacpp:spec_decode_num_accepted_tokens_per_pos_total{position="0"} 11
"""


def test_vllm_is_read_whole() -> None:
    seen = scrape(VLLM, {}, 7.5)
    assert seen is not None
    assert seen.at_s == 7.5
    assert seen.starts == {"process_start_time_seconds": 1.79596971452e9}
    assert (seen.running, seen.waiting, seen.finished, seen.heartbeat) == (3, 4, 5, 45)
    assert seen.draft == DraftCounts(10, 30, 9, (5, 3, 1))
    assert (seen.prefix_hits, seen.prefix_queries, seen.prompt_tokens) == (128, 700, 1234)
    assert (seen.kv_tokens, seen.block_size) == (2796160, 128)


def test_only_counters_that_a_restart_alone_lowers_are_monotone() -> None:
    seen = scrape(VLLM, {}, 0)
    assert seen is not None
    names = {name.partition("{")[0] for name in seen.monotone}
    assert "vllm:prompt_tokens_total" in names
    assert "process_cpu_seconds_total" in names
    assert not any(name.endswith(("_created", "_sum", "_bucket")) for name in names)
    assert not names & {"vllm:num_requests_running", "python_gc_objects_collected_total", "vllm:cache_config_info"}


def test_counters_without_total_in_their_name_are_read_too() -> None:
    bare = "\n".join(line for line in VLLM.replace("_total", "").split("\n") if "iteration" not in line)
    seen = scrape(bare, {}, 0)
    assert seen is not None
    assert seen.draft == DraftCounts(10, 30, 9, (5, 3, 1))
    assert any(name.startswith("vllm:spec_decode_num_drafts{") for name in seen.monotone)


def test_label_sets_stay_apart_so_that_one_dead_engine_of_several_shows() -> None:
    two = 'vllm:prompt_tokens_total{engine="0"} 5\nvllm:prompt_tokens_total{engine="1"} 9\n'
    before, after = scrape(two, {}, 0), scrape(two.replace("} 9", "} 0"), {}, 1)
    assert before is not None
    assert after is not None
    assert restarted(before, after) == 'vllm:prompt_tokens_total{engine="1"} fell from 9 to 0'


def test_the_pool_is_worked_out_where_the_engine_does_not_say_it() -> None:
    seen = scrape('vllm:cache_config_info{block_size="16",num_gpu_blocks="100"} 1.0\n', {}, 0)
    assert seen is not None
    assert (seen.kv_tokens, seen.block_size) == (1600, 16)


def test_llamacpp_marks_its_start_in_a_header() -> None:
    seen = scrape(LLAMACPP, {"process-start-time-unix": "468379021"}, 0)
    assert seen is not None
    assert seen.starts == {"process-start-time-unix": 468379021}
    assert (seen.running, seen.waiting, seen.heartbeat, seen.prompt_tokens) == (1, 2, 28, 43)
    assert seen.draft == DraftCounts(11, 31, 31, (11,))
    assert {"llamacpp:prompt_tokens_total", "llamacpp:n_decode_total"} <= set(seen.monotone)


def test_sglang_and_lmdeploy_are_known() -> None:
    sglang = scrape('sglang:num_running_reqs{a="b"} 2.0\nsglang:num_requests_total{a="b"} 8\n', {}, 0)
    assert sglang is not None
    assert (sglang.running, sglang.finished) == (2, 8)
    lmdeploy = scrape('lmdeploy:num_requests_waiting{a="b"} 2.0\n', {}, 0)
    assert lmdeploy is not None
    assert lmdeploy.waiting == 2


def test_text_that_holds_nothing_known_is_none() -> None:
    assert scrape("", {}, 0) is None
    assert scrape("<html>vllm: no</html>", {}, 0) is None
    assert scrape("go_goroutines 7\n", {}, 0) is None


def test_numbers_that_are_none_are_left_out() -> None:
    text = (
        "vllm:prompt_tokens_total NaN\nvllm:num_requests_running 1e400\nvllm:generation_tokens_total -Inf\nvllm:x 1\n"
    )
    seen = scrape(text, {"process-start-time-unix": "nan"}, 0)
    assert seen is not None
    assert (seen.prompt_tokens, seen.running, dict(seen.monotone), dict(seen.starts)) == (None, None, {}, {})


FRAGMENTS = st.sampled_from(
    ["vllm:", "num_requests_running", "_total", "{", "}", 'engine="0"', "\\", '"', " ", "\n", "1e400", "NaN", "7", "-1",
     "# TYPE ", " counter", "process_start_time_seconds", "llamacpp:", "position=", "\x00", "٣", 'block_size="٣"']
)  # fmt: skip


@given(st.one_of(st.text(max_size=300), st.lists(FRAGMENTS, max_size=40).map("".join)), st.text(max_size=20))
def test_hostile_text_never_raises(text: str, header: str) -> None:
    scrape(text, {"process-start-time-unix": header}, 0)


def test_what_is_declared_a_gauge_may_fall_whatever_it_is_called() -> None:
    """A router shows so what it read from its engines last."""
    name = "vllm:gpu_prefix_cache_hits_total"
    declared = scrape(f"# TYPE {name} gauge\n{name} 5\n", {}, 0.0)
    plain = scrape(f"{name} 5\n", {}, 0.0)
    assert declared is not None
    assert plain is not None
    assert (dict(declared.monotone), dict(plain.monotone)) == ({}, {name: 5.0})


def test_an_average_that_is_declared_a_counter_may_fall() -> None:
    """llama.cpp declares so how many slots were busy per decode: it falls wherever one request follows several."""
    name = "llamacpp:n_busy_slots_per_decode"
    looks = [scrape(f"# TYPE {name} counter\n{name} {value}\n{LLAMACPP}", {}, 0.0) for value in (1.52, 1.48)]
    before, after = looks
    assert before is not None
    assert after is not None
    assert name not in before.monotone
    assert restarted(before, after) is None


@pytest.mark.parametrize(
    ("name", "declared", "monotone"),
    [
        ("vllm:prompt_tokens_total", "counter", True),
        ("vllm:prompt_tokens", "counter", True),  # listed
        ("tgi_request_count", "counter", True),
        ("vllm:acceptance_rate", "counter", False),
        ("sglang:cache_hit_ratio", "counter", False),
        ("llamacpp:n_tokens_max", "counter", False),
        ("tgi_request_count", "gauge", False),
    ],
)
def test_a_counter_is_one_by_its_declaration_and_by_its_name(name: str, declared: str, monotone: bool) -> None:
    seen = scrape(f"# TYPE {name} {declared}\n{name} 5\n", {}, 0.0)
    assert seen is not None
    assert (name in seen.monotone) == monotone


def own(start: int, more: str) -> Scrape | None:
    """What somebody tells who has a start of his own."""
    return scrape(f"process_start_time_seconds {start}\n{more}\n", {}, 0.0)


def test_only_who_counts_an_engines_work_goes_on_for_it() -> None:
    gateway, engine = own(7, "vllm:routed_total 3"), own(7, "vllm:request_success_total 3")
    assert gateway is not None
    assert engine is not None
    assert (went_on(gateway, gateway), went_on(engine, engine)) == (False, True)
    assert (counted(gateway, gateway), counted(engine, engine)) == (None, False)
    assert counted(engine, replace(engine, finished=4.0)) is True


@pytest.mark.parametrize(
    ("counts", "told"),
    [
        ("process_cpu_seconds_total", (False, 1)),  # a gateway whose worker is recycled, or one of its two
        ("vllm:routed_total", (False, 1)),  # a router
        ("vllm:request_success_total", (True, 2)),
    ],
)
def test_only_who_counts_an_engines_work_is_restarted_or_several_for_it(counts: str, told: tuple[bool, int]) -> None:
    first, second = own(1000, f"{counts} 9"), own(1030, f"{counts} 1")
    seen = [look for look in (first, second) if look is not None]
    is_restarted = any(restarted(early, late) is not None for early, late in pairwise(seen))
    assert (is_restarted, company(seen).replicas) == told


FLOPS = 'vllm:estimated_flops_per_gpu_total{engine="0"}'


def page(flops: str, done: int = 3) -> Scrape:
    seen = scrape(f"# TYPE {FLOPS.partition('{')[0]} counter\n{flops}\nvllm:request_success_total {done}\n", {}, 0.0)
    assert seen is not None
    return seen


def test_a_counter_that_grows_beyond_all_sums_has_not_vanished() -> None:
    """Operations of a model are counted too: 54e9 for each token."""
    looks = [page(f"{FLOPS} {value}") for value in ("3.4e+14", "1.7e+15", "1.7e+300")]
    assert [restarted(early, late) for early, late in pairwise(looks)] == [None, None]
    assert went_on(looks[0], looks[2])
    assert restarted(looks[2], looks[1]) == f"{FLOPS} fell from 1.7e+300 to 1.7e+15"


@pytest.mark.parametrize("value", ["NaN", "+Inf", "1e400", "many"])
def test_a_counter_that_stands_there_without_a_number_has_not_vanished(value: str) -> None:
    early, late = page(f"{FLOPS} 5"), page(f"{FLOPS} {value}")
    assert (restarted(early, late), restarted(late, early)) == (None, None)
    assert restarted(early, page("")) == f"{FLOPS} vanished"


def test_what_has_no_number_is_no_proof_of_life() -> None:
    early, late = (page(f"{FLOPS} {flops}", done) for flops, done in (("5", 0), ("NaN", 0)))
    assert (went_on(early, early), went_on(early, late)) == (True, False)


def test_no_sum_is_told_of_numbers_too_large_or_unread() -> None:
    for more in ("1e15", "NaN"):
        text = f'vllm:prompt_tokens_total{{engine="0"}} 7\nvllm:prompt_tokens_total{{engine="1"}} {more}\n'
        seen = scrape(f"{text}process_start_time_seconds {more}\n", {"process-start-time-unix": more}, 0.0)
        assert seen is not None
        assert (seen.prompt_tokens, dict(seen.starts)) == (None, {})


def test_a_total_with_an_empty_priority_is_not_added_to_its_parts() -> None:
    """SGLang schedules by priority so: one request is told twice."""
    rows = (
        'dp_rank="0",priority=""',
        'dp_rank="0",priority="0"',
        'dp_rank="1",priority=""',
        'dp_rank="1",priority="7"',
    )
    page = "".join(f'sglang:num_running_reqs{{{labels},tp_rank="0"}} 1.0\n' for labels in rows)
    total, parts = scrape(page, {}, 0.0), scrape(page.replace('priority=""', 'priority="3"'), {}, 0.0)
    assert total is not None
    assert parts is not None
    assert (total.running, parts.running) == (2, 4)
    assert scrape('sglang:num_running_reqs{a_priority="",b="0"} 1\nsglang:num_running_reqs{b="1"} 2\n', {}, 0.0) == (
        scrape('sglang:num_running_reqs{b="2"} 3\n', {}, 0.0)
    )


def test_a_counter_with_an_empty_priority_is_no_total() -> None:
    """SGLang counts there what came without one: the work of strangers who have one is beside it."""
    page = "".join(
        f'sglang:{name}{{priority="{priority}"}} {count}\n'
        for name in ("num_requests_total", "prompt_tokens_total")
        for priority, count in (("", 5), ("7", 100))
    )
    seen = scrape(page, {}, 0.0)
    assert seen is not None
    assert (seen.finished, seen.prompt_tokens) == (105, 105)


def test_who_tells_a_kv_pool_is_an_engine_before_it_has_worked() -> None:
    """vLLM's counters stand there with the first request only: one that dies of it is told by its start."""
    page = 'vllm:cache_config_info{block_size="16",num_gpu_blocks="100"} 1.0\nprocess_start_time_seconds '
    before, after = scrape(f"{page}1000\n", {}, 0.0), scrape(f"{page}1100\n", {}, 9.0)
    assert before is not None
    assert after is not None
    assert restarted(before, after) == "process start went from 1000.00 to 1100.00"
    assert went_on(before, scrape(f"{page}1000\n", {}, 9.0) or after)


def test_of_several_pools_the_smallest_counts() -> None:
    """Each rank of a data-parallel SGLang has one, and a request lives in one of them."""
    page = "".join(f'sglang:max_total_num_tokens{{dp_rank="{rank}"}} {40_000 + rank}\n' for rank in range(3))
    several, none = scrape(page, {}, 0.0), scrape("sglang:max_total_num_tokens 0\n", {}, 0.0)
    assert several is not None
    assert none is not None
    assert (several.kv_tokens, none.kv_tokens) == (40_000, None)

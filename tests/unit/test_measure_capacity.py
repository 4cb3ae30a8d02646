"""Is the incident's table what comes out of the incident's figures, and is it said what they do not show?"""

from __future__ import annotations

import pytest

from fuzzer.measure.capacity import Capacity, Pool, capacity, pool_of
from fuzzer.report.capacity import capacity_object, capacity_text
from fuzzer.store import codec
from targets.base import Survey
from targets.metrics import scrape
from targets.scrape import Scrape

WITHOUT = Pool("http://plain:8000", 1_000_000, 1_808_112, "metrics")
WITH = Pool("http://drafting:8000", 1_000_000, 1_354_786, "metrics")


def surveyed(engine: str = "vllm", limit: int | None = 4096, slots: int | None = None) -> Survey:
    return Survey(engine, limit=limit, slots=slots)


def exposed(**labels: object) -> Scrape:
    told = ",".join(f'{name}="{value}"' for name, value in labels.items())
    seen = scrape(f"vllm:cache_config_info{{{told}}} 1.0\n", {}, 0.0)
    assert seen is not None
    return seen


def test_the_incident() -> None:
    told = capacity(WITH, (("plain", WITHOUT),))
    assert told.words == (
        "1,354,786 tokens of KV pool; 1.35 requests of the full window of 1,000,000; -25.1% against plain"
    )
    lines = capacity_text(told).splitlines()
    assert (
        "against plain: 1,808,112 -> 1,354,786 tokens (-453,326, -25.1%); 1.81 -> 1.35 requests of the limit" in lines
    )
    assert [length for length, _ in told.rows] == [8000 * 2**step for step in range(7)] + [1_000_000]
    assert dict(told.rows)[8000] == pytest.approx(169.34825)
    assert list(told.warnings()) == []


def test_a_capacity_is_recorded_and_read_again_bit_by_bit() -> None:
    told = capacity(WITH, (("plain", WITHOUT), ("mute", Pool("http://mute"))))
    assert codec.decode(Capacity, codec.encode(told)) == told
    assert capacity_object(told)["controls"][1]["share"] is None
    assert "against mute: not known; its pool is not told" in capacity_text(told)


def test_both_figures_of_a_hybrid_model_are_told_apart() -> None:
    pool = pool_of("u", surveyed(), exposed(block_size=16, num_gpu_blocks=1000, kv_cache_size_tokens=9000))
    assert (pool.tokens, pool.by_blocks, pool.reckoned) == (9000, 16_000, False)
    (warning,) = capacity(pool).warnings()
    assert warning.startswith("the target: blocks x block size would be 16,000. That is not the pool")


def test_of_a_sliding_window_only_the_full_windows_figure_is_certain() -> None:
    """vLLM's own figures for a window of 256 tokens: a request of 8,000 tokens takes as many blocks as a full one."""
    told = capacity(Pool("u", 131_072, 452_101_820, "metrics", 128, 65_536))
    assert "  8,000  3449.26 to 56512.73" in capacity_text(told)
    assert "131,072              3449.26" in capacity_text(told)
    assert capacity_object(told)["requests"][0] == {"length": 8000, "requests": 56512.7275, "at_least": 3449.2632}


def test_an_engine_that_only_counts_blocks_is_told_so() -> None:
    pool = pool_of("u", surveyed(), exposed(block_size=16, num_gpu_blocks=1000))
    assert (pool.tokens, pool.reckoned, pool.source) == (16_000, True, "blocks x block size")
    (warning,) = capacity(pool).warnings()
    assert warning.startswith("the target does not tell its pool in tokens")


def test_the_figures_of_one_engine_stay_together() -> None:
    text = (
        'vllm:cache_config_info{block_size="16",num_gpu_blocks="10",kv_cache_size_tokens="900",engine="0"} 1\n'
        'vllm:cache_config_info{block_size="32",num_gpu_blocks="20",kv_cache_size_tokens="640",engine="1"} 1\n'
    )
    seen = scrape(text, {}, 0.0)
    assert seen is not None
    assert (seen.kv_tokens, seen.block_size, seen.blocks) == (640, 32, 20)


def test_slots_have_a_context_each() -> None:
    pool = pool_of("u", surveyed("llamacpp", 16_000, slots=4), None)
    assert (pool.tokens, pool.source) == (64_000, "slots x n_ctx")
    told = capacity(pool)
    assert told.rows == ((8000, 4.0), (16_000, 4.0))
    assert "slots    4: no more requests at once, however short" in capacity_text(told)
    (warning,) = told.warnings()
    assert "kv_unified, llama.cpp's default without -np) the pool is 16,000 tokens" in warning
    assert list(capacity(pool_of("u", surveyed("llamacpp", 16_000, slots=1), None)).warnings()) == []


@pytest.mark.parametrize("survey", [surveyed("openai"), surveyed("llamacpp", None, slots=4)])
def test_an_engine_that_tells_no_pool_has_no_capacity(survey: Survey) -> None:
    told = capacity(pool_of("u", survey, None))
    assert told.rows == ()
    assert told.missing is not None
    assert told.words == told.missing
    assert told.missing in capacity_text(told)


def test_a_pool_that_no_request_of_the_limit_fits_into_is_said() -> None:
    (warning,) = capacity(Pool("u", 4096, 4000, "metrics")).warnings()
    assert warning == "the target: the pool of 4,000 tokens holds no request of the full window of 4,096"

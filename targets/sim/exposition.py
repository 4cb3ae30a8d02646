"""What does /metrics say? The engine's counters in the text format, under the names of each dialect."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from targets.sim.world import World


@dataclass(frozen=True, slots=True)
class Gauges:
    """One engine behind one API server. `born`: start of the process, seconds since the epoch."""

    engine: int
    born: float
    counters: Mapping[str, float]
    accepted_at: Sequence[float]


def exposition(world: World, born: float, engines: Sequence[Gauges]) -> str:
    """The whole page of one API server that was started at `born`."""
    if world.dialect == "llamacpp":
        lines = _llamacpp(engines[0]) if engines else iter(())
    elif world.dialect == "sglang":
        lines = _sglang(world, engines)
    else:
        lines = _vllm(world, engines)
    head = [] if world.dialect == "llamacpp" else list(_process(born))
    return "\n".join([*head, *lines]) + "\n"


def _process(born: float) -> Iterator[str]:
    yield from _family("process_start_time_seconds", "gauge", "Start time of the process since unix epoch in seconds.")
    yield f"process_start_time_seconds {born:.16e}"


VLLM_COUNTERS = (
    ("vllm:prefix_cache_queries", "queries", "Prefix cache queries, in terms of number of queried tokens."),
    ("vllm:prefix_cache_hits", "hits", "Prefix cache hits, in terms of number of cached tokens."),
    ("vllm:prompt_tokens", "prompt", "Number of prefill tokens processed."),
    ("vllm:generation_tokens", "generated", "Number of generation tokens processed."),
)
VLLM_DRAFT_COUNTERS = (
    ("vllm:spec_decode_num_drafts", "drafts", "Number of spec decoding drafts."),
    ("vllm:spec_decode_num_draft_tokens", "draft_tokens", "Number of draft tokens."),
    ("vllm:spec_decode_num_accepted_tokens", "accepted", "Number of accepted tokens."),
)
VLLM_GAUGES = (
    ("vllm:num_requests_running", "running", "Number of requests in model execution batches."),
    ("vllm:num_requests_waiting", "waiting", "Number of requests waiting to be processed."),
)
FINISHED = {"stop": None, "length": "success", "abort": "aborted", "error": "errors", "repetition": None}


def _vllm(world: World, engines: Sequence[Gauges]) -> Iterator[str]:
    for name, key, text in (*VLLM_COUNTERS, *(VLLM_DRAFT_COUNTERS if world.draft else ())):
        yield from _family(f"{name}_total", "counter", text)
        yield from (f"{name}_total{_labels(world, one)} {one.counters.get(key, 0.0)}" for one in engines)
        yield from _family(f"{name}_created", "gauge", text)
        yield from (f"{name}_created{_labels(world, one)} {one.born!r}" for one in engines)
    for name, key, text in VLLM_GAUGES:
        yield from _family(name, "gauge", text)
        yield from (f"{name}{_labels(world, one)} {float(one.counters.get(key, 0))}" for one in engines)
    if world.draft:
        yield from _positions(world, engines)
    yield from _family("vllm:request_success_total", "counter", "Count of successfully processed requests.")
    for one in engines:
        for reason, source in FINISHED.items():
            value = one.counters.get(source, 0.0) if source else 0.0
            yield f"vllm:request_success_total{_labels(world, one, finished_reason=reason)} {value}"
    yield from _family("vllm:iteration_tokens_total", "histogram", "Histogram of number of tokens per engine_step.")
    for one in engines:
        steps, tokens = one.counters.get("steps", 0.0), one.counters.get("prompt", 0.0)
        yield f"vllm:iteration_tokens_total_bucket{_labels(world, one, le='+Inf')} {steps}"
        yield f"vllm:iteration_tokens_total_count{_labels(world, one)} {steps}"
        yield f"vllm:iteration_tokens_total_sum{_labels(world, one)} {tokens}"
    yield from _cache_info(world, engines)


def _positions(world: World, engines: Sequence[Gauges]) -> Iterator[str]:
    name = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
    yield from _family(name, "counter", "Accepted tokens per draft position.")
    for one in engines:
        for position, value in enumerate(one.accepted_at):
            yield f"{name}{_labels(world, one, position=position)} {value}"


def _cache_info(world: World, engines: Sequence[Gauges]) -> Iterator[str]:
    cache = world.cache
    info = {
        "block_size": cache.block,
        "enable_prefix_caching": cache.enabled,
        "num_gpu_blocks": cache.blocks or cache.kv_tokens // cache.block,
    } | ({"kv_cache_size_tokens": cache.kv_tokens} if cache.pool_shown else {})
    yield from _family("vllm:cache_config_info", "gauge", "Information of the LLMEngine CacheConfig")
    for one in engines:
        labels = ",".join(f'{key}="{value}"' for key, value in sorted({**info, "engine": one.engine}.items()))
        yield f"vllm:cache_config_info{{{labels}}} 1.0"


def _sglang(world: World, engines: Sequence[Gauges]) -> Iterator[str]:
    rows = [
        ("sglang:prompt_tokens_total", "counter", "prompt"),
        ("sglang:generation_tokens_total", "counter", "generated"),
        ("sglang:num_requests_total", "counter", "success"),
        ("sglang:num_running_reqs", "gauge", "running"),
        ("sglang:num_queue_reqs", "gauge", "waiting"),
        *([("sglang:spec_verify_calls_total", "counter", "drafts")] if world.draft else []),
    ]
    for name, kind, key in rows:
        yield from _family(name, kind, name.partition(":")[2].replace("_", " "))
        for one in engines:
            yield f'{name}{{model_name="{world.model}"}} {one.counters.get(key, 0.0)}'
    if world.draft:
        yield from _family("sglang:spec_accept_length", "gauge", "The average acceptance length of speculation.")
        for one in engines:
            drafts = one.counters.get("drafts", 0.0)
            length = 1 + one.counters["accepted"] / drafts if drafts else 0.0
            yield f'sglang:spec_accept_length{{model_name="{world.model}"}} {length}'


LLAMACPP = (
    ("prompt_tokens_total", "counter", "prompt"),
    ("tokens_predicted_total", "counter", "generated"),
    ("n_decode_total", "counter", "steps"),
    ("spec_decode_num_draft_tokens_total", "counter", "draft_tokens"),
    ("spec_decode_num_accepted_tokens_total", "counter", "accepted"),
    ("spec_decode_num_drafts_total", "counter", "drafts"),
    ("requests_processing", "gauge", "running"),
    ("requests_deferred", "gauge", "waiting"),
)


def _llamacpp(one: Gauges) -> Iterator[str]:
    for name, kind, key in LLAMACPP:
        yield from _family(f"llamacpp:{name}", kind, name.replace("_", " "))
        yield f"llamacpp:{name} {one.counters.get(key, 0.0):g}"
    name = "llamacpp:spec_decode_num_accepted_tokens_per_pos_total"
    yield from _family(name, "counter", "Accepted tokens per draft position.")
    for position, value in enumerate(one.accepted_at):
        yield f'{name}{{position="{position}"}} {value:g}'


def _family(name: str, kind: str, text: str) -> Iterator[str]:
    yield f"# HELP {name} {text}"
    yield f"# TYPE {name} {kind}"


def _labels(world: World, one: Gauges, **more: object) -> str:
    labels = {"engine": one.engine, "model_name": world.model, **more}
    return "{" + ",".join(f'{key}="{value}"' for key, value in sorted(labels.items())) + "}"

"""What does each engine call the metrics that we read? Data: names as exposed, without `_total`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MetricNames:
    """How one engine names what we read; the first name of a row that is there counts.

    `prefix` is that of all the engine's own metrics.
    """

    prefix: str
    running: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    finished: tuple[str, ...] = ()
    heartbeat: tuple[str, ...] = ()  # all of these are added up
    prompt_tokens: tuple[str, ...] = ()
    drafts: tuple[str, ...] = ()
    draft_tokens: tuple[str, ...] = ()
    accepted: tuple[str, ...] = ()
    accepted_per_position: tuple[str, ...] = ()
    prefix_hits: tuple[str, ...] = ()
    prefix_queries: tuple[str, ...] = ()
    kv_tokens: tuple[str, ...] = ()
    cache_info: str = ""  # an info metric whose labels hold the cache's configuration

    @property
    def counters(self) -> frozenset[str]:
        """Those that only add up: a restart alone lowers them."""
        counted = (self.finished, self.heartbeat, self.prompt_tokens, self.prefix_hits, self.prefix_queries)
        drafted = (self.drafts, self.draft_tokens, self.accepted, self.accepted_per_position)
        return frozenset(name for row in (*counted, *drafted) for name in row)


NAMES: tuple[MetricNames, ...] = (
    MetricNames(
        prefix="vllm:",
        running=("vllm:num_requests_running",),
        waiting=("vllm:num_requests_waiting",),
        finished=("vllm:request_success",),
        heartbeat=("vllm:iteration_tokens_total_count",),
        prompt_tokens=("vllm:prompt_tokens",),
        drafts=("vllm:spec_decode_num_drafts",),
        draft_tokens=("vllm:spec_decode_num_draft_tokens",),
        accepted=("vllm:spec_decode_num_accepted_tokens",),
        accepted_per_position=("vllm:spec_decode_num_accepted_tokens_per_pos",),
        prefix_hits=("vllm:prefix_cache_hits", "vllm:gpu_prefix_cache_hits"),
        prefix_queries=("vllm:prefix_cache_queries", "vllm:gpu_prefix_cache_queries"),
        cache_info="vllm:cache_config_info",
    ),
    MetricNames(
        prefix="sglang:",
        running=("sglang:num_running_reqs",),
        waiting=("sglang:num_queue_reqs",),
        finished=("sglang:num_requests",),
        prompt_tokens=("sglang:prompt_tokens",),
        prefix_hits=("sglang:cached_tokens",),
        prefix_queries=("sglang:prompt_tokens",),
        kv_tokens=("sglang:max_total_num_tokens",),
    ),
    MetricNames(
        prefix="llamacpp:",
        running=("llamacpp:requests_processing",),
        waiting=("llamacpp:requests_deferred",),
        heartbeat=("llamacpp:n_decode", "llamacpp:spec_decode_num_drafts"),
        prompt_tokens=("llamacpp:prompt_tokens",),
        drafts=("llamacpp:spec_decode_num_drafts",),
        draft_tokens=("llamacpp:spec_decode_num_draft_tokens",),
        accepted=("llamacpp:spec_decode_num_accepted_tokens",),
        accepted_per_position=("llamacpp:spec_decode_num_accepted_tokens_per_pos",),
        prefix_hits=("llamacpp:prompt_tokens_cached",),
    ),
    MetricNames(
        prefix="lmdeploy:",
        running=("lmdeploy:num_requests_running",),
        waiting=("lmdeploy:num_requests_waiting",),
        finished=("lmdeploy:num_requests_finished",),
        heartbeat=("lmdeploy:iteration_tokens_total_count",),
        prompt_tokens=("lmdeploy:prompt_tokens",),
        drafts=("lmdeploy:spec_decode_num_drafts",),
        draft_tokens=("lmdeploy:spec_decode_num_draft_tokens",),
        accepted=("lmdeploy:spec_decode_num_accepted_tokens",),
        accepted_per_position=("lmdeploy:spec_decode_num_accepted_tokens_per_pos",),
    ),
    MetricNames(
        prefix="tgi_",
        running=("tgi_batch_current_size",),
        waiting=("tgi_queue_size",),
        finished=("tgi_request_success",),
    ),
)
COUNTERS: frozenset[str] = frozenset().union(*(row.counters for row in NAMES))

"""What is particular about vLLM?

Token ids, `ignore_eos`, `min_tokens` and, since 0.9, `cache_salt` in every request; `/version`; `/tokenize`, which also
tells the limit. From 0.30 on it clamps prompt + output over the limit in silence; at prompt = limit it refuses with a
message that does not speak of length at all (see `refusals`).
"""

from __future__ import annotations

from targets.traits import Mark, Source, Tokenizing, Traits

VLLM = Traits(
    name="vllm",
    ignore_eos=True,
    min_tokens=True,
    cache_salt=True,
    cache_salt_since=(0, 9),
    token_ids=True,
    tokenizing=Tokenizing("/tokenize", "prompt", {"add_special_tokens": False}, names_model=True, tells_limit=True),
    version=(Source("/version", "version"),),
    owners=("vllm",),
    marks=(Mark("/version", field="version"),),
    verified=True,
)

"""What is particular about llama.cpp's server?

Its context is per slot (`/props`), any model name is accepted, a prompt cache hides the prefill unless each request
says otherwise, and a request's own `timings` tell its draft counts.
"""

from __future__ import annotations

from targets.traits import Mark, Source, Tokenizing, Traits

LLAMACPP = Traits(
    name="llamacpp",
    ignore_eos=True,
    cache_prompt=True,
    wrong_model_is_200=True,
    limit_flag="-c",
    limit_step=256,
    tokenizing=Tokenizing("/tokenize", "content", {"add_special": False, "parse_special": False}),
    version=(Source("/props", "build_info"),),
    limits=(Source("/props", "default_generation_settings.n_ctx"), Source("/v1/models", "data.@.meta.n_ctx")),
    slots=(Source("/props", "total_slots"),),
    owners=("llamacpp",),
    marks=(Mark("/v1/models", header="server: llama.cpp"), Mark("/props", field="default_generation_settings")),
    verified=True,
)

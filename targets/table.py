"""Which dialects are there? Data: those without a module of their own are a row here.

Order matters for detection: the rows with the surest marks come first, and plain OpenAI, which has none, last.
"""

from __future__ import annotations

from targets.llamacpp import LLAMACPP
from targets.traits import Mark, Source, Tokenizing, Traits
from targets.vllm import VLLM

SGLANG = Traits(
    name="sglang",
    ignore_eos=True,
    min_tokens=True,
    largest_prompt_below_limit=7,
    reserved=2,
    limit_flag="--context-length",
    tokenizing=Tokenizing("/tokenize", "prompt", {"add_special_tokens": False}, names_model=True),
    version=(Source("/server_info", "version"), Source("/get_server_info", "version")),
    limits=(Source("/server_info", "context_length"), Source("/get_server_info", "context_length")),
    bounds=(Source("/server_info", "max_total_num_tokens"), Source("/get_server_info", "max_total_num_tokens")),
    owners=("sglang",),
    marks=(Mark("/server_info", field="tokenizer_path"), Mark("/get_server_info", field="tokenizer_path")),
)
TGI = Traits(
    name="tgi",
    ids=False,
    limit_flag="--max-total-tokens",
    tokenizing=Tokenizing("/tokenize", "inputs", {"add_special_tokens": False}),
    version=(Source("/info", "version"),),
    limits=(Source("/info", "max_total_tokens"), Source("/info", "max_input_tokens")),
    models_may_fail=True,
    marks=(Mark("/info", field="max_total_tokens"),),
)
TENSORRT_LLM = Traits(
    name="tensorrt-llm",
    ignore_eos=True,
    min_tokens=True,
    limit_flag="--max_seq_len",
    version=(Source("/version", "version"),),
    owners=("tensorrt_llm", "tensorrt-llm"),
)
LMDEPLOY = Traits(
    name="lmdeploy",
    ids=False,
    ignore_eos=True,
    limit_flag="--session-len",
    tokenizing=Tokenizing("/v1/encode", "input", {"do_preprocess": False, "add_bos": False}),
    owners=("lmdeploy",),
)
OLLAMA = Traits(
    name="ollama",
    ids=False,
    health_path="/",
    limit_flag="OLLAMA_CONTEXT_LENGTH",
    version=(Source("/api/version", "version"),),
    limits=(Source("/api/ps", "models.@.context_length"),),
    marks=(Mark("/api/version", field="version"),),
)
LMSTUDIO = Traits(
    name="lmstudio",
    ids_open=True,
    health_path="/v1/models",
    limit_flag="the context length in LM Studio's load settings",
    limit_step=256,  # it runs llama.cpp
    limits=(Source("/api/v0/models", "data.@.loaded_context_length"),),
    owners=("organization_owner",),
    marks=(Mark("/api/v0/models", field="data.0.compatibility_type"),),
)
LITELLM = Traits(
    name="litellm",
    ids_open=True,
    health_path="/health/liveliness",
    marks=(Mark("/health/liveliness", text="I'm alive"),),
)
TRANSFORMERS = Traits(
    name="transformers",
    ids=False,
    limit_flag="",  # --cb-num-blocks says of how many blocks the engine dies, and counts blocks
    models_may_fail=True,
    marks=(Mark("/health", field="status", header="x-request-id:"),),
)
OPENAI = Traits(name="openai", ids_open=True)

DIALECTS: dict[str, Traits] = {
    traits.name: traits
    for traits in (
        LLAMACPP,
        LITELLM,
        SGLANG,
        TGI,
        TENSORRT_LLM,
        LMDEPLOY,
        OLLAMA,
        LMSTUDIO,
        VLLM,
        TRANSFORMERS,
        OPENAI,
    )
}

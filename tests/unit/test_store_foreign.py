"""Is what an engine's log names as a secret masked, and does all else that it says stay to the letter?"""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzzer.lastwords import read
from fuzzer.store.masking import MASK, masked_words

calm = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.parametrize(
    "marked",
    [
        "LMCache ERROR: RuntimeError: no answer of redis://«cache:S3cretRedisPw99»@10.0.0.7:6379/0",
        "ClientError: HEAD https://b.s3.amazonaws.com/m?X-Amz-Credential=«AKIA/x»&X-Amz-Signature=«deadbeef99» failed",
        "HTTPError: 401 for url, sent {'Authorization': 'Bearer «hf_AbCdEfGhIjKlMnOp»'}",
        "OSError: gated repo (HF_TOKEN=«hf_ZZZZZZZZZZZZZZZZ»), exit code 137",
        "HF_TOKEN=«secret-of-ours»",
        "INFO api_server.py:1289] args: Namespace(host=None, port=8000, api_key=[«'sk-live-9f3c7a1e', 'x'»], seed=0)",
        "non-default args: {'model': 'm', 'api_key': [«'sk-local-1'»], 'max_model_len': 4096}",
        "ServerArgs(model_path='m', api_key='«abc»', admin_api_key='«a b c»', random_seed=1)",
        'ValueError: bad config {"password": "«hunter \\" two»", "n": 5}',
        r'error: "{\"client_secret\": \"«x1-y2»\", \"n\": 5}"',
        "redis_password=«hunter», db=0",
        "REDIS_PASSWORD: «Xk3j5H6k»",
        "Authorization: Bearer «correcthorsebattery» RuntimeError: CUDA error: unknown",
        "proxy sent X-Api-Key: «abc-123», Accept: */*",
        "Cookie: «a=1; sid=pA55-7391»",
        "scope headers: [(b'host', b'h:8000'), (b'x-api-key', b'«hunter-two»')]",
        "ExecStart=vllm serve m --api-key «hunter-two» --port 8000",
        "Popen(['vllm', 'serve', '--hf-token', '«hunter-two»', '--port', '8000'])",
        '"GET /v1/models?api_key=«hunter-two»&n=1 HTTP/1.1" 401',
        "RuntimeError('login failed\\npassword=«hunter-two»\\n')",
        "AWS_SECRET_ACCESS_KEY=«wJalrXUtnFEMI/K7MDENG/bPxRfiCY»",
        "os.environ['WANDB_API_KEY'] = '«0123456789abcdef»'",
        "token=«Xk3j5H6k7L8m9N0p1Q» was refused",
        "bot_token=«123456789:AAF-x1y2», n=1",
        "Incorrect API key provided: «sk-proj-Ab12Cd34». Find yours in the console",
        "got «eyJhbGciOi.eyJzdWIi.ab-c» of the gateway",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nAAAA\n-----END RSA PRIVATE KEY-----".join("«»"),
    ],
)
def test_a_secret_that_a_log_names_is_masked_and_nothing_beside_it(marked: str) -> None:
    shown = masked_words(re.sub("[«»]", "", marked))
    assert shown == re.sub("«[^»]*»", MASK, marked)
    assert masked_words(shown) == shown


LOG = r"""
(EngineCore pid=306) ERROR 09-07 22:45:01 [core.py:1357] EngineCore encountered a fatal error.
(EngineCore pid=306) ERROR 09-07 22:45:01 [core.py:1357] Traceback (most recent call last):
(EngineCore pid=306)   File "/usr/lib/python3.12/dist-packages/vllm/v1/engine/core.py", line 1348, in run_engine_core
(EngineCore pid=306)     client = Client(api_key=self.api_key, token=args.token, password=get_password("redis"))
(EngineCore pid=306)     api_key: str | None = None
(EngineCore pid=306)     token = hf_hub_download(repo_id, use_auth_token=True, hf_token=hf_token)
(EngineCore pid=306)     headers = {"Authorization": f"Bearer {api_key}"}
(EngineCore pid=306)     secret = os.environ["HF_TOKEN"]; key = hidden_states[key_cache]
(EngineCore pid=306)     q, k = rope(query=q, key=k, key_cache=torch.Size([16, 128]), signature=(1, 2), auth=None)
SamplingParams(n=1, stop_token_ids=[151643], bad_words=[], max_tokens=4096, min_tokens=0, truncate_prompt_tokens=None)
block_ids=([16660, 16661],), num_computed_tokens=5280, prompt_token_ids=[1,2], num_cached_tokens: 0, token_ids=[1,2]
CachedRequestData(req_ids=['1', '5'], new_token_ids=[[320], [119782]], resumed_from_preemption=[false])
num_scheduled_tokens={chatcmpl-86fece41ca1e484ea7f014059815d4d8: 1}, finished_req_ids=['cmpl-9f86d081884c7d659a2f-0']
Dumping input data for V1 LLM engine (v0.10.1.1) with config: model='Kwaipilot/KAT-V1-40B', tokenizer='Kwaipilot/KAT'
vLLM API server version 0.10.2.dev378+g4d7fe40fc.d20250829, commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b
args: Namespace(api_key=None, ssl_keyfile='/etc/tls/key.pem', hf_token=None, hf_overrides={}, hf_config_path=None)
args: {'api_key': [None], 'hf_text_config': 'Qwen3Config', 'tokenizer_mode': 'auto', 'max_num_batched_tokens': 8192}
Prefill batch, #new-seq: 1, #new-token: 64, #cached-token: 128, token usage: 0.00, #running-req: 0, #queue-req: 0,
GenerateReqInput(bootstrap_pair_key=None, extra_key=None, session_params=None, logprob_start_len=-1)
ValueError: think_end_token '</think>' must encode to exactly one token for constrained reasoning.
bos_token='<s>', eos_token_id=2, pad_token: [PAD], IMAGE_TOKEN = "<image>", next_token=151643, bad_token=7, token: 128
KeyError: 'layers.0.self_attn.k_proj.weight_scale'; cache_key=9f86d081884c7d659a2feaa0c55ad015, kernel key='xk3j5h6k'
triton cache /home/vllm/.triton/cache/QJZK3YX7M2P4/fused_moe.so, torch_compile_cache/550e8400e29b/rank_0_0/backbone
ImportError: sk-telecom-kernels in /opt/sk-kernels/lib.so of sk-telecom/A.X-4.0, sk-learn
frame #44: <unknown function> + 0x29ac5d (0x55ba19095c5d in sglang::scheduler_TP0)
llama_kv_cache: size = 5.00 MiB, K (f16): 2.50 MiB; main: server is listening on http://127.0.0.1:8080/v1?model=m
load_model: hf://Qwen/Qwen3-0.6B from https://huggingface.co/Qwen/Qwen3-0.6B/resolve/main/model-00001-of-00002.gguf
basic initialization done, Bearer authentication is off, Secret: not found, password: required, token: expected
usage: vllm serve [--api-key API_KEY [API_KEY ...]] [--ssl-keyfile SSL_KEYFILE] [--hf-token HF_TOKEN]
client_tokens=262144, session_tokens: 262107; "service_tokens": 4096, id_token=151643) access_tokens: 9000.
AssertionError: num_tokens=262144 == 262107, key_lens.sum()=9, assert token < vocab_size
tcp://10.0.0.7:29500 nccl://[::1]:5 ipc:///tmp/550e8400-e29b-41d4-a716-446655440000
""".strip().splitlines()


@pytest.mark.parametrize("line", LOG)
def test_a_log_that_tells_no_secret_stays_to_the_letter(line: str) -> None:
    assert masked_words(line) == line


@pytest.mark.parametrize(
    "line",
    [
        "RuntimeError: CUDA error: an illegal memory access was encountered",
        "torch.AcceleratorError: CUDA error: device-side assert triggered",
        '/src/server-context.cpp:494: GGML_ASSERT(add_ok && "batch must be large enough") failed',
        "/src/ggml.c:22: GGML_ASSERT(key->ne[1] == n_tokens) failed",
        "python: loader.cc:12: void f(): Assertion `key != token' failed.",
        "../aten/Indexing.cu:1553: block: [22,0,0], thread: [0,0,0] Assertion `srcIndex < srcSelectDimSize` failed.",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has 79.11 GiB, 1.2 GiB is free",
        "AssertionError: Expected token_ids to be [1, 2], num_tokens=262144 != 262107",
        "KeyError: 'token'",
        "KeyError: 'api_key'",
        "ValueError: Token id 151936 is out of vocabulary",
        "Fatal Python error: Segmentation fault",
        "worker 3 was terminated by signal 9",
        "triton.runtime.errors.OutOfResources: shared memory, Required: 131072, Hardware limit: 101376",
        "RuntimeError: size of tensor a (262144) must match tensor b (262107) at dim 1; key=torch.bfloat16",
    ],
)
def test_the_signatures_of_the_known_deaths_stay(line: str) -> None:
    log = f"INFO: all is well\nE1129 12:00:01.123 [model.py:3] {line}\n"
    assert read(masked_words(log)) == read(log)


@pytest.mark.parametrize(
    "unit",
    [
        "a-", "key.", "api_key: ", "api_key=[", "api_key='", 'api_key="', "'api_key': ", 'api_key=\\"', "eyJa-",
        "password=(", "--api-key ", "('api_key', '", "cookie: a=b;", "a://", "a://b;c=d", "?a=b&", "Bearer a.",
        "-----BEGIN PRIVATE KEY-----", "\\n", "hf_a", "sk-a-", "A_TOKEN=a.", "token='", "api_key=$", "cookie:",
        "password ",
    ],
)  # fmt: skip
def test_the_time_that_it_takes_grows_with_the_log_and_no_faster(unit: str) -> None:
    """As much as is read of one. A square of that is more than a minute."""
    began = time.process_time()
    masked_words(unit * (131_072 // len(unit)))
    assert time.process_time() - began < 10


@calm
@given(st.text(), st.sampled_from(["password=", "'api_key': ", "Authorization: ", "http://a:", "token=["]))
def test_any_text_can_be_masked(text: str, before: str) -> None:
    masked_words(before + text)

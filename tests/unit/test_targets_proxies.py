"""Is somebody else's answer told from the engine's, with the setting that changes it?"""

from __future__ import annotations

from dataclasses import replace

import pytest

from targets.base import Fault, Reply
from targets.bodies import parsed, server_error
from targets.proxies import product, sign

NGINX = {"server": "nginx/1.22.1", "content-type": "text/html"}
ENVOY = {"server": "istio-envoy", "content-type": "text/plain"}
LITELLM = {"x-litellm-call-id": "1ddc0c7c"}
UVICORN = {"server": "uvicorn"}
CONNECTION_ERROR = (
    '{"error":{"message":"litellm.InternalServerError: InternalServerError: OpenAIException - Connection error.",'
    '"type":"internal_server_error","code":"500"}}'
)
UNMAPPED = '{"error":{"message":"litellm.APIConnectionError: OpenAIException - Unmapped prompt format.","code":"500"}}'


def page(title: str) -> str:
    return f"<html>\r\n<head><title>{title}</title></head>\r\n<body>\r\n<center><h1>{title}</h1></center>\r\n"


def replied(status: int, headers: dict[str, str], body: str) -> Reply:
    return Reply(True, status, headers=headers, complete=True, error=server_error(parsed(body)), excerpt=body[:2048])


SIGNS = [
    (413, NGINX, page("413 Request Entity Too Large"), "body-limit", "nginx", "client_max_body_size"),
    (413, {}, '{"message":"Request size limit exceeded"}', "body-limit", "a proxy", "size of a request body"),
    (504, NGINX, page("504 Gateway Time-out"), "deadline", "nginx", "proxy_read_timeout"),
    (504, ENVOY, "upstream request timeout", "deadline", "envoy", "route's timeout"),
    (408, LITELLM, '{"error":{"message":"litellm.Timeout: APITimeoutError","code":"408"}}', "deadline", "litellm",
     "request_timeout"),
    (524, {"cf-ray": "8a"}, "error code: 524", "deadline", "cloudflare", "ask the engine directly"),
    (504, {}, "", "deadline", "a proxy", "read timeout"),
    (502, NGINX, page("502 Bad Gateway"), "upstream-lost", "nginx", "--health-url"),
    (503, ENVOY, "upstream connect error or disconnect/reset before headers. reset reason: connection termination",
     "upstream-lost", "envoy", "engine's own log"),
    (503, {}, "no healthy upstream", "upstream-lost", "envoy", "engine's own log"),
    (520, {"server": "cloudflare"}, "error code: 520", "upstream-lost", "cloudflare", "engine's own log"),
    (500, LITELLM, CONNECTION_ERROR, "upstream-lost", "litellm", "engine's own log"),
    (500, LITELLM, UNMAPPED, "bad-request", "litellm", "--mode text"),
    (500, NGINX, page("500 Internal Server Error"), "broken", "nginx", "proxy_intercept_errors"),
    (502, {"via": "1.1 kong/3.4.2"}, '{"message":"An invalid response was received from the upstream server"}',
     "upstream-lost", "kong", "engine's own log"),
    (503, {}, '{"message":"failure to get a peer from the ring-balancer"}', "upstream-lost", "a proxy", "engine's own"),
    (502, {}, "Bad Gateway", "upstream-lost", "a proxy", "engine's own log"),
    (502, {}, "", "upstream-lost", "a proxy", "engine's own log"),
    (502, {}, '{"error_msg":"502 Bad Gateway"}', "upstream-lost", "a proxy", "engine's own log"),
    (502, {}, '{"detail":"All connection attempts failed"}', "upstream-lost", "a proxy", "engine's own log"),
    (502, {}, '{"error":{"message":"Connection error.","type":"APIConnectionError"}}', "upstream-lost", "a proxy",
     "engine's own log"),
    (502, {"server": "awselb/2.0"}, page("502 Bad Gateway"), "upstream-lost", "awselb", "engine's own log"),
    (521, {}, '{"type":"https://developers.example/error","detail":"down"}', "upstream-lost", "a proxy", "own log"),
    (500, {}, '{"error":"Internal Server Error","message":"Exceeded limit on max bytes to buffer : 262144"}',
     "body-limit", "a proxy", "size of a request body"),
    (413, {}, "Failed to buffer the request body: length limit exceeded", "body-limit", "a proxy", "request body"),
    (202, {"nvcf-status": "pending-evaluation"}, "", "deadline", "a proxy", "read timeout"),
    (424, UVICORN, '{"Message":"Your invocation timed out while waiting for a response from container primary."}',
     "deadline", "sagemaker", "60 s"),
    (400, {}, "JSON payload (60123 bytes) is larger than allowed (limit: 60000 bytes).", "body-limit", "a proxy",
     "request body"),
    (400, {}, '{"message":"Value at \'body\' failed to satisfy constraint: Member must have length less than 60000"}',
     "body-limit", "a proxy", "request body"),
    (500, {}, '{"error":{"message":"grpc: received message larger than max (61000 vs. 60000)"}}', "body-limit",
     "a proxy", "request body"),
    (400, {}, '{"error":"failed to parse request body: unexpected EOF"}', "body-limit", "a proxy", "request body"),
    (400, {}, "A payload reached size limit.", "body-limit", "a proxy", "request body"),
    (400, {}, '{"statusCode":400,"message":"request entity too large"}', "body-limit", "a proxy", "request body"),
    (404, {"server": "Microsoft-IIS/10.0"}, "<h3>The module denies what exceeds the request content length.</h3>",
     "body-limit", "microsoft-iis", "maxAllowedContentLength"),
    (400, {}, '{"error":{"message":"The response was filtered","code":"content_filter"}}', "blocked", "a proxy",
     "--content"),
    (400, {}, '{"error":{"message":"Violated guardrail policy","code":"400"}}', "blocked", "a proxy", "--content"),
    (400, NGINX, page("400 Bad Request"), "blocked", "nginx", "its size"),
    (419, ENVOY, "", "blocked", "envoy", "its size"),
    (401, {}, "", "auth", "a proxy", "--api-key"),
    (403, NGINX, page("403 Forbidden"), "auth", "nginx", "OPENAI_API_KEY"),
    (404, {}, '{"detail":"Not Found"}', "not-found", "a proxy", "--url"),
    (307, {"location": "https://u:p@other/v1?k=s"}, "", "redirect", "a proxy", "Give other/v1 as --url"),
]  # fmt: skip

OURS = [
    (200, NGINX, ""),
    (400, NGINX, '{"error":{"message":"request (2048 tokens) exceeds the available context size (2048 tokens)"}}'),
    (413, {}, '{"error":{"message":"300000 tokens do not fit"}}'),
    (500, UVICORN, '{"error":{"message":"EngineCore encountered an issue.","code":500}}'),
    (500, UVICORN, "Internal Server Error"),
    (500, NGINX, "Internal Server Error"),
    (500, UVICORN, page("500 Internal Server Error")),
    (503, UVICORN, '{"error":"CB worker is dead"}'),
    (502, UVICORN, '{"error":{"message":"boom","type":"server_error","code":502}}'),
    (400, {}, '{"error":{"message":"request body of 9000 tokens exceeds the context"}}'),
    (400, {}, '{"error":{"message":"Input too big"}}'),
    (400, {}, "CUDA out of memory: tried to allocate 4096 bytes, which is larger than the limit"),
    (424, {}, ""),
    (424, {}, '{"error":"Request failed during generation: Server error: collective operation timed out"}'),
    (503, UVICORN, ""),
    (503, {"server": "llama.cpp"}, '{"error":{"message":"Loading model","code":503}}'),
]


@pytest.mark.parametrize(("status", "headers", "body", "kind", "by", "advice"), SIGNS)
def test_a_proxys_answer_names_its_setting(
    status: int, headers: dict[str, str], body: str, kind: str, by: str, advice: str
) -> None:
    seen = sign(replied(status, headers, body))
    assert seen is not None
    assert (seen.kind, seen.product) == (kind, by)
    assert advice in seen.advice


@pytest.mark.parametrize(("status", "headers", "body"), OURS)
def test_the_engines_own_answer_is_no_sign(status: int, headers: dict[str, str], body: str) -> None:
    assert sign(replied(status, headers, body)) is None


def test_a_blocking_page_is_a_firewalls_though_it_comes_as_a_200() -> None:
    rejected = "<html><title>Request Rejected</title>The requested URL was rejected. Your support ID is: 12</html>"
    for body, kind in ((rejected, "blocked"), ("<html>hello</html>", None), ("The request was rejected", None)):
        seen = sign(replace(replied(200, {}, body), complete=False, fault=Fault.PROTOCOL))
        assert (seen and seen.kind) == kind


@pytest.mark.parametrize("status", ["IN_PROGRESS", "IN_QUEUE", "processing", "TIMED_OUT"])
def test_a_job_that_is_not_done_is_a_deadline_though_it_comes_as_a_200(status: str) -> None:
    job = replied(200, {"server": "cloudflare"}, f'{{"delayTime":8,"id":"sync-0c1f","status":"{status}"}}')
    seen = sign(replace(job, complete=False, fault=Fault.PROTOCOL))
    assert seen is not None
    assert (seen.kind, seen.product) == ("deadline", "a job queue")
    assert sign(replace(job, text="an answer", events=1)) is None


@pytest.mark.parametrize(
    "said",
    [
        "litellm.APIConnectionError: Hosted_vllmException - Timeout on reading data from socket. Received Model",
        "litellm.Timeout: APITimeoutError - Request timed out.",
        "HTTPConnectionPool(host='e', port=8000): Read timed out. (read timeout=60)",
        "rpc error: code = DeadlineExceeded desc = context deadline exceeded",
        "I/O error on POST request: java.net.SocketTimeoutException: Read timed out",
        "net/http: request canceled (Client.Timeout exceeded while awaiting headers)",
    ],
)
def test_whoever_says_that_he_stopped_waiting_gave_up_whatever_the_status(said: str) -> None:
    whole = replace(replied(500, {}, f'{{"error":{{"message":"{said}"}}}}'), ended_s=4.0)
    for reply in (whole, replace(whole, status=200, error_in_stream=True, complete=False)):
        seen = sign(reply)
        assert seen is not None
        assert seen.kind == "deadline"
    assert sign(replace(whole, ended_s=0.02)) is None, "nobody waited"


@pytest.mark.parametrize(
    "said",
    [
        "RPC call to sample_tokens timed out.",
        "timed out waiting for llama runner to start",
        "Watchdog: request timed out",
        "inference timed out waiting for prefill",
        "generation timed out in attention kernel",
        "request timeout waiting for KV cache blocks",
        "Timeout while waiting for the decode instance",
        "CUDA error: the launch timed out and was terminated",
        "Connection timed out",
    ],
)
def test_an_engines_own_clock_is_no_proxys(said: str) -> None:
    seen = sign(replace(replied(500, {}, f'{{"error":{{"message":"{said}","code":500}}}}'), ended_s=60.0))
    assert seen is None or seen.kind != "deadline"


def test_no_status_is_no_sign() -> None:
    assert sign(Reply(True)) is None


def test_a_proxy_is_known_by_its_headers_alone() -> None:
    assert product(NGINX) == "nginx"
    assert product({"via": "1.1 varnish"}) == "varnish"
    assert product({"x-envoy-upstream-service-time": "3"}) == "envoy"
    assert product({"server": "uvicorn"}) is None

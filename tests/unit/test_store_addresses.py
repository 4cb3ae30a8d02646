"""Is what in a URL is a secret masked, and does what chooses an engine stay, so that the same one is asked again?"""

from __future__ import annotations

import re
import time

import pytest

from fuzzer.cli.common import CommonFlags
from fuzzer.cli.secrecy import secrets_of
from fuzzer.report.reached import route_of
from fuzzer.store.masking import MASK, masked_argv, masked_command, masked_json, masked_text, masked_url

MARKED = [
    "http://h/t/«sk-live-9f3c7a1e5b2d8046c1e9»/v1?jwt=«eyJhbGciOi.eyJzdWIi.ab-c»",
    "https://oai.gw.example/«sk-helicone-abcdefg-1234567»/v1",
    "https://gw.example/notify/«Xk3j5H6k7L8m9N0p1Q2r»/v1",
    "https://hooks.slack.com/«services/T0/B0/pA55-7391»",
    "https://h/«Xk3j5H6k7L8m9N0p1Q2r»/v1",
    "https://h/models/«sk-live-9f3c7a1e5b2d8046c1e9»/v1",
    *(
        f"https://h/v1?{name}=«hunter-zz»&n=1"
        for name in ("jwt", "pwd", "pass", "sid", "session", "ticket", "hmac", "sas", "code", "authorization", "cookie")
    ),
    "https://h/v1?to%6ben=«hunter-zz»&a=b",
    "https://h/v1?api%5Fkey=«hunter%2Dzz»",
    "https://h/v1?a=1;token=«hunter;zz»&b=2",
    "https://h/v1;token=«hunter»/x?a=b",
    "https://h/a=b/v1?token=«hunter»",
    "https://h/v1#access_token=«hunter»",
    "https://h/v1?x=«9f3c7a1e5b2d8046»&y=canary",
    "https://h/v1?deployment=«sk-live-9f3c7a1e»",
    "https://h/v1?X-Amz-Credential=«AA»&X-Amz-Signature=«ff»&X-Amz-Expires=900",
]


@pytest.mark.parametrize("marked", MARKED)
def test_a_secret_of_a_url_is_masked_whatever_it_is_called(marked: str) -> None:
    url, shown = re.sub("[«»]", "", marked), re.sub("«[^»]*»", MASK, marked)
    assert masked_url(url) == shown
    assert masked_url(shown) == shown
    assert masked_text(f"at {url} it") == f"at {shown} it"
    assert masked_argv(["probe", "--url", url, f"--control=plain={url}"]) == (
        "probe", "--url", shown, f"--control=plain={shown}",
    )  # fmt: skip
    assert masked_json({"health_url": url, "controls": [["plain", url]]}) == {
        "health_url": shown, "controls": [["plain", shown]],
    }  # fmt: skip
    assert masked_url(masked_command(url)) == masked_command(url)


@pytest.mark.parametrize("marked", MARKED)
def test_the_same_is_known_by_value(marked: str) -> None:
    found = secrets_of(CommonFlags(url=re.sub("[«»]", "", marked)))
    assert set(re.findall("«([^»]*)»", marked)) <= set(found)


def test_also_as_a_server_reads_it() -> None:
    assert "hunter-zz 7" in secrets_of(CommonFlags(url="https://h/v1?jwt=hunter%2Dzz+7"))


@pytest.mark.parametrize(
    "url",
    [
        "https://h/openai/deployments/gpt-4o/v1?api-version=2024-02-01-preview",
        "https://h/v1?backend=canary&backend=vllm-canary-us-east-1-blue",
        "https://h/v1?deployment=9f3c7a1e5b2d8046&pool=a1b2c3d4e5f6a7b8&tenant=550e8400-e29b-41d4-a716-446655440000",
        "https://h/v1?deployment=gpt-4o-2024-08-06&model=Qwen%2FQwen3-Coder-480B-A35B-Instruct-FP8&x=long-words-of-ours",
        "https://h/v1?tokenizer=mistral&max_tokens=4096&passthrough=1&signal=9&author=ops&design=a&encoding=utf8",
        "https://h/v1?use_auth=true&session=&key=${KEY}",
        "https://h/v1/9f86d081884c7d659a2feaa0c55ad015/gateway/openai?id=9f86d081884c7d65",
        "http://h/Meta_Llama_3_1_70B_Instruct_FP8/Qwen2.5-72B-Instruct-AWQ/v1",
        "https://h/ml/v1/deployments/MyDeployment2024Q3Blue/v1", "https://h/models/Xk3j5H6k7L8m9N0p1Q2r/v1",
        "https://h/v1?lora=x9y8z7w6v5&endpoint=ab12cd34ef56&revision=9f3c7a1e5b2d&workspace=a1b2c3d4e5&app=a1b2c3d4e5",
        "https://h/sk-telecom/v1?backend=sk-telecom-blue",
        "HTTP://Host:8000/v1?", "ipc:///tmp/550e8400-e29b-41d4-a716-446655440000", "http://[::1]:8000/v1",
    ],
)  # fmt: skip
def test_what_chooses_an_engine_stays(url: str) -> None:
    assert masked_url(url) == masked_text(url) == url


def test_a_target_is_known_again_by_the_url_that_its_record_has() -> None:
    root = "http://h/t/sk-live-9f3c7a1e5b2d8046c1e9"
    assert route_of(root, {}) == route_of(masked_url(f"{root}/v1"), {})
    assert route_of(root, {}) != route_of("http://h/t/other", {})


@pytest.mark.parametrize("unit", [";a=b", "?a=b", "&a=b", "/a=", "#key=;", "@", "eyJa-", "/hooks/a1", "%6b=", "aA1_/"])
def test_the_time_that_it_takes_grows_with_the_url_and_no_faster(unit: str) -> None:
    began = time.process_time()
    masked_url(f"http://h/{unit * (120_000 // len(unit))}")
    assert time.process_time() - began < 10

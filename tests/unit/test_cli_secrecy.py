"""What of the flags is a secret by its value, and what only looks like one?"""

from __future__ import annotations

from base64 import b64encode

import pytest

from fuzzer.cli.common import CommonFlags
from fuzzer.cli.secrecy import secrets_of

KEY = "sk-Xk3j5H6k7L8m9N0p"


def found(*headers: tuple[str, str], url: str = "http://host:8000", **flags: str) -> set[str]:
    return set(secrets_of(CommonFlags(url=url, headers=headers, **flags)))  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("urllib.request.getproxies", dict)


@pytest.mark.parametrize(
    "name",
    ["authorization", "Cookie", "X-Api-Key", "x-session", "my-token", "X-Secret", "x-anything", "X-Auth-Request-Id"],
)
def test_the_value_of_a_header_is_one(name: str) -> None:
    assert found((name, KEY)) == {KEY}
    assert found((name, f"Bearer {KEY}")) == {KEY, f"Bearer {KEY}"}


def test_the_password_of_a_basic_header_is_one_as_the_server_reads_it() -> None:
    coded = b64encode(b"bob:hunter2-Zz81:x").decode()
    header = {f"Basic {coded}", coded}
    assert found(("Authorization", f"Basic {coded}")) == {*header, "bob:hunter2-Zz81:x", "hunter2-Zz81:x"}
    for odd in ("no-base-64!", b64encode(b"\xff\xfe-7391").decode(), b64encode(b"no colon").decode()):
        assert {f"Basic {odd}", odd} <= found(("Authorization", f"Basic {odd}"))


def test_a_number_is_one_where_the_name_says_so() -> None:
    assert found(("x-api-key", "300000")) == {"300000"}
    assert found(("X-Pin", "482913"), ("x-otp", "482914"), ("X-Access-Code", "482915"), ("x_tenant", "482916")) == {
        "482913", "482914", "482915", "482916",
    }  # fmt: skip
    assert found(("x-shipping", "482913"), ("x-encoding", "482913")) == set()
    assert found(("x-anything", "300000"), ("x-share", "0.25")) == set()
    assert found(("x-anything", "4929123412341234")) == {"4929123412341234"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("x-envoy-upstream-rq-timeout-ms", "300000"),
        ("X-Envoy-Retry-On", "connect-failure,refused-stream"),
        ("content-type", "application/json"),
        ("user-agent", "ctxfuzz of the night shift"),
        ("user-agent", "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0"),
        ("x-model", "meta-llama/Llama-3.1-8B-Instruct"),
        ("x-model", "Qwen/Qwen3-Coder-480B-A35B-Instruct-FP8-20250731"),
        ("host", "vllm.eu-west-1.elb.amazonaws.com"),
    ],
)
def test_a_header_that_only_says_which_way_to_go_holds_none(name: str, value: str) -> None:
    assert found((name, value)) == set()


@pytest.mark.parametrize("name", ["User-Agent", "X-Model", "Tags", "Title", "Host"])
@pytest.mark.parametrize("value", [KEY, "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b", "a1b2c3d4e5f6a7b8"])
def test_what_was_drawn_at_random_is_one_whatever_its_name(name: str, value: str) -> None:
    assert found((name, value)) == {value}


@pytest.mark.parametrize(
    ("key", "flags"),
    [
        ("ollama", {}),
        ("openai", {}),
        ("search", {}),
        ("gpu-box", {"url": "http://gpu-box.local:8000"}),
        ("10.0.0.7", {"health_url": "http://10.0.0.7/health"}),
        ("qwen2.5", {"model": "Qwen/Qwen2.5-7B"}),
    ],
)
def test_a_key_that_is_a_name_hides_none(key: str, flags: dict[str, str]) -> None:
    assert found(api_key=key, **flags) == set()


def test_a_key_that_no_name_would_have_is_one_wherever_it_stands() -> None:
    assert found(api_key=KEY, model=f"models/{KEY}") == {KEY}
    assert found(api_key="sk-1234") == {"sk-1234"}

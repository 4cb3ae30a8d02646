"""Does a secret ever get past the mask, and does anything else get lost?"""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from fuzzer.store.masking import MASK, Secrets, masked_argv, masked_json, masked_text, masked_url

# A busy machine makes any single example slow now and then; that is no failure.
calm = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

SECRET = "s3cr3t-of-the-house"


@pytest.mark.parametrize(
    ("argv", "shown"),
    [
        (["--api-key", SECRET, "--lo", "8k"], ["--api-key", MASK, "--lo", "8k"]),
        ([f"--api-key={SECRET}"], [f"--api-key={MASK}"]),
        (["--api-key", "--header"], ["--api-key", MASK]),
        (["--header", f"X-Tenant: {SECRET}"], ["--header", f"X-Tenant: {MASK}"]),
        ([f"--header=X-Tenant:{SECRET}"], [f"--header=X-Tenant: {MASK}"]),
        (["--header", SECRET], ["--header", MASK]),
        (["--url", f"https://me:{SECRET}@host:8000/v1"], ["--url", f"https://{MASK}@host:8000/v1"]),
        ([f"--url=https://{SECRET}@host/"], [f"--url=https://{MASK}@host/"]),
        (["--on-death", f"curl -H 'Authorization: Bearer {SECRET}' x"], ["--on-death", None]),
        (["--on-death", f"curl https://u:{SECRET}@host/restart"], ["--on-death", f"curl https://{MASK}@host/restart"]),
        (["--on-death", f"TOKEN={SECRET} restart vllm"], ["--on-death", f"TOKEN={MASK} restart vllm"]),
        ([f"--engine-log-cmd=logs --key {SECRET} -n 5"], [f"--engine-log-cmd=logs --key {MASK} -n 5"]),
    ],
)
def test_argv_keeps_its_shape_and_loses_its_secrets(argv: list[str], shown: list[str | None]) -> None:
    masked = masked_argv(argv)
    assert SECRET not in " ".join(masked)
    assert len(masked) == len(argv)
    assert all(want is None or got == want for got, want in zip(masked, shown, strict=True))


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://host:8000/v1", "http://host:8000/v1"),
        ("http://[::1]:8000/v1", "http://[::1]:8000/v1"),
        (
            f"http://a:{SECRET}@h:1/x?api-version=2024-02&api-key={SECRET}",
            f"http://{MASK}@h:1/x?api-version=2024-02&api-key={MASK}",
        ),
        (f"http://a:p@{SECRET}@h/?access_token={SECRET}&n=1", f"http://{MASK}@h/?access_token={MASK}&n=1"),
        (f"http://h/?code={SECRET}&encoding=utf8", f"http://h/?code={MASK}&encoding=utf8"),
        (f"http://[{SECRET}", MASK),
    ],
)
def test_url_keeps_its_place_and_loses_its_secrets(url: str, shown: str) -> None:
    assert masked_url(url) == shown
    assert masked_url(shown) == shown


def test_settings_are_masked_at_any_depth() -> None:
    settings = {"urls": [f"http://{SECRET}@h/"], "deep": {"cmd": f"x 'Basic {SECRET}'", "n": 5}, "api_key": SECRET}
    masked = masked_json(settings)
    assert SECRET not in json.dumps(masked)
    assert masked == {"urls": [f"http://{MASK}@h/"], "deep": {"cmd": f"x 'Basic {MASK}'", "n": 5}, "api_key": MASK}


def test_a_path_that_reads_like_a_credential_is_none() -> None:
    paths = {
        "content": "corpus:/data/Basic Training.txt", "contents": ["words", "corpus:/data/bearer services"],
        "tokenizer": "/models/basic tokenizer-v2", "engine_log": "/var/log/bearer service/engine.log",
        "junit": "/ci/Basic tests-of-ours.xml", "file": "/mnt/Basic training.db", "model": "basic llama-3.1-8b",
    }  # fmt: skip
    assert masked_json(paths) == paths
    assert Secrets(["training"]).out_of_json(paths) == paths
    known = {"content": f"corpus:/data/{SECRET} x", "tokenizer": f"/models/{SECRET}"}
    assert SECRET not in json.dumps(Secrets([SECRET]).out_of_json(known))
    assert masked_json({"model": f"http://u:{SECRET}@h/"}) == {"model": f"http://{MASK}@h/"}


@calm
@given(st.text(min_size=6), st.text(), st.text())
def test_a_known_secret_is_found_by_value_also_inside_json(secret: str, before: str, after: str) -> None:
    assume(secret not in MASK)
    text = before + secret + after
    hidden = Secrets([secret])
    assert MASK in hidden.out_of(text)
    assert json.loads(hidden.out_of(json.dumps(secret))) == MASK


@pytest.mark.parametrize(
    ("secret", "written"),
    [
        ("dXNlcjpwYXNz/w==", r"dXNlcjpwYXNz\/w=="),
        ("dXNlcjpwYXNz/w==", r"dXNlcjpwYXNz/w\u003d\u003D"),
        ("dXNlcjpwYXNz/w==", r"\u0064XNlcjpwYXNz/w=="),
        ("dXNlcjpwYXNz/w==", r"dXNlcjpwYXNz\\/w\\u003d="),  # JSON within JSON
        ("sk-a&b<c>1234", r"sk-a\u0026b\u003cc\u003e1234"),
        ("sk-a\\b/1234", r"sk-a\\b\/1234"),
        ('two "words"', r"two\u0020\"words\""),
        ("schl\u00fcssel-\U0001f511-7391", r"schl\u00FCssel-\uD83D\udd11-7391"),
    ],
)
def test_a_known_secret_is_found_however_json_escapes_it(secret: str, written: str) -> None:
    excerpt = f'{{"error":"bad {written}\\n", "n": 5}}'
    assert Secrets([secret]).out_of_json({"excerpt": excerpt}) == {"excerpt": f'{{"error":"bad {MASK}\\n", "n": 5}}'}


def test_a_key_of_many_backslashes_is_looked_for_in_no_time() -> None:
    began = time.process_time()
    assert MASK not in Secrets(["\\" * 40 + "x"]).out_of("\\" * 1_000)
    assert time.process_time() - began < 10


def test_a_key_of_one_word_is_masked_where_somebody_says_one_word() -> None:
    said = {
        "error": {"param": "hunter"}, "param": "hunter", "fault": "hunter", "finish_reason": "hunter",
        "death_signatures": ["Unauthorized:hunter"], "companion_faults": ["hunter"],
    }  # fmt: skip
    assert "hunter" not in json.dumps(Secrets(["hunter"]).out_of_json(said))
    ours = {"fault": "timeout", "finish_reason": "length"}
    assert Secrets(["timeout", "length"]).out_of_json(ours) == ours


def test_a_secret_too_short_to_be_one_leaves_texts_alone() -> None:
    assert Secrets(["x", "none", ""]).out_of("next to none") == "next to none"
    assert SECRET not in repr(Secrets([SECRET]))


CHANCE = ["search", "300000", "length", SECRET, '": "', "ms\\ncuda", 'hi":300000,']
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.just(300_000)
    | st.sampled_from(CHANCE).map(lambda said: f"a {said}"),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["search", "300000", "reason", "headers", "model"]), inner, max_size=4)
    ),
    max_leaves=12,
)


def without_texts(value: object) -> object:
    match value:
        case str():
            return str
        case dict():
            return {key: without_texts(item) for key, item in value.items()}
        case list():
            return [without_texts(item) for item in value]
        case _:
            return value


@calm
@given(JSON, st.sets(st.sampled_from(CHANCE), min_size=1))
def test_json_stays_what_it_was_but_for_its_texts(value: object, secrets: set[str]) -> None:
    masked = Secrets(secrets).out_of_json(value)
    assert without_texts(masked) == without_texts(value)
    assert json.loads(json.dumps(masked)) == masked


def test_a_plain_word_hides_no_name_and_is_masked_in_all_that_is_said() -> None:
    said = {
        "outcome": "search", "engine": {"name": "search", "version": "search 2"}, "model": "the search model",
        "url": "http://search:80", "hi": 300_000, "argv": ["ctxfuzz", "--model=search"],
        "reason": "search", "headers": {"x-request-id": "search"}, "notes": ["a search died"],
        "excerpt": '{"a":"search"}',
    }  # fmt: skip
    masked = Secrets(["search", "300000"]).out_of_json(said)
    names = ("outcome", "engine", "model", "url", "hi", "argv")
    assert {name: masked[name] for name in names} == {name: said[name] for name in names}
    assert masked | dict.fromkeys(names) == {
        **dict.fromkeys(names),
        "reason": MASK,
        "headers": {"x-request-id": MASK},
        "notes": [f"a {MASK} died"],
        "excerpt": f'{{"a":"{MASK}"}}',
    }


def test_what_no_name_would_be_is_masked_in_names_and_keys_too() -> None:
    said = {"model": f"m-{SECRET}", f'starts{{x="{SECRET}"}}': 5, "version": [SECRET], "deep": {"a": f'"{SECRET}"'}}
    assert SECRET not in json.dumps(Secrets([SECRET]).out_of_json(said))


def test_plain_text_is_left_alone() -> None:
    text = "CUDA error: an illegal memory access was encountered (basic checks at http://host/metrics)"
    assert masked_text(text) == text

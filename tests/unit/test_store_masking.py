"""Does a secret ever get past the mask, and does anything else get lost?"""

from __future__ import annotations

import json

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


@calm
@given(st.text(min_size=6), st.text(), st.text())
def test_a_known_secret_is_found_by_value_also_inside_json(secret: str, before: str, after: str) -> None:
    assume(secret not in MASK)
    text = before + secret + after
    hidden = Secrets([secret])
    assert MASK in hidden.out_of(text)
    assert json.loads(hidden.out_of(json.dumps(secret))) == MASK


def test_a_secret_too_short_to_be_one_leaves_texts_alone() -> None:
    assert Secrets(["x", "none", ""]).out_of("next to none") == "next to none"
    assert SECRET not in repr(Secrets([SECRET]))


def test_plain_text_is_left_alone() -> None:
    text = "CUDA error: an illegal memory access was encountered (basic checks at http://host/metrics)"
    assert masked_text(text) == text

"""Is a URL understood in every form in which people give it, and are its secrets kept?"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from targets.address import parse
from targets.errors import TargetUnusable

FORMS = [
    ("http://h:8000", "http://h:8000"),
    ("http://h:8000/", "http://h:8000"),
    ("http://h:8000/v1", "http://h:8000"),
    ("http://h:8000/v1/", "http://h:8000"),
    ("http://h:8000/v1/completions", "http://h:8000"),
    ("http://h:8000/v1/chat/completions", "http://h:8000"),
    ("http://h:8000/v1/models", "http://h:8000"),
    ("https://gw/team/a/v1", "https://gw/team/a"),
    ("https://gw//team///a/", "https://gw/team/a"),
    ("https://gw/v1beta", "https://gw/v1beta"),
    ("HTTP://Host.Example", "http://host.example"),
    ("http://[::1]:8000/v1", "http://[::1]:8000"),
    ("  http://h  ", "http://h"),
]


@pytest.mark.parametrize(("given", "root"), FORMS)
def test_every_form_gives_the_same_root(given: str, root: str) -> None:
    assert parse(given).root == root
    assert parse(given).at("/v1/models") == f"{root}/v1/models"


def test_a_query_goes_with_every_request() -> None:
    address = parse("https://gw/openai/v1?api-version=7")
    assert address.root == "https://gw/openai"
    assert address.at("/v1/models") == "https://gw/openai/v1/models?api-version=7"


def test_a_health_url_keeps_its_path() -> None:
    assert parse("http://h/v1/models?x=1", api=False).at("") == "http://h/v1/models?x=1"


def test_userinfo_becomes_basic_auth_and_is_not_shown() -> None:
    address = parse("http://us%40er:pa%3Ass@h:1/v1")
    assert address.basic == "Basic dXNAZXI6cGE6c3M="
    assert address.root == "http://h:1"
    assert "pa" not in repr(address)


@pytest.mark.parametrize(
    "url",
    ["h:8000", "localhost", "ftp://h", "http://", "http://h:99999", "http://h:x", "http://[::1", "", "http://a b"],
)
def test_what_is_no_url_is_refused_with_a_sentence(url: str) -> None:
    with pytest.raises(TargetUnusable, match=r"\.$"):
        parse(url)


SECRET = "s3cr3t"


@pytest.mark.parametrize("url", ["u:{s}@h:8000", "ftp://u:{s}@h", "http://u:{s}@h:99999", "http://u:{s}@", "h?k={s}"])
def test_no_message_quotes_a_secret(url: str) -> None:
    with pytest.raises(TargetUnusable) as caught:
        parse(url.format(s=SECRET))
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None


@given(st.text(max_size=60))
def test_nothing_but_target_unusable_is_ever_raised(text: str) -> None:
    for url in (text, "http://" + text):
        try:
            address = parse(url)
        except TargetUnusable:
            continue
        assert address.root.startswith(("http://", "https://"))

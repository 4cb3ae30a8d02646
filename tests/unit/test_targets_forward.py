"""Are the environment's forward proxies read as curl reads them, and is what cannot be read told without its value?"""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from targets.errors import UnreadableEnvironment
from targets.forward import is_spared, proxy_for

HERE = ("http", "10.1.2.3", 8000)
SIX = ("http", "fd07:b51a:cc66:f0::7", 8000)
NAMED = ("https", "api.example.com", 443)
THROUGH = {"http": "http://proxy:3128"}


@pytest.mark.parametrize(
    ("listed", "origin", "spared"),
    [
        ("localhost,127.0.0.1,fd07:b51a:cc66:f0::/64", SIX, True),
        ("localhost,127.0.0.1,fd07:b51a:cc66:f0::/64", HERE, False),
        ("fd07:b51a:cc66:f0::7", SIX, True),
        ("[fd07:b51a:cc66:f0::7]", SIX, True),
        ("[fd07:b51a:cc66:f0::7]:8000", SIX, True),
        ("[fd07:b51a:cc66:f0::7]:8001", SIX, False),
        ("fd07:b51a:cc66:f1::/64", SIX, False),
        ("FD07:B51A:CC66:F0::/64", SIX, True),
        ("fd07:b51a:cc66:f0::/640", SIX, False),
        ("[::1]", ("http", "::1", 80), True),
        ("fe80::1%eth0", ("http", "fe80::1%eth0", 80), True),
        ("10.0.0.0/8", HERE, True),
        ("10.9.9.9/8", HERE, True),
        ("10.1.2.3", HERE, True),
        ("10.1.2.3:8000", HERE, True),
        ("10.1.2.3:80", HERE, False),
        ("10.1.2", HERE, False),
        ("1.2.3", HERE, False),
        ("::/0", HERE, False),
        ("0.0.0.0/0", NAMED, False),
        ("example.com", NAMED, True),
        (".example.com", NAMED, True),
        ("*.example.com", NAMED, True),
        (".example.com", ("http", "example.com", 80), True),
        ("ample.com", NAMED, False),
        ("www.api.example.com", NAMED, False),
        ("EXAMPLE.com.", NAMED, True),
        ("api.example.com:443", NAMED, True),
        ("https://api.example.com", NAMED, True),
        ("http://api.example.com", NAMED, False),
        ("all://example.com", NAMED, True),
        ("a b  example.com", NAMED, True),
        ("other, *", NAMED, True),
        ("localhost", ("http", "localhost", 1), True),
        (":,::::,[,],%,/,*.,.,://,:80,a:b", NAMED, False),
        ("", NAMED, False),
    ],
)
def test_whom_no_proxy_spares(listed: str, origin: tuple[str, str, int], spared: bool) -> None:
    assert is_spared(origin, listed) is spared


@given(st.text(max_size=40), st.sampled_from([HERE, SIX, NAMED]))
def test_no_list_of_hosts_is_unreadable(listed: str, origin: tuple[str, str, int]) -> None:
    assert is_spared(origin, listed) in {True, False}


@pytest.mark.parametrize(
    ("proxies", "origin", "host"),
    [
        (THROUGH, HERE, "proxy"),
        (THROUGH, NAMED, None),
        ({"all": "socks5h://proxy:1080"}, NAMED, "proxy"),
        ({"all": "http://other", "https": "proxy:3128"}, NAMED, "proxy"),
        ({"http": "http://[fd00::1]:3128"}, HERE, "fd00::1"),
        ({"http": "HTTP://proxy:3128/"}, HERE, "proxy"),
        ({**THROUGH, "no": "10.0.0.0/8"}, HERE, None),
        ({"http": ""}, HERE, None),
        # What nobody needs is not read: the address of a desktop's SOCKS proxy, a password that is not quoted.
        ({**THROUGH, "all": "socks://127.0.0.1:7890/"}, HERE, "proxy"),
        ({"https": "http://a:b#c@proxy"}, HERE, None),
        ({"http": "http://a:b#c@proxy", "no": "10.1.2.3"}, HERE, None),
    ],
)
def test_which_proxy_is_taken(proxies: dict[str, str], origin: tuple[str, str, int], host: str | None) -> None:
    found = proxy_for(origin, proxies)
    assert (None if found is None else found.url.host) == host


def test_a_password_that_is_quoted_reaches_the_proxy() -> None:
    found = proxy_for(HERE, {"http": "http://svc:Tr0ub%234@proxy:3128"})
    assert found is not None
    assert found.auth == ("svc", "Tr0ub#4")


@pytest.mark.parametrize(
    "value",
    [
        "http://svc:Tr0ub4dor-and-3#Zq@proxy.corp:3128",
        "http://svc:1234#Tr0ub4dor@proxy.corp:3128",
        "http://svc:12/Tr0ub4dor@proxy.corp:3128",
        "http://svc:12?Tr0ub4dor@proxy.corp:3128",
        "svc:Tr0ub4dor[@proxy:3128",
        "socks4://svc:Tr0ub4dor@proxy:1080",
        "ftp://svc:Tr0ub4dor@proxy",
        "socks://svc:Tr0ub4dor@proxy",
        "http://svc:Tr0ub4dor@proxy:99999",
        "http://svc:Tr0ub4dor@:3128",
        "http://svc:Tr0ub4dor@",
        "http://svc:Tr0ub4dor\x07@proxy:3128",
        "http://svc:Tr0ub4dor@proxy\udcff:3128",
    ],
)
def test_a_proxy_that_cannot_be_read_is_named_by_its_variable_alone(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("http_proxy", raising=False)
    monkeypatch.setenv("HTTP_PROXY", value)
    with pytest.raises(UnreadableEnvironment, match=r"^HTTP_PROXY ") as refused:
        proxy_for(HERE, {"http": value})
    assert not any(part in str(refused.value) for part in ("Tr0ub", "svc", "corp", "99999"))
    assert refused.value.__context__ is None, "no traceback would tell it either"


@given(st.text(max_size=40))
def test_any_proxy_is_read_or_refused(value: str) -> None:
    with suppress(UnreadableEnvironment):
        proxy_for(HERE, {"http": value})

"""Can the flags' values be read as they are written, and is everything else refused with a hint?"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import click
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzzer.cli import ENTRIES, main, values
from fuzzer.errors import UsageFault
from fuzzer.model import Outcome


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("1", 1),
        ("262144", 262144),
        ("262_144", 262144),
        ("8k", 8000),
        ("8K", 8192),
        ("1m", 1_000_000),
        ("1M", 1_048_576),
        ("2g", 2 * 10**9),
        ("1G", 2**30),
        ("25.6k", 25_600),
        (" 8k ", 8000),
    ],
)
def test_lengths_are_read_as_vllm_reads_them(text: str, tokens: int) -> None:
    assert values.length(text) == tokens


@pytest.mark.parametrize(
    "text",
    ["1,000", "0", "-5", "", "8kk", "k", "1_", "_1", "1__0", "25.6K", "25.6", "0.5k1", "1.0001k", "٣", "1e5", "nan"],
)
def test_what_is_no_length_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match=r"is no length; write tokens: 262144"):
        values.length(text)


@given(st.integers(1, 10**12))
def test_every_whole_number_is_its_own_length(tokens: int) -> None:
    assert values.length(str(tokens)) == values.length(f"{tokens:_}") == tokens


@given(st.text(max_size=12))
def test_any_text_is_a_length_or_a_bad_parameter(text: str) -> None:
    try:
        tokens = values.length(text)
    except click.BadParameter:
        tokens = 1
    assert tokens >= 1


@pytest.mark.parametrize(("text", "seconds"), [("90", 90), ("90s", 90), ("1.5m", 90), ("2h", 7200), ("0", 0)])
def test_durations(text: str, seconds: float) -> None:
    assert values.duration(text) == seconds


@pytest.mark.parametrize("text", ["-1", "soon", "5d", "inf", "nan", "", "1 h"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="30m, 2h"):
        values.duration(text)


def test_health_is_asked_for_at_most_twice_a_second() -> None:
    assert (values.interval("0.5"), values.interval("2m")) == (0.5, 120)
    for often in ("0.49", "0", "0.1s"):
        with pytest.raises(click.BadParameter, match=r"0\.5 or more"):
            values.interval(often)


@pytest.mark.parametrize("text", ["0", "1", "1.5", "-0.1", "nan", "0.0", "95%"])
def test_a_rate_lies_strictly_between_0_and_1(text: str) -> None:
    assert values.rate("0.95") == values.rate(".95") == 0.95
    with pytest.raises(click.BadParameter, match="between 0 and 1"):
        values.rate(text)


def test_a_key_is_what_can_be_sent_and_is_never_quoted() -> None:
    assert values.key("sk-1234\n") == values.key(" sk-1234\r\n") == "sk-1234"
    for key in ("sk-hünter2", "sk-hunter2\nsk-hunter3", "sk-\x07hunter2"):
        with pytest.raises(click.BadParameter, match="plain ASCII in one line") as refused:
            values.key(key)
        assert "nter2" not in refused.value.message


def test_a_header_that_cannot_be_sent_is_refused_and_never_quoted() -> None:
    assert values.header("X-Key: a b\n") == ("X-Key", "a b")
    for header in ("X-Key: hünter2", "X-Key: hunter2\nX-Other: b", "hunter2"):
        with pytest.raises(click.BadParameter, match="plain ASCII") as refused:
            values.header(header)
        assert "nter2" not in refused.value.message


@pytest.mark.parametrize("text", ["999999d", "999999h", "0d", "0001-01-01", "9999-12-31T23:59:59-14:00", "99999-01-01"])
def test_a_moment_beyond_the_calendar_is_none(text: str) -> None:
    try:
        assert values.moment(text).utcoffset() is not None
    except click.BadParameter as refused:
        assert "is no moment; write" in refused.message  # noqa: PT017  (either will do)


ODD = st.one_of(
    st.text(max_size=30),
    st.from_regex(r"\A-?[0-9]{1,5000}(\.[0-9]{1,20})?[smhdkKmMgGtT]?\Z"),
    st.sampled_from(
        ["inf", "-inf", "nan", "1e999", "9" * 5000, "9" * 400 + "d", "0" * 12 + "h", "a" * 300, "x=http://[", "\udcff"]
    ),
)


@given(text=ODD, name=st.sampled_from(sorted(ENTRIES)))
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_any_text_is_a_value_of_a_flag_or_refused(text: str, name: str) -> None:
    context = click.Context(main)
    command = main.get_command(context, name)
    assert command is not None
    for param in command.params:
        word = text.replace("\0", "")  # neither a command line nor the environment can hold it
        with suppress(click.UsageError, UsageFault):
            param.type(word, param, context)


def test_counts() -> None:
    assert values.count("0") == 0
    with pytest.raises(click.BadParameter, match="0 or more"):
        values.count("-1")


@pytest.mark.parametrize("text", ["localhost:8000", "ftp://host", "http://", "://x", "http:///v1", "http://host:http"])
def test_what_is_no_url_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match=r"http://"):
        values.url(text)


def test_a_refused_url_keeps_its_password_to_itself() -> None:
    with pytest.raises(click.BadParameter) as refused:
        values.url("user:hunter2@host:8000")
    assert "hunter2" not in refused.value.message
    assert "http://host:8000" in refused.value.message


def test_a_url_stays_what_it_is() -> None:
    assert values.url("https://user@host:1/prefix/v1") == "https://user@host:1/prefix/v1"


def test_headers() -> None:
    assert values.header("X-Route: pod-0:8000") == ("X-Route", "pod-0:8000")
    assert values.header("X-Empty:") == ("X-Empty", "")
    for bad in ("no colon", "bad name: x", "X: a\nHost: evil", ": x"):
        with pytest.raises(click.BadParameter, match="'Name: value'"):
            values.header(bad)


def test_outcomes_are_a_set_of_known_failures() -> None:
    assert values.outcomes("death, degraded") == {Outcome.DEATH, Outcome.DEGRADED}
    for bad in ("pass", "death,nope", ""):
        with pytest.raises(click.BadParameter, match="choose from death, error, hang, truncated, garbled, degraded"):
            values.outcomes(bad)


def test_the_last_of_several_outcomes_is_completed() -> None:
    context = click.Context(click.Command("x"))
    found = values.complete_outcomes(context, click.Option(["--fail-on"]), "death,de")
    assert [item.value for item in found] == ["death,death", "death,degraded"]


@pytest.mark.parametrize("name", ["a" * 300, "org/name", "", "\0"])
def test_a_tokenizer_that_is_not_here_stays_the_name_that_it_is(name: str) -> None:
    assert values.tokenizer(name) == name


def test_a_tokenizer_that_is_here_is_found_from_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine").mkdir()
    monkeypatch.chdir(tmp_path)
    assert values.tokenizer("mine") == str(tmp_path / "mine")


def test_a_name_that_no_file_can_have_is_no_database() -> None:
    assert not values.is_database(Path("a" * 300))

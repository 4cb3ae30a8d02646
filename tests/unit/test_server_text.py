"""Can any text that a server wrote raise, run away or become an absurd number in what reads it?

Every reader of untrusted text, under property-based fuzz. `pytest --hypothesis-profile=long` runs it for minutes; the
cases that it found stand here as examples.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import anyio
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fuzzer import lastwords
from fuzzer.before.preflight import read as company_of
from fuzzer.outcome import wording
from fuzzer.report.plain import plain
from fuzzer.store.masking import masked_argv, masked_text, masked_url
from targets import bodies, overloads, proxies, refusals
from targets.address import parse
from targets.answer import Answer
from targets.base import Fault, Generation, Prompt, Reply, ServerError
from targets.detect import detect
from targets.errors import TargetUnusable
from targets.exchange import Exchange, Fetched
from targets.faults import words_of
from targets.metric_names import NAMES
from targets.metrics import scrape
from targets.openai import OpenAITarget
from targets.scout import MODELS, Scout, choose, entries, limits_of, refuse_unusable
from targets.scrape import restarted, went_on
from targets.sim.rules import BadRule, Condition
from targets.sim.strict import BadWorld
from targets.sim.world import World
from targets.table import DIALECTS

NASTY = st.sampled_from(
    ["\x1b[2J", "\x9b1m", "\u202e", "\ud800", "\0", "\r\n", "=1+1", "[bold]", "<b>", "1e400", "-1", "9" * 400, "NaN"]
)
TEXT = st.lists(st.text(max_size=20) | NASTY, max_size=4).map("".join)
NUMBERS = st.integers() | st.floats() | st.sampled_from([1e308, -1e308, 10**400, -1, 2**53, 2**63, 2**64])
FIELDS = st.sampled_from(
    [
        "choices",
        "delta",
        "text",
        "usage",
        "error",
        "timings",
        "message",
        "token_ids",
        "tokens",
        "ids",
        "content",
        "code",
        "prompt_tokens",
        "completion_tokens",
        "prompt_tokens_details",
        "cached_tokens",
        "finish_reason",
        "detail",
        "object",
        "data",
        "id",
        "root",
        "parent",
        "owned_by",
        "max_model_len",
        "draft_n",
        "draft_n_accepted",
        "predicted_n",
        "index",
        "name",
        "model",
        "models",
        "meta",
        "n_ctx",
        "context_length",
        "default_generation_settings",
        "version",
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(FIELDS | TEXT, inner, max_size=5),
    max_leaves=25,
)
HEADERS = st.dictionaries(
    st.sampled_from(
        ["retry-after", "date", "server", "via", "location", "content-type", "cf-ray", "x-envoy-overloaded"]
    ),
    TEXT | NUMBERS.map(str),
)
MOST = 1 << 63  # what a row of SQLite holds


@contextmanager
def only(*faults: type[Exception]) -> Iterator[None]:
    """Nothing but these may be raised, and each says something."""
    try:
        yield
    except faults as fault:
        message = str(fault)
    else:
        return
    assert message


def test_the_nested_value_that_is_deeper_than_its_reader() -> None:
    """JSON nests as deep as the stack allows where it is parsed: what reads it must not need more of it."""
    for depth in range(1, 1_000, 7):
        for text in (
            '{"tokens":' * depth + "[]" + "}" * depth,
            '{"error":{"message":' + "[" * depth + "]" * depth + "}}",
        ):
            value = bodies.parsed(text)
            bodies.token_ids(value)
            bodies.server_error(value)


@given(JSON)
@example({"error": {"message": [[["x"]]], "code": 10**400}})
@example({"tokens": {"tokens": {"ids": [1]}}})
def test_bodies(value: Any) -> None:
    text = json.dumps(value)
    again = bodies.parsed(text)
    for tokens in (bodies.usage(again).prompt_tokens, bodies.usage(bodies.at(again, "usage")).cached_tokens):
        assert tokens is None or 0 <= tokens < MOST
    error = bodies.server_error(again)
    assert error is None or len(error.message) <= bodies.MESSAGE_CHARS
    bodies.draft_counts(bodies.at(again, "timings"))
    assert all(0 <= one < MOST for one in bodies.token_ids(again) or ())
    listed = entries(again)
    for traits in DIALECTS.values():
        with only(TargetUnusable):
            chosen = choose(None, listed, traits)
            assert chosen is None or 0 < len(chosen) <= 1_000
    assert all(0 < limit < MOST for one in listed for limit in limits_of(one).values())


@given(st.lists(JSON, max_size=4), HEADERS, st.sampled_from([200, 400, 429, 500, 503]), st.booleans())
def test_answers_and_what_they_are_taken_for(
    values: list[Any], headers: dict[str, str], status: int, stream: bool
) -> None:
    answer = Answer(Generation(Prompt("ids", b"[1]", 1), 4, stream=stream))
    answer.begin(status, headers, 0.1)
    for value in values:
        if not answer.feed(b"data: " + json.dumps(value).encode() + b"\n\n", 0.2):
            break
    judged(answer.reply(Exchange(status=status, headers=headers, ended=True)))


@given(TEXT, TEXT, HEADERS, st.integers(100, 999), st.sampled_from([None, *Fault]))
@example("", "", {"retry-after": "Mon, 01 Jan 99999999999999999999999 00:00:00 GMT", "date": ""}, 429, None)
@example("", "", {"retry-after": "Mon, 01 Jan 2024 00:00:00 +99999999999999", "date": ""}, 503, None)
def test_refusals_and_doors(
    message: str, excerpt: str, headers: dict[str, str], status: int, fault: Fault | None
) -> None:
    judged(Reply(True, status, fault, excerpt, headers, error=ServerError(message), excerpt=excerpt))
    judged(Reply(True, status, fault, excerpt, headers, excerpt=excerpt))


def judged(reply: Reply) -> None:
    refusal = refusals.refusal(reply)
    assert refusal is None or refusal.limit is None or 0 < refusal.limit < MOST
    wait = overloads.overload(reply)
    assert wait is None or wait >= 0
    sign = proxies.sign(reply)
    assert sign is None or sign.advice
    for speaks_of in (wording.says_dead, wording.refuses_by_failure, wording.tells_of_length):
        speaks_of(reply)
    assert len(wording.words(reply)) <= wording.SHOWN_CHARS


METRIC = st.sampled_from(
    [name for row in NAMES for name in (*row.running, *row.prefix_hits, *row.kv_tokens, *row.finished)]
)
LABELS = (
    st.sampled_from(["", '{a="1"}', '{a="2"}', "{", "{}", '{position="9"}', '{block_size="9",num_gpu_blocks="9"}'])
    | TEXT
)
SAMPLE = st.builds(
    "{}{}{} {}".format,
    METRIC | st.sampled_from([row.cache_info for row in NAMES if row.cache_info] + ["process_start_time_seconds"]),
    st.sampled_from(["", "_total"]),
    LABELS,
    NUMBERS.map(str) | st.sampled_from(["NaN", "+Inf", "1e308", "1e400"]) | TEXT,
)


@given(st.lists(SAMPLE | TEXT | st.just("# TYPE vllm:x counter"), max_size=12), st.lists(SAMPLE, max_size=12))
@example(['sglang:max_total_num_tokens{a="1"} 1e308', 'sglang:max_total_num_tokens{a="2"} 1e308'], [])
def test_metrics(lines: list[str], later: list[str]) -> None:
    one, other = scrape("\n".join(lines), {}, 0.0), scrape("\n".join(later), {"process-start-time-unix": "9e999"}, 1.0)
    for seen in (one, other):
        if seen is not None:
            for value in (seen.running, seen.finished, seen.prefix_hits, seen.heartbeat, seen.kv_tokens):
                assert value is None or abs(value) < MOST
    both = [seen for seen in (one, other) if seen is not None]
    company_of(both)
    if len(both) == 2:
        assert not (restarted(*both) and went_on(*both))


@pytest.mark.parametrize(
    "text",
    [
        "vllm:cache_config_info{" + "a" * 400000 + "} 1",
        'vllm:cache_config_info{a="' + "\\" * 400000 + "} 1",
        "vllm:cache_config_info{" + 'a="' * 100000 + "} 1",
        "vllm:x" + "{" * 400000,
        "vllm:x{" + "} " * 200000,
    ],
    ids=["one long name", "backslashes", "names", "braces", "ends"],
)
def test_metrics_take_no_longer_than_they_are_long(text: str) -> None:
    began = time.process_time()
    scrape(text, {}, 0.0)
    assert time.process_time() - began < 2


@pytest.mark.parametrize(
    "piece",
    [
        "exceed ",
        "prompt too long ",
        "(" * 20,
        "maximum context length ",
        "1,",
        "\\",
        "0" * 13,
        "[x]",
        "<style>",
        "<a ",
        "engine process ",
        "upstream connect error ",
        "request body size ",
    ],
)
def test_words_take_no_longer_than_they_are_long(piece: str) -> None:
    text = (piece * 100_000)[:100_000]
    began = time.process_time()
    judged(Reply(True, 400, error=ServerError(text[: bodies.MESSAGE_CHARS]), excerpt=text[:2_048]))
    judged(Reply(True, 500, excerpt=text[:2_048]))
    lastwords.read(text)
    lastwords.read("CUDA error " + text)
    masked_text(text[:10_000])
    plain(text)
    assert time.process_time() - began < 4


@given(st.lists(TEXT | st.sampled_from(["CUDA error: x", "(EngineCore pid=1) ERROR 11-29 ", "Traceback"]), max_size=9))
def test_engine_logs(lines: list[str]) -> None:
    log = "\n".join(lines)
    words = lastwords.read(log)
    assert len(words.lines) <= lastwords.KEPT_CHARS
    assert len(words.signature) <= lastwords.LINE_CHARS
    assert lastwords.since(log + log, log) in log + log
    lastwords.same_bug(log, words.signature)


@given(st.none() | st.integers(100, 999), TEXT | JSON.map(json.dumps), HEADERS, st.sampled_from([None, *Fault]))
def test_surveys(status: int | None, body: str, headers: dict[str, str], fault: Fault | None) -> None:
    got = Fetched(status, headers, body.encode(errors="replace"), fault, words_of(ValueError(body)))
    with only(TargetUnusable):
        refuse_unusable(got, parse("http://h"), DIALECTS["vllm"])


@dataclass(frozen=True)
class Pages:
    """Stands where the HTTP client does: each path answers the same JSON, but that of the models."""

    models: Any
    others: Any

    async def fetch(self, _method: str, url: str, **_asked: object) -> Fetched:
        return Fetched(200, {}, json.dumps(self.models if url.endswith(MODELS) else self.others).encode())


ENTRIES = st.lists(st.dictionaries(FIELDS, JSON, max_size=4) | JSON, max_size=3)
LISTED = ENTRIES.map(lambda items: {"data": items, "models": items})


@given(LISTED, JSON | LISTED, st.sampled_from(sorted(DIALECTS)))
@example({"data": [{"id": "m", "name": ["m"], "meta": {"n_ctx": 1}}]}, None, "llamacpp")
@example({"data": [{"id": "m"}]}, {"models": [{"model": {"path": "m"}, "context_length": 1}]}, "ollama")
def test_surveys_of_foreign_values(models: Any, others: Any, dialect: str) -> None:
    """Any value may stand at any place of any page that a survey reads."""
    listed = [{"id": "m", **item} if isinstance(item, dict) else item for item in models["data"]]
    pages: Any = Pages({**models, "data": listed}, others)
    address = parse("http://h")

    async def survey() -> None:
        await detect(Scout(pages, address))
        with only(TargetUnusable):
            seen = await OpenAITarget(pages, address, DIALECTS[dialect]).survey()
            assert all(0 < limit < MOST for limit in seen.limits.values())

    anyio.run(survey)


@given(st.text(max_size=60) | NASTY | TEXT)
@example("http://[::1")
@example("http://h:99999999")
def test_addresses_and_masks(text: str) -> None:
    for api in (True, False):
        with only(TargetUnusable):
            parse(text, api=api)
    masked_url(text)
    masked_text(text)
    masked_argv([text, "--header", text, "--api-key", text])
    assert not {"\x1b", "\x9b", "\u202e", "\n", "\0"} & set(plain(text))


@given(
    st.dictionaries(st.sampled_from(["limit", "rules", "speed", "draft", "restart", "model", "prompt"]) | TEXT, JSON)
)
def test_worlds(value: dict[str, Any]) -> None:
    with only(BadWorld, BadRule):
        World.from_dict(value)


@given(
    st.lists(
        st.sampled_from(["P", "O", "+", "-", "*", "%", "<", "==", "(", ")", "and", "not", "1e308", "0", "9", ".5"])
        | NASTY,
        max_size=12,
    ).map(" ".join)
)
@example("9" * 400 + " * 1e308 > 1")
@example("9" * 400 + " / 3 > 1")
def test_rules(text: str) -> None:
    with only(BadRule):
        rule = Condition(text)
        assert rule(dict.fromkeys(rule.names, 7)) in {True, False}

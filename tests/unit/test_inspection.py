"""What is concluded of an engine from a handful of tiny generations, and what is left open?"""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from fuzzer.before.inspection import Beyond, Drafter, Facts, Try, conclude, drafter, health_words, prefix_cache
from fuzzer.before.preflight import Company
from fuzzer.report.inspection import as_text, inspection_object
from targets.base import Fault, Health, Reply, Survey, Usage
from targets.scrape import DraftCounts, Scrape

COUNTING = Scrape(0.0, {"process_start_time_seconds": 1.79e9}, draft=DraftCounts(0, 0, 0))
BARE = Scrape(0.0)
NO_DRAFTS = DraftCounts(0, 0, 0)
SURVEY = Survey("vllm", "0.32.0", ("tiny",), "tiny", 8192, {"a": 8192}, has_metrics=True)
FACTS = Facts("http://h:1", SURVEY, Company(1))


def tried(content: str = "words", draft: DraftCounts | None = None, counted: int | None = 96, cached: int = 0) -> Try:
    usage = Usage(counted, 4, cached)
    return Try(content, "ids", 96, Reply(sent=True, status=200, complete=True, usage=usage), draft=draft)


@pytest.mark.parametrize(
    ("tries", "scrape", "method", "tokens"),
    [
        ([tried(draft=DraftCounts(1, 7, 0)), tried("repeat", DraftCounts(2, 14, 3))], COUNTING, "learned", 7),
        ([tried(draft=NO_DRAFTS), tried("repeat", DraftCounts(1, 3, 3))], COUNTING, "lookup", 3),
        ([tried(draft=NO_DRAFTS), tried(draft=DraftCounts(1, 3, 3))], COUNTING, "unknown", 3),
        ([tried(draft=NO_DRAFTS)], COUNTING, "unknown", None),
        ([tried()], replace(COUNTING, draft=DraftCounts(9, 9, 9)), "unknown", None),
        ([tried()], BARE, "none", None),
        ([tried()], None, "unknown", None),
        ([], None, "unknown", None),
    ],
)
def test_a_drafter_is_known_by_the_text_that_it_drafts_on(
    tries: list[Try], scrape: Scrape | None, method: str, tokens: int | None
) -> None:
    seen = drafter(tries, scrape)
    assert (seen.method, seen.tokens) == (method, tokens)


def test_a_failed_generation_says_nothing_of_the_drafter() -> None:
    failed = Try("words", "ids", 96, Reply(sent=True, status=500), draft=NO_DRAFTS)
    assert drafter([failed, tried(draft=DraftCounts(1, 7, 0))], COUNTING).method == "learned"


@pytest.mark.parametrize(("tries", "on"), [([], None), ([tried("again", cached=80)], True), ([tried("again")], False)])
def test_a_prefix_cache_is_on_where_the_second_time_is_read_from_it(tries: list[Try], on: bool | None) -> None:
    assert prefix_cache(tries) is on


def test_sources_that_disagree_are_called_out() -> None:
    survey = replace(SURVEY, limits={"models": 8192, "tokenize": 4096})
    beyond = Beyond(8193, "pass", "a complete answer", None)
    seen = conclude(replace(FACTS, survey=survey, scrape=replace(BARE, kv_tokens=6000), beyond=beyond))
    assert seen.limits == {"models": 8192, "tokenize": 4096, "KV capacity": 6000}
    said = " / ".join(seen.disagreements)
    assert "tokenize says 4096" in said
    assert "holds 6000" in said
    assert "8193 prompt tokens, over the limit, are not refused" in said


def test_sources_that_agree_are_not() -> None:
    beyond = Beyond(8193, "rejected", "too long", 8192)
    seen = conclude(replace(FACTS, scrape=replace(BARE, kv_tokens=100_000), beyond=beyond))
    assert seen.disagreements == ()


def test_health_tells_how_it_behaves_idle_and_busy() -> None:
    polls = [(Health(0.0, 200), 0.001), (Health(0.0, 200), 0.003), (Health(0.0, fault=Fault.TIMEOUT), 5.0)]
    busy = replace(tried(), health=(Health(0.0, 503),))
    assert health_words(polls, [busy]) == "HTTP 200 or timeout in 3 ms when idle, HTTP 503 while it generates"
    assert health_words([], []) == "not asked"


def test_what_a_server_adds_is_told_only_where_our_own_count_is_exact() -> None:
    chat = replace(tried(counted=108), mode="chat")
    guessed = replace(tried(counted=150), mode="text", estimated=True)
    seen = conclude(replace(FACTS, tries=(tried(), chat, guessed)))
    assert seen.takes == ("ids", "chat", "text")
    assert seen.adds == {"ids": 0, "chat": 12}


def test_it_reads_as_lines_and_as_json() -> None:
    seen = replace(conclude(replace(FACTS, scrape=COUNTING)), drafter=Drafter("learned", 7, "it drafts"))
    made = json.loads(json.dumps(inspection_object(seen)))
    assert (made["schema"], made["engine"]) == ("ctxfuzz.inspection/1", {"name": "vllm", "version": "0.32.0"})
    assert made["process_start"] == "2026-09-21T14:13:20Z"
    lines = as_text(seen).splitlines()
    assert any(line.split() == ["engine", "vllm", "0.32.0"] for line in lines)
    assert any("learned, k = 7" in line for line in lines)


@pytest.mark.parametrize("told", [1.7643e12, 1e300, -1.0, -1e15, 253_402_300_800.0])
def test_a_start_that_is_no_moment_is_told_as_it_is(told: float) -> None:
    seen = replace(conclude(FACTS), process_start=told)
    assert inspection_object(seen)["process_start"] is None
    assert f"unknown (the target tells {told:g} s since 1970)" in as_text(seen)


def test_what_was_never_seen_is_unknown() -> None:
    made = inspection_object(conclude(Facts("http://h:1", Survey("openai"), Company(1))))
    assert (made["limit"], made["prefix_cache"], made["process_start"]) == (None, None, None)
    assert made["drafter"]["method"] == "unknown"

"""What is kept of a failure's last words, as the client heard them?"""

from __future__ import annotations

from dataclasses import replace

import pytest

from fuzzer.evidence import Canary, Evidence, Verdict
from fuzzer.model import Outcome, ProbeSpec, Role
from fuzzer.observation import Observation
from fuzzer.observe import observe, signature
from fuzzer.prompts.recipe import Recipe
from fuzzer.rig import Prepared
from fuzzer.standing import Standing
from targets.base import Fault, Generation, Prompt, Reply, ServerError, Usage
from targets.scrape import Scrape

SPEC = ProbeSpec(300_000, 32, Role.SEARCH, "halves what is left")
PAGE = "<html>\r\n<head><title>500</title></head><body><center><h1>CUDA &amp; more</h1></center></body></html>"
NO_SONG = Canary(ok=False, duration_s=1.0, status=503, fault="", error="no healthy upstream")


@pytest.mark.parametrize(
    ("reply", "canary", "heard"),
    [
        (Reply(sent=True, status=500, error=ServerError("EngineCore died"), excerpt="{}"), NO_SONG, "EngineCore died"),
        (Reply(sent=True, fault=Fault.RESET, fault_text="peer"), NO_SONG, "reset: peer"),
        (Reply(sent=True, fault=Fault.CUT), NO_SONG, "cut"),
        (Reply(sent=True, status=200, excerpt="odd"), NO_SONG, "no healthy upstream"),
        (Reply(sent=True, status=500, excerpt=PAGE), None, "500 CUDA & more"),
        (Reply(sent=True, status=500, excerpt="x" * 999), None, "x" * 400),
    ],
)
def test_the_servers_message_comes_first_and_a_page_is_read_as_a_reader_sees_it(
    reply: Reply, canary: Canary | None, heard: str
) -> None:
    assert signature(Evidence(SPEC, reply, 300_000, canary=canary)) == heard


def kept(
    reply: Reply, outcome: Outcome, canary: Canary | None = None, spec: ProbeSpec = SPEC, **seen: Scrape | None
) -> Observation:
    recipe = Recipe("ids", 300_000, "words", "1", "1")
    prepared = Prepared(1, spec, Generation(Prompt("ids", b"[]", 300_000), 32), b"{}", "", recipe, None)
    e = Evidence(spec, reply, 300_000, canary=canary, **seen)  # type: ignore[arg-type]
    return observe(prepared, e, Verdict(outcome, ""), Standing(), started_s=0.0, ended_s=9.0)


@pytest.mark.parametrize(
    ("reply", "outcome", "cut_s"),
    [
        (Reply(sent=True, fault=Fault.CUT, ended_s=4.0), Outcome.ERROR, 4.0),
        (Reply(sent=True, status=500, excerpt="Internal Server Error", ended_s=4.0), Outcome.ERROR, 4.0),
        (Reply(sent=True, status=500, excerpt="Internal Server Error", ended_s=0.4), Outcome.ERROR, None),
        (Reply(sent=True, status=500, error=ServerError("IndexError"), ended_s=4.0), Outcome.ERROR, None),
        (Reply(sent=True, status=500, ended_s=4.0), Outcome.DEATH, None),
        (Reply(sent=True, status=200, complete=True, ended_s=4.0), Outcome.PASS, None),
    ],
)
def test_when_a_clock_may_have_struck_is_kept(reply: Reply, outcome: Outcome, cut_s: float | None) -> None:
    assert kept(reply, outcome).cut_s == cut_s


@pytest.mark.parametrize("reason", ["length", None])
def test_whether_good_streams_give_a_reason_for_their_end_is_kept(reason: str | None) -> None:
    mark = kept(Reply(sent=True, status=200, complete=True, finish_reason=reason), Outcome.PASS).yardstick
    assert mark is not None
    assert mark.says_why is (reason is not None)


def test_when_a_death_was_lost_is_kept() -> None:
    lost = Reply(sent=True, status=502, ended_s=30.0)
    assert (kept(lost, Outcome.DEATH).lost_s, kept(lost, Outcome.DEATH).cut_s) == (30.0, None)
    assert kept(lost, Outcome.ERROR).lost_s is None
    assert kept(Reply(sent=True, status=500, ended_s=30.0), Outcome.DEATH).lost_s is None


def test_how_long_a_canary_takes_is_learnt_after_good_answers_alone() -> None:
    whole, sings = Reply(sent=True, status=200, complete=True), Canary(ok=True, duration_s=0.2)
    assert kept(whole, Outcome.PASS, sings).canary_s == kept(whole, Outcome.DEGRADED, sings).canary_s == 0.2
    assert kept(whole, Outcome.TRUNCATED, sings).canary_s is None
    assert kept(whole, Outcome.PASS, NO_SONG).canary_s is None


def counts(finished: float, prompt_tokens: float | None = None) -> Scrape:
    return Scrape(0.0, {"process": 1.0}, {"requests": finished}, finished=finished, prompt_tokens=prompt_tokens)


def is_counted(before: Scrape, after: Scrape | None, settled: Scrape, spec: ProbeSpec = SPEC, **told: int) -> bool:
    answer = Reply(sent=True, status=200, complete=True, usage=Usage(spec.length, 32, **told), ended_s=4.0)
    song = Canary(ok=True, duration_s=0.1, status=200)
    return not kept(answer, Outcome.PASS, song, spec, before=before, after=after, settled=settled).uncounted


def test_metrics_that_count_a_good_answer_and_its_canary_are_those_of_whom_we_ask() -> None:
    assert is_counted(counts(5, 64), counts(6, 300_064), counts(7, 300_080))
    assert is_counted(counts(5), counts(6), counts(7))
    assert is_counted(counts(5, 64), None, counts(7, 300_080))
    assert is_counted(counts(5, 64), counts(5, 64), counts(7, 300_080)), "some count a moment later"


def test_of_two_that_take_turns_one_counts_the_answers_and_another_one_the_canaries() -> None:
    assert not is_counted(counts(5, 64), counts(6, 300_064), counts(6, 300_064))
    assert not is_counted(counts(5), counts(6), counts(6))
    assert not is_counted(counts(5, 64), counts(5, 64), counts(6, 80))


def test_what_is_not_read_need_not_be_counted() -> None:
    early, late = counts(5, 64), counts(7, 100)
    assert not is_counted(early, counts(6, 84), late)
    assert is_counted(early, counts(6, 84), late, replace(SPEC, cache="warm"))
    assert is_counted(early, counts(6, 84), late, replace(SPEC, stop_after=3))
    assert is_counted(early, counts(6, 84), late, cached_tokens=299_984)

"""What is kept of a failure's last words, as the client heard them?"""

from __future__ import annotations

import pytest

from fuzzer.evidence import Canary, Evidence, Verdict
from fuzzer.model import Outcome, ProbeSpec, Role
from fuzzer.observation import Observation
from fuzzer.observe import observe, signature
from fuzzer.prompts.recipe import Recipe
from fuzzer.rig import Prepared
from fuzzer.standing import Standing
from targets.base import Fault, Generation, Prompt, Reply, ServerError

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


def kept(reply: Reply, outcome: Outcome, canary: Canary | None = None) -> Observation:
    recipe = Recipe("ids", 300_000, "words", "1", "1")
    prepared = Prepared(1, SPEC, Generation(Prompt("ids", b"[]", 300_000), 32), b"{}", "", recipe, None)
    e = Evidence(SPEC, reply, 300_000, canary=canary)
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

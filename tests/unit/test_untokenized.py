"""What does a text come to that the target was lost over before it could be sent?"""

from __future__ import annotations

from dataclasses import replace

import pytest

from fuzzer.evidence import Canary, Evidence, Verdict
from fuzzer.model import Corroboration, Outcome, ProbeSpec, Role
from fuzzer.observation import Observation
from fuzzer.outcome.untokenized import LOST as TAKEN
from fuzzer.outcome.untokenized import Untokenized
from targets.base import Fault, Health, Mode, ProxySign, Reply
from targets.scrape import Scrape

SPEC = ProbeSpec(5000, 32, Role.SEARCH, "halves what is left", mode="text")
CUT = Reply(sent=True, fault=Fault.CUT, fault_text="server disconnected")
SINGS = Canary(ok=True, duration_s=0.1, status=200)
SILENT = Canary(ok=False, duration_s=0.1, fault="refused")
REFUSED = (Health(0.1, fault=Fault.REFUSED),)
LOST = Evidence(SPEC, CUT, 5000, health_after=REFUSED, canary=SILENT, served_before=True)
LIVES = replace(LOST, health_after=(Health(0.1, 200),), canary=SINGS)


def at(length: int, content: str = "words", mode: Mode = "text") -> Evidence:
    return replace(LOST, spec=replace(SPEC, length=length, content=content, mode=mode))


def shown(verdict: Verdict) -> tuple[Outcome, int, str | None]:
    return verdict.outcome, verdict.deaths, verdict.blames


def test_the_first_loss_is_a_death_of_nobodys_and_the_second_ends_it() -> None:
    texts = Untokenized()
    first, second = texts.lost(LOST), texts.lost(LOST)
    assert shown(first) == (Outcome.ABANDONED, 1, "nobody")
    assert first.corroboration is Corroboration.PROVEN
    assert shown(second) == (Outcome.INFRA, 1, None)
    assert second.reason == "texts of 5000 tokens kill the target in tokenisation, before any engine reads them"
    assert second.next_step == "pass --tokenizer, or use --mode ids"


def test_a_silent_engine_is_a_presumed_death_and_another_process_a_proven_one() -> None:
    lived, lives = Scrape(0.0, {"process_start_time_seconds": 1.0}), Scrape(0.0, {"process_start_time_seconds": 2.0})
    unseen = replace(LOST, health_after=())
    assert Untokenized().lost(unseen).corroboration is Corroboration.PRESUMED
    swift = Untokenized().lost(replace(LIVES, before=lived, settled=lives))
    assert (shown(swift), swift.corroboration) == ((Outcome.ABANDONED, 1, "nobody"), Corroboration.PROVEN)


def test_who_serves_on_has_not_died_and_is_not_said_to_be_killed() -> None:
    texts = Untokenized()
    assert shown(texts.lost(LIVES)) == (Outcome.ABANDONED, 0, None)
    second = texts.lost(LIVES)
    assert shown(second) == (Outcome.INFRA, 0, None)
    assert second.reason.startswith("the target does not tokenize texts of 5000 tokens (connection cut")


def test_one_death_of_two_losses_is_not_said_to_be_the_texts() -> None:
    texts = Untokenized()
    texts.lost(LIVES)
    assert "kill" not in texts.lost(LOST).reason


def test_who_was_dead_before_the_text_was_sent_did_not_die_of_it() -> None:
    texts = Untokenized()
    refused = replace(LOST, reply=Reply(sent=False, fault=Fault.REFUSED))
    for _ in range(3):
        assert shown(texts.lost(refused)) == (Outcome.ABANDONED, 1, "nobody")
    assert texts.lost(LOST).outcome is Outcome.ABANDONED


def recorded(verdict: Verdict, seq: int = 1) -> Observation:
    shown = {"outcome": verdict.outcome, "reason": verdict.reason, "deaths": verdict.deaths}
    return Observation(seq=seq, spec=SPEC, length=5000, length_source="inferred", **shown)  # type: ignore[arg-type]


def test_a_resumed_run_remembers_what_it_asked_already() -> None:
    texts, resumed, passed = Untokenized(), Untokenized(), Untokenized()
    for _ in range(2):
        resumed.remember(recorded(texts.lost(LOST)))
    assert "kill the target" in resumed.lost(LOST).reason
    for verdict in (Untokenized().lost(LOST), Verdict(Outcome.PASS, "a complete answer")):
        passed.remember(recorded(verdict))
    assert passed.lost(LOST).outcome is Outcome.ABANDONED


@pytest.mark.parametrize(("counted", "again"), [(4999, Outcome.INFRA), (5000, Outcome.ABANDONED)])
def test_a_text_as_long_that_is_counted_clears_the_length(counted: int, again: Outcome) -> None:
    texts = Untokenized()
    texts.lost(LOST)
    texts.counted(replace(SPEC, length=counted))
    assert texts.lost(LOST).outcome is again


def test_two_lengths_are_both_named_and_another_content_is_another_text() -> None:
    texts = Untokenized()
    texts.lost(at(5000))
    assert texts.lost(at(6000, content="repeat")).outcome is Outcome.ABANDONED
    assert texts.lost(at(4990)).reason.startswith("texts of 4990 to 5000 tokens kill")


def test_passages_that_are_sent_as_ids_can_do_without() -> None:
    texts = Untokenized()
    texts.lost(at(5000, mode="ids", content="code"))
    assert texts.lost(at(5000, mode="ids", content="code")).next_step == "pass --tokenizer, or use --content words"


@pytest.mark.parametrize(
    ("evidence", "outcome"),
    [
        (replace(LIVES, reply=Reply(sent=True, status=429), overload_s=1.0), Outcome.BUSY),
        (replace(LIVES, away_s=9.0), Outcome.ABANDONED),
        (
            replace(LIVES, reply=Reply(sent=True, status=413), proxy=ProxySign("body-limit", "nginx", "raise it")),
            Outcome.INFRA,
        ),
    ],
)
def test_what_has_a_reason_of_its_own_keeps_it(evidence: Evidence, outcome: Outcome) -> None:
    texts = Untokenized()
    lived = Scrape(0.0, {"process_start_time_seconds": 1.0}, {"finished": 1.0})
    after = Scrape(1.0, {"process_start_time_seconds": 1.0}, {"finished": 2.0})
    for _ in range(2):
        verdict = texts.lost(replace(evidence, before=lived, settled=after))
        assert (verdict.outcome, verdict.deaths) == (outcome, 0)
        assert not verdict.reason.startswith((TAKEN, "texts", "the target"))


def test_a_door_before_the_tokenizer_is_told_as_that() -> None:
    shut = replace(LIVES, reply=Reply(sent=True, status=413), proxy=ProxySign("body-limit", "nginx", "Raise it."))
    verdict = Untokenized().lost(shut)
    assert verdict.reason.startswith("asked to tokenize a text of this length, nginx answered HTTP 413")
    assert verdict.next_step.startswith("Raise it, or name the model's own tokenizer with --tokenizer")

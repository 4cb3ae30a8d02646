"""Does an answer show nothing of an engine that may not have given it, and does no death hide behind it?"""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from fuzzer.evidence import Canary
from fuzzer.model import Baseline, Corroboration, Outcome, ProbeSpec, Role
from fuzzer.observation import Observation
from fuzzer.outcome import judge
from fuzzer.outcome.yardsticks import learnt
from fuzzer.store import codec
from targets.answer import Answer
from targets.base import Fault, Generation, Prompt, Reply, ServerError
from targets.exchange import Exchange
from tests.unit.test_outcome import BLIND, CANARY_500, CANARY_HANGS, REBORN, SINGS, SPEC, answer, evidence

NAMED = Baseline(model="ours", deployment="first")
CACHED = {"x-portkey-cache-status": "HIT"}
CACHED_CANARY = Canary(ok=False, duration_s=0.1, status=200, instead="it came out of a response cache", cached=True)
SERVED: dict[str, object] = {**BLIND, "served_before": True}


def test_a_stream_that_does_not_say_who_gave_it_any_more_is_no_pass() -> None:
    verdict = judge(evidence(answer(model="ours"), baseline=NAMED))
    assert (verdict.outcome, verdict.deaths) == (Outcome.INFRA, 0)
    assert "it does not say who gave this answer, as it did before (first)" in verdict.reason
    assert "--no-stream" in verdict.next_step
    whole = judge(evidence(answer(model="ours"), baseline=NAMED, spec=replace(SPEC, stream=False)))
    assert (whole.outcome, "--no-stream" in whole.next_step) == (Outcome.INFRA, False)


@pytest.mark.parametrize("allowed", [{"replicas": True}, {"baseline": Baseline(model="ours")}, {"baseline": None}])
def test_where_nobody_was_named_before_nobody_is_missed(allowed: dict[str, object]) -> None:
    assert judge(evidence(answer(model="ours"), **{"baseline": NAMED, **allowed})).outcome is Outcome.PASS


@pytest.mark.parametrize(
    "failed",
    [
        answer(complete=False, error=ServerError("EngineCore died"), error_in_stream=True, model="ours"),
        answer(complete=False, fault=Fault.CUT, model="ours"),
    ],
)
def test_a_failure_in_a_stream_that_names_nobody_is_told_as_one(failed: Reply) -> None:
    """Pings had begun it before anybody answered: what became of the engine shows all the same."""
    seen = {"canary": CANARY_500, "baseline": NAMED, **SERVED}
    assert judge(evidence(failed, **seen)).corroboration is Corroboration.PRESUMED


def test_deployments_may_answer_in_turns_where_that_is_allowed() -> None:
    other = answer(model="ours", headers={"x-portkey-last-used-option-index": "config.targets[1]"})
    known = Baseline(model="ours", deployment="config.targets[0]")
    assert judge(evidence(other, baseline=known)).outcome is Outcome.INFRA
    assert judge(evidence(other, baseline=known, in_turns=True)).outcome is Outcome.PASS
    assert judge(evidence(answer(model="ours"), baseline=known, in_turns=True)).outcome is Outcome.INFRA, "nobody's"
    assert judge(evidence(replace(other, model="gpt"), baseline=known, in_turns=True)).outcome is Outcome.INFRA


def test_whoever_went_on_with_an_answer_that_another_began_is_told() -> None:
    switched = answer(model="ours", also="hosted")
    verdict = judge(evidence(switched, baseline=Baseline(model="ours")))
    assert verdict.outcome is Outcome.INFRA
    assert "hosted answered in the place of ours" in verdict.reason
    assert judge(evidence(switched, baseline=Baseline(model="ours", also="hosted"))).outcome is Outcome.PASS, "its way"


def chunked(*chunks: dict[str, object]) -> Reply:
    taken = Answer(Generation(Prompt("ids", b"[1]", 1), 8))
    taken.begin(200, {"content-type": "text/event-stream"}, 0.1)
    taken.feed(b"".join(b"data: " + json.dumps(one).encode() + b"\n\n" for one in chunks), 0.2)
    return taken.reply(Exchange(200, {}))


@pytest.mark.parametrize(
    ("names", "told"),
    [
        ([{"model": ""}, {"model": "a"}, {"model": "a"}], ("a", "", "")),
        ([{"model": "a"}, {"model": "b"}], ("a", "", "b")),
        ([{"model": "a"}, {}, {"model": None}], ("a", "", "")),
        ([{"model": "a", "provider": "P"}, {"model": "a", "provider": "Q"}], ("a", "P", "Q")),
        ([{"model": "a", "provider": {"only": ["P"]}}], ("a", "", "")),
    ],
)
def test_names_are_taken_from_every_part_of_a_stream(
    names: list[dict[str, object]], told: tuple[str, str, str]
) -> None:
    reply = chunked(*({**name, "choices": [{"text": "x"}]} for name in names))
    assert (reply.model, reply.provider, reply.also) == told


def test_an_answer_out_of_a_cache_shows_nothing_and_is_asked_anew() -> None:
    for cached in (answer(headers=CACHED), answer(0, 0, headers=CACHED)):  # some count nothing that costs nothing
        verdict = judge(evidence(cached, baseline=NAMED))
        assert (verdict.outcome, verdict.deaths, verdict.wedged) == (Outcome.ABANDONED, 0, False)
        assert "response cache" in verdict.reason
        assert "x-portkey-cache-force-refresh" in verdict.next_step


def test_what_is_wrong_with_an_engine_that_a_cache_stood_in_for_is_of_no_length() -> None:
    def after(canary: Canary, **seen: object) -> tuple[Outcome, int, bool]:
        verdict = judge(evidence(answer(headers=CACHED), **{**SERVED, "canary": canary, **seen}))
        assert verdict.blames == ("nobody" if verdict.deaths else None)
        return verdict.outcome, verdict.deaths, verdict.wedged

    assert after(CANARY_500) == (Outcome.ABANDONED, 1, False)
    assert after(CANARY_500, served_before=False) == (Outcome.ABANDONED, 0, False), "it may never have been there"
    assert after(CANARY_HANGS) == (Outcome.ABANDONED, 0, True)
    assert after(CACHED_CANARY) == (Outcome.INFRA, 0, False), "it would know the next one too"
    assert after(SINGS, **{**evidence_of_metrics(), **REBORN}) == (Outcome.ABANDONED, 1, False)


def evidence_of_metrics() -> dict[str, object]:
    plain = evidence()
    return {"before": plain.before, "after": plain.after, "settled": plain.settled}


def test_an_answer_that_breaks_off_is_none_of_a_cache() -> None:
    """Whatever a header says of it: caches keep what came whole."""
    cut = answer(complete=False, fault=Fault.CUT, headers=CACHED)
    assert judge(evidence(cut, **{**SERVED, "canary": CANARY_500})).outcome is Outcome.DEATH


def passed(role: Role, mark: Baseline, *, stream: bool = True) -> Observation:
    spec = ProbeSpec(64, 32, role, "because", stream=stream)
    return Observation(1, spec, Outcome.PASS, 64, "usage", yardstick=mark)


@pytest.mark.parametrize(
    ("role", "stream", "then"),
    [(Role.LO, True, "first"), (Role.LO, False, ""), (Role.SEARCH, True, "")],
)
def test_who_answers_is_learnt_late_where_the_first_stream_was_kept_alive(role: Role, stream: bool, then: str) -> None:
    """Of lengths that nobody doubts, and of answers of the same form."""
    known = learnt((), passed(Role.BASELINE, Baseline(model="ours")), is_believed=True)
    later = learnt(known, passed(role, NAMED, stream=stream), is_believed=role is Role.LO)
    assert [mark.deployment for _, mark in later] == [then]
    again = learnt(later, passed(Role.LO, Baseline(model="ours", deployment="second")), is_believed=True)
    assert [mark.deployment for _, mark in again] == [then or "second"], "the first name stays"


def test_a_yardstick_of_an_older_record_is_read() -> None:
    old = codec.encode(NAMED)
    del old["also"], old["says_why"]
    assert codec.decode(Baseline, old) == NAMED

"""Does what is told inside a 200 get the verdict of its HTTP twin, and hides no death that the twin would not hide?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fuzzer.evidence import Evidence
from fuzzer.model import Corroboration, Outcome
from fuzzer.outcome import judge
from targets import proxies
from targets.base import Reply, ServerError
from targets.overloads import overload
from targets.refusals import refusal
from tests.unit.test_outcome import BLIND, CANARY_500, CANARY_REFUSED, evidence

QUEUE_FULL = ServerError("The request queue is full.", "SERVICE_UNAVAILABLE", 503)


def told(error: ServerError, *, inside: bool, **more: Any) -> Evidence:
    """The evidence of an error that comes inside a stream, or over HTTP with the status that it numbers."""
    status = 200 if inside else int(error.code or 503)
    reply = Reply(True, status, complete=not inside, error=error, error_in_stream=inside, ended_s=31.0)
    reply = replace(reply, **{name: more.pop(name) for name in ("events", "headers") if name in more})
    own = {"refusal": refusal(reply), "overload_s": overload(reply), "proxy": proxies.sign(reply)}
    return evidence(reply, **own, **more)


TWINS = [
    (QUEUE_FULL, Outcome.BUSY),
    (ServerError("Too many requests", code="429"), Outcome.BUSY),
    (ServerError("All workers are busy", "service_overloaded", 529), Outcome.BUSY),
    (ServerError("User not found.", code=401), Outcome.INFRA),
    (ServerError("Insufficient credits", code=402), Outcome.INFRA),
    (ServerError("No endpoints found for m.", code=404), Outcome.INFRA),
    (ServerError("Upstream idle timeout exceeded", code=504), Outcome.INFRA),
    (ServerError("This model's maximum context length is 8192 tokens, your prompt has 9000", code=400),
     Outcome.REJECTED),
    (ServerError("Payment required", code=402), Outcome.INFRA),
    (ServerError("The prompt exceeds the allowed length: 60000 > 50000", code=400), Outcome.INFRA),  # of no tokens
    (ServerError("Service Unavailable", "x", 503), Outcome.ERROR),
    (ServerError("boom", "x", 500), Outcome.ERROR),
]  # fmt: skip


@pytest.mark.parametrize("more", [{}, BLIND], ids=["metrics", "blind"])
@pytest.mark.parametrize(("error", "outcome"), TWINS, ids=lambda value: str(getattr(value, "message", ""))[:24])
def test_an_answer_inside_a_stream_gets_the_verdict_of_its_twin(
    error: ServerError, outcome: Outcome, more: dict[str, object]
) -> None:
    verdicts = [judge(told(error, inside=inside, **more)) for inside in (True, False)]
    assert [verdict.outcome for verdict in verdicts] == [outcome, outcome]
    assert verdicts[0].its_word == verdicts[1].its_word


def test_an_overload_without_a_number_is_busy_by_its_word() -> None:
    verdict = judge(told(ServerError("ResourceExhausted: All workers are busy"), inside=True, **BLIND))
    assert (verdict.outcome, verdict.its_word) == (Outcome.BUSY, True)


@pytest.mark.parametrize("error", [QUEUE_FULL, ServerError("Overloaded", "overloaded_error")])
@pytest.mark.parametrize("headers", [{}, {"retry-after": "2"}], ids=["bare", "named"])
def test_the_word_of_a_gateway_inside_a_stream_is_taken_once(error: ServerError, headers: dict[str, str]) -> None:
    """What the head of a 200 names was said before anybody was lost."""
    turned_away = told(error, inside=True, headers=headers, **BLIND)
    first, again = judge(turned_away), judge(replace(turned_away, took_its_word=True))
    assert (first.outcome, first.its_word) == (Outcome.BUSY, True)
    assert (again.outcome, again.corroboration) == (Outcome.DEATH, Corroboration.PRESUMED)


@pytest.mark.parametrize("canary", [CANARY_500, CANARY_REFUSED])
def test_an_overload_inside_a_stream_hides_no_engine_that_is_gone(canary: object) -> None:
    assert judge(told(QUEUE_FULL, inside=True, canary=canary, **BLIND)).outcome is Outcome.DEATH


def test_a_cooldown_inside_a_stream_hides_no_death() -> None:
    error = ServerError("No deployments available, try again. cooldown_list=['ab12']", code="429")
    turned_away = told(error, inside=True, served_before=True, **BLIND)
    first, again = judge(turned_away), judge(replace(turned_away, took_its_word=True, uncharged=True))
    assert (first.outcome, first.its_word) == (Outcome.BUSY, True)
    assert (again.outcome, again.deaths) == (Outcome.DEATH, 2)


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (QUEUE_FULL, Outcome.ERROR),
        (ServerError("Too many requests", code=429), Outcome.ERROR),
        (ServerError("User not found.", code=401), Outcome.ERROR),
        (ServerError("Upstream idle timeout exceeded", code=504), Outcome.INFRA),
    ],
)
def test_after_a_token_only_a_clock_is_somebody_elses(error: ServerError, outcome: Outcome) -> None:
    assert judge(told(error, inside=True, events=3)).outcome is outcome


def test_past_its_own_limit_an_engine_needs_few_words_inside_a_stream_too() -> None:
    terse = ServerError("request too large", code=400)
    assert [judge(told(terse, inside=inside, limit=4096)).outcome for inside in (True, False)] == [Outcome.REJECTED] * 2


@pytest.mark.parametrize("code", [400, 422])
def test_what_an_engine_numbers_400_inside_a_stream_is_no_limit_without_the_words_of_one(code: int) -> None:
    """Its streams give that number to whatever fails in them."""
    failed = ServerError("the draft exceeds its maximum", "BadRequestError", code)
    assert judge(told(failed, inside=True)).outcome is Outcome.ERROR
    assert judge(told(failed, inside=False)).outcome is Outcome.REJECTED


def test_a_death_that_is_numbered_400_inside_a_stream_stays_one() -> None:
    said = ServerError("EngineCore encountered an issue. See stack trace (above)", "BadRequestError", 400)
    assert judge(told(said, inside=True, **BLIND)).outcome is Outcome.DEATH


def test_ids_that_are_refused_inside_a_stream_are_refused() -> None:
    error = ServerError("prompt must be a string", code=400)
    canary = replace(CANARY_500, status=400, error="prompt must be a string")
    assert judge(told(error, inside=True, canary=canary, baseline=None, **BLIND)).refuses_ids


@pytest.mark.parametrize("code", [401, 403, 404])
@pytest.mark.parametrize("more", [{}, BLIND], ids=["metrics", "blind"])
def test_a_door_that_let_the_probe_in_hides_no_engine_that_fails_its_canary(code: int, more: dict[str, object]) -> None:
    shut = ServerError("not found" if code == 404 else "forbidden", code=code)
    assert judge(told(shut, inside=True, canary=CANARY_500, **more)).outcome is Outcome.DEATH
    assert judge(told(shut, inside=True, **more)).outcome is Outcome.INFRA

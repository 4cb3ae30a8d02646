"""Is a balancer's deadline told from a death, where it calls itself one?"""

from __future__ import annotations

from dataclasses import replace

import pytest

from fuzzer.evidence import Canary, Evidence
from fuzzer.model import Baseline, Corroboration, Outcome, ProbeSpec, Role
from fuzzer.observation import Observation
from fuzzer.observe import observe
from fuzzer.outcome import judge
from fuzzer.plans.bisect import BisectQuestion, bisect
from fuzzer.prompts.recipe import Recipe
from fuzzer.rig import Prepared
from fuzzer.standing import Standing
from fuzzer.store.codec import dumps, loads
from targets import proxies
from targets.base import Fault, Generation, Health, Prompt, Reply
from targets.bodies import server_error
from targets.scrape import Scrape
from tests.unit.worlds import World, play, prompt_above

GREEN, RED = Health(0.0, 200), Health(0.1, 503)
SINGS = Canary(ok=True, duration_s=0.1, status=200)
GOOGLE = (
    "<html><head>\n<title>502 Server Error</title>\n</head>\n<body>\n<h1>Error: Server Error</h1>\n<h2>The server "
    "encountered a temporary error and could not complete your request.<p>Please try again in 30 seconds.</h2>"
)
HEROKU = "<!DOCTYPE html><html><head><title>Application Error</title></head><body></body></html>"
NGINX = "<html><head><title>502 Bad Gateway</title></head><body><center>nginx/1.27</center></body></html>"


def page(status: int, said: str, ended_s: float = 30.02, **headers: str) -> Reply:
    return Reply(sent=True, status=status, complete=True, headers=headers, excerpt=said, ended_s=ended_s)


AWS = replace(page(503, '{"message":"Service Unavailable"}'), error=server_error({"message": "Service Unavailable"}))


def evidence(reply: Reply, **more: object) -> Evidence:
    """The third of three that were lost alike, without metrics, and with an engine that seems well."""
    plain = Evidence(
        ProbeSpec(9000, 32, Role.SEARCH, "because"), reply, 9000, offset=0, health_during=(GREEN,),
        health_after=(GREEN, GREEN), canary=SINGS, baseline=Baseline(), deadline_s=60, served_before=True,
        proxy=proxies.sign(reply), slowest_pass_s=29.0, recent_losses_s=(30.01, 30.03), lost_lengths=(8000, 8500),
        slowest_canary_s=0.1, predicted_s=29.0,
    )  # fmt: skip
    return replace(plain, **more)  # type: ignore[arg-type]


LOST = [page(502, GOOGLE), AWS, page(503, HEROKU), page(502, "")]


@pytest.mark.parametrize("reply", LOST)
def test_a_balancer_that_gives_up_at_one_second_at_any_length_killed_nobody(reply: Reply) -> None:
    verdict = judge(evidence(reply))
    assert (verdict.outcome, verdict.deaths) == (Outcome.INFRA, 0)
    assert f"gives up at 30 s, with a {reply.status}" in verdict.next_step
    assert "8000 to 9000 tokens" in verdict.reason


@pytest.mark.parametrize(
    "change",
    [
        {"recent_losses_s": (30.01,)},  # twice is chance
        {"lost_lengths": (8950, 8990)},  # what is alike takes as long
        {"reply": page(502, GOOGLE, 300.02), "recent_losses_s": (300.01, 300.01)},  # so long wait engines' watchdogs
        {"reply": page(502, NGINX)},  # says 504 of its own deadline
        {"reply": page(502, GOOGLE, server="cloudflare")},
        {"reply": replace(page(200, ""), complete=False, fault=Fault.CUT)},
        {"health_during": (), "health_after": (Health(0.0, 404),)},  # nobody knows whether it blinked
        {"slowest_canary_s": None},  # or whether somebody had to start
        {"died_for_sure": True},  # what kills it may do so again
        {"in_turns": True},  # one of several may die, and another sing
        {"replicas": True},
        {
            "reply": page(502, GOOGLE, 17.02),
            "recent_losses_s": (17.01, 17.03),
            "slowest_pass_s": 9.0,
        },  # nobody's choice
    ],
)
def test_where_it_may_be_a_clock_it_stays_a_death_and_the_doubt_is_said(change: dict[str, object]) -> None:
    asked = {"reply": LOST[0], **change}
    reply = asked.pop("reply")
    assert isinstance(reply, Reply)
    verdict = judge(evidence(reply, **asked))
    assert (verdict.outcome, verdict.corroboration, verdict.deaths) == (Outcome.DEATH, Corroboration.PRESUMED, 1)
    assert "all failed after" in verdict.reason
    assert "if a balancer's timeout of" in verdict.next_step


@pytest.mark.parametrize(
    "change",
    [
        {"recent_losses_s": ()},  # once is nothing
        {"recent_losses_s": (12.0, 30.01)},  # one of them was no clock's
        {"recent_losses_s": (30.9, 30.9)},
        {"slowest_pass_s": 31.0},  # nobody gave up on that one
        {"reply": page(502, GOOGLE, 30.5), "recent_losses_s": (30.5, 30.5), "lost_lengths": (9000, 9000)},
        {"reply": page(502, GOOGLE, 0.4), "recent_losses_s": (0.4, 0.4)},
        {"health_after": (GREEN, RED, GREEN)},
        {"health_after": (Health(0.0, fault=Fault.REFUSED),)},
        {"canary": Canary(ok=True, duration_s=25.0, status=200), "slowest_canary_s": 0.2, "predicted_s": 2.0},
        {"drained": (Canary(ok=False, duration_s=0.1, status=503, busy=True),)},
        {"canary": Canary(ok=False, duration_s=0.1, status=502, error="Server Error")},
        {"before": Scrape(0.0, {"process": 1.0}, {}), "settled": Scrape(0.0, {"process": 9.0}, {})},
    ],
)
def test_a_death_that_nothing_speaks_against_is_called_one(change: dict[str, object]) -> None:
    asked = {"reply": LOST[0], **change}
    reply = asked.pop("reply")
    assert isinstance(reply, Reply)
    verdict = judge(evidence(reply, **asked))
    assert (verdict.outcome, verdict.deaths, verdict.next_step) == (Outcome.DEATH, 1, "")


def test_at_one_length_only_a_whole_second_is_in_doubt() -> None:
    """A crash at one place takes one time; that this is a whole second is chance."""
    assert judge(evidence(LOST[0], lost_lengths=(9000, 9000))).next_step


def test_three_in_a_row_are_told_by_what_the_record_keeps() -> None:
    standing, outcomes = Standing(), []
    for seq, length in enumerate((8000, 8500, 9000)):
        spec = ProbeSpec(length, 32, Role.SCAN, "because")
        generation = Generation(Prompt("ids", b"[]", length), 32)
        prepared = Prepared(seq, spec, generation, b"{}", "", Recipe("ids", length, "words", "1", str(seq)), None)
        losses, lengths = standing.losses_s, standing.lost_lengths
        e = evidence(LOST[0], spec=spec, sent_tokens=length, recent_losses_s=losses, lost_lengths=lengths)
        seen = observe(prepared, e, judge(e), standing, started_s=0.0, ended_s=40.0)
        outcomes.append((seen.outcome, bool(seen.next_step)))
        standing = standing.after(loads(Observation, dumps(seen)))
    assert outcomes == [(Outcome.DEATH, False), (Outcome.DEATH, True), (Outcome.INFRA, True)]


def test_the_doubt_is_said_with_the_edge() -> None:
    world = World(prompt_above(5_000), limit=None)

    def answer(spec: ProbeSpec) -> Observation:
        seen = world.answer(spec)
        return replace(seen, next_step="raise its timeout") if seen.outcome is Outcome.DEATH else seen

    found = play(bisect(BisectQuestion(lo=1_000, hi=8_000)), answer).finding
    assert found.first_bad == 5_001
    assert "raise its timeout" in found.reason

"""What do a failure's own words change: an engine that tells of its memory lives, one that ended by a signal died?"""

from __future__ import annotations

import pytest

from fuzzer.evidence import Evidence
from fuzzer.model import Corroboration, Outcome
from fuzzer.outcome import judge
from targets import proxies
from targets.base import Reply, ServerError
from targets.bodies import server_error
from targets.overloads import overload
from targets.refusals import refusal
from tests.unit.test_outcome import (
    BLIND,
    CANARY_500,
    CANARY_REFUSED,
    GREEN,
    LATE,
    REBORN,
    RED,
    answer,
    evidence,
    http,
)  # fmt: skip

MEMORY = ServerError("GPU memory exhausted")
SHORT = {
    "fastapi": Reply(True, 503, complete=True, error=server_error({"detail": "CUDA out of memory. Tried 1.2 GiB"})),
    "plain": Reply(True, 503, complete=True, error=MEMORY, headers={"retry-after": "1"}),
}
short = pytest.mark.parametrize("reply", SHORT.values(), ids=SHORT)


def told(reply: Reply, **more: object) -> Evidence:
    own = {"refusal": refusal(reply), "overload_s": overload(reply), "proxy": proxies.sign(reply)}
    return evidence(reply, **own, **{**BLIND, **more})


@short
def test_a_503_that_tells_of_the_engines_memory_is_its_own_error(reply: Reply) -> None:
    verdict = judge(told(reply))
    assert (verdict.outcome, verdict.deaths) == (Outcome.ERROR, 0), verdict.reason


@short
@pytest.mark.parametrize(
    "change",
    [
        {"canary": CANARY_500},
        {"canary": CANARY_REFUSED},
        {"health_after": (GREEN, RED, GREEN)},
        LATE,
        REBORN | {"before": evidence().before},
    ],
    ids=["canary errs", "canary refused", "health went down", "canary late", "another process"],
)
def test_an_engine_that_died_of_it_is_dead_whatever_it_said(reply: Reply, change: dict[str, object]) -> None:
    assert judge(told(reply, **change)).outcome is Outcome.DEATH


GATEWAYS = [
    Reply(True, 503, complete=True, excerpt="<html><h1>503 Service Temporarily Unavailable</h1></html>"),
    Reply(True, 503, complete=True, excerpt="<html><h1>503</h1> CUDA out of memory</html>"),
    Reply(True, 503, complete=True, excerpt="out of memory"),
    http(503, "upstream connect error or disconnect/reset before headers. reset reason: connection termination"),
    http(503, "Connection reset by peer: GPU memory exhausted"),
    http(503, "The worker ran out of memory"),
    http(503, "0/3 nodes are available: 3 Insufficient memory."),
    http(503, "Service Unavailable"),
    http(502, "CUDA out of memory"),
]


@pytest.mark.parametrize("reply", GATEWAYS, ids=lambda reply: str(proxies.sign(reply) or reply.error)[:40])
def test_a_gateway_that_lost_its_engine_tells_of_a_death(reply: Reply) -> None:
    verdict = judge(told(reply))
    assert (verdict.outcome, verdict.corroboration) == (Outcome.DEATH, Corroboration.PRESUMED), verdict.reason


@pytest.mark.parametrize(
    "said",
    [
        "Runner failed with exit code: 137",
        "backend failed with exit code 139",
        "exited with signal 11",
        "MPI_ABORT called",
    ],
)
def test_an_end_by_a_signal_is_a_death_though_all_is_green_again(said: str) -> None:
    for reply in (http(500, said), Reply(True, 500, complete=True, excerpt=said)):
        verdict = judge(told(reply))
        assert (verdict.outcome, verdict.corroboration, verdict.deaths) == (Outcome.DEATH, Corroboration.PRESUMED, 1)
    assert judge(evidence(http(500, said))).outcome is Outcome.ERROR, "but where the same process goes on"


def test_a_prompt_that_tells_of_an_end_kills_nobody() -> None:
    log = "yesterday the runner failed with exit code 137, killed by signal 9"
    assert judge(told(answer(text=log))).outcome is Outcome.PASS
    assert judge(told(http(500, f"could not process the prompt '{log}'"))).outcome is Outcome.ERROR
    long = http(400, f"This model's maximum context length is 4096 tokens. Your prompt: '{log}' has 8000 tokens.")
    assert judge(told(long)).outcome is Outcome.REJECTED

"""Is a blink of the way to the engine told from an engine that is down?"""

from __future__ import annotations

from dataclasses import replace

import pytest

from fuzzer.evidence import Canary, Evidence
from fuzzer.model import Baseline, Outcome, ProbeSpec, Role
from fuzzer.outcome import judge
from fuzzer.outcome.vitals import health_went_down
from targets.base import Fault, Health, Reply, ServerError

GREEN = Health(0.0, 200)
BOOM = Reply(sent=True, status=500, complete=True, error=ServerError("boom", type="InternalError", code=500))
OF_THE_WAY = [Fault.NO_ROUTE, Fault.NETWORK, Fault.PROXY, Fault.TLS, Fault.PROTOCOL]


def after(*polls: Health) -> Evidence:
    """A typed 500, a canary that sang, and these polls in the grace."""
    return Evidence(
        ProbeSpec(9000, 32, Role.SEARCH, "because"), BOOM, 9000, offset=0, health_during=(GREEN,), health_after=polls,
        canary=Canary(ok=True, duration_s=0.1, status=200), baseline=Baseline(), served_before=True,
    )  # fmt: skip


@pytest.mark.parametrize("fault", OF_THE_WAY)
def test_a_way_that_blinks_among_green_polls_is_no_engine_that_is_down(fault: Fault) -> None:
    blinked = after(GREEN, Health(0.1, fault=fault), GREEN)
    assert health_went_down(blinked) is None
    assert judge(blinked).outcome is Outcome.ERROR


@pytest.mark.parametrize("fault", OF_THE_WAY)
@pytest.mark.parametrize("last", [(), (Health(0.3, fault=Fault.TIMEOUT),), (Health(0.3, 429),)])
def test_a_host_that_stays_away_is_down(fault: Fault, last: tuple[Health, ...]) -> None:
    """Also where the polls after that come to no end, or are turned away."""
    gone = after(GREEN, Health(0.1, fault=fault), Health(0.2, fault=fault), *last)
    assert health_went_down(gone) == str(fault)
    assert judge(gone).outcome is Outcome.DEATH


@pytest.mark.parametrize("poll", [Health(0.1, 503), *(Health(0.1, fault=one) for one in (Fault.RESET, Fault.CUT))])
def test_one_poll_that_the_engine_itself_fails_tells(poll: Health) -> None:
    assert health_went_down(after(GREEN, poll, GREEN)) is not None
    assert judge(after(GREEN, poll, GREEN)).outcome is Outcome.DEATH


def test_a_socket_that_is_refused_tells_of_one_engine_alone() -> None:
    refused = after(GREEN, Health(0.1, fault=Fault.REFUSED), GREEN)
    assert health_went_down(refused) == "refused"
    assert health_went_down(replace(refused, replicas=True)) is None

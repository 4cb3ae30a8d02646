"""Is a restart told from another engine's turn, whatever order they are seen in?"""

from __future__ import annotations

from dataclasses import replace

import pytest

from fuzzer.before.preflight import read as company
from fuzzer.evidence import Canary, Evidence, Verdict
from fuzzer.lifetime.lives import Lives, Turns
from fuzzer.model import Outcome, ProbeSpec, Role
from targets.base import Reply
from targets.scrape import Scrape, mixed, restarted, went_on


def look(start: float | None) -> Scrape | None:
    return None if start is None else Scrape(0.0, {"process": start})


def probe(*starts: float | None) -> Evidence:
    before, after, settled = (look(start) for start in starts)
    spec = ProbeSpec(64, 8, Role.SEARCH, "")
    return Evidence(spec, Reply(sent=True, status=200), 64, before=before, after=after, settled=settled)


@pytest.mark.parametrize(
    ("starts", "several"),
    [
        ((1000, 1000, 1060, 1060, 1120), False),  # restarts
        ((1000, None, 1060, None, 1060), False),
        ((1000.0, 1000.4, 999.9, 1000.3), False),  # reckoned anew at each look
        ((1000, 1030, 1000), True),
        ((1000, 1000, 1030, 1030, 1030, 1000), True),
        ((1030, 1000), True),
    ],
)
def test_a_start_that_goes_back_is_no_restart(starts: tuple[float | None, ...], several: bool) -> None:
    assert (Turns().see(*map(look, starts)) != "") == several


def test_processes_are_told_apart_by_their_labels() -> None:
    two = [Scrape(0.0, {"rank 0": 1000.0}), Scrape(0.0, {"rank 1": 900.0}), Scrape(0.0, {"rank 0": 1000.0})]
    assert Turns().see(*two) == ""


@pytest.mark.parametrize(
    ("start", "done", "another"),
    [
        (1000.01, 6, False),  # reckoned anew
        (999.0, 6, False),
        (1000.4, 0, True),  # its counters began anew too
        (1002.0, 6, True),
        (998.0, 6, True),
    ],
)
def test_a_start_that_trembles_is_another_processes_only_where_the_counters_say_so(
    start: float, done: float, another: bool
) -> None:
    first = Scrape(0.0, {"process": 1000.0}, {"vllm:requests_total": 5.0}, finished=5.0)
    other = Scrape(1.0, {"process": start}, {"vllm:requests_total": done}, finished=done)
    assert (restarted(first, other) is not None or mixed(first, other)) == another
    assert went_on(first, other) == (not another)
    assert company([first, other]).replicas == 1 + another


def test_of_two_that_count_nothing_yet_any_start_tells() -> None:
    first, other = look(1000.0), look(1000.4)
    assert first is not None
    assert other is not None
    assert restarted(first, other) is not None
    assert company([first, other]).replicas == 2


SANG = Canary(ok=True, duration_s=0.1)


def test_what_may_be_a_turn_is_looked_at_again_and_what_stays_is_a_restart() -> None:
    lives = Lives(None)
    for starts, doubted in (((1000, 1000, 1000), False), ((1000, 1000, 1030), True), ((1030, 1030, 1030), False)):
        seen = replace(probe(*starts), canary=SANG)
        assert lives.doubts(seen) is doubted
        assert lives.met(seen, [look(1030)] * 6 if doubted else []).several == ""
    unseen = replace(probe(1060, 1060, 1060), canary=SANG)
    assert lives.doubts(unseen), "between two probes"
    assert not lives.doubts(replace(unseen, canary=None)), "nobody serves"
    assert lives.met(unseen, [look(1060), None, look(1030)]).several != ""


def test_what_an_earlier_session_looked_at_is_not_forgotten() -> None:
    lives = Lives(look(1030))
    lives.recall([look(1000), None, look(1030)])
    assert not lives.doubts(replace(probe(1030, 1030, 1030), canary=SANG))
    assert lives.met(probe(1000, 1000, 1000)).several == "process start went back from 1030.00 to 1000.00"


@pytest.mark.parametrize(
    ("left", "now", "told", "deaths"),
    [
        (1000, 1060, True, 0),  # put away while idle
        (1000, 1000, False, 1),  # and restarted after the wait
        (1030, 1060, False, 1),  # restarted before the wait too
        (1000, None, False, 0),  # nobody is there: whoever comes is compared with nobody
    ],
)
def test_who_is_restarted_while_we_only_wait_dies_no_death(left: int, now: int | None, told: bool, deaths: int) -> None:
    lives = Lives(look(1000))
    seen = look(left)
    assert seen is not None
    assert (lives.waited(seen, look(now)) is not None) == told
    verdict, _ = lives.with_unseen_deaths(Verdict(Outcome.PASS, ""), probe(1060, 1060, 1060))
    assert verdict.deaths == deaths


def test_a_revival_is_no_turn() -> None:
    lives = Lives(None)
    lives.met(probe(1000, 1000, None))
    lives.known = look(1007)
    assert not lives.doubts(replace(probe(1007, 1007, 1007), canary=SANG))


def test_turns_show_from_one_probe_to_the_next_and_are_not_forgotten() -> None:
    lives = Lives(None)
    assert [lives.met(probe(*starts)).replicas for starts in ((1000, 1000, 1000), (1000, 1030, 1030))] == [False] * 2
    turned = lives.met(probe(1000, 1000, 1000))
    assert (turned.replicas, lives.replicas) == (True, True)
    assert turned.several == "process start went back from 1030.00 to 1000.00"
    assert lives.met(probe(None, None, None)).several == turned.several

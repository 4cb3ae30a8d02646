"""Is a limit that nobody told believed only as long as nothing speaks against it?"""

from __future__ import annotations

from dataclasses import replace

from fuzzer.finding import FindingKind
from fuzzer.model import ProbeSpec
from fuzzer.observation import Observation
from fuzzer.plans.bisect import bisect
from fuzzer.plans.question import BisectQuestion
from tests.unit.worlds import Played, World, play

QUESTION = BisectQuestion(lo=1_000, hi=20_000)


def cut(spec: ProbeSpec, seen: Observation, given: int) -> Observation:
    return replace(seen, completion_tokens=given, clamped=given < spec.output_tokens and spec.stop_after is None)


def played(most: int, given: int) -> Played:
    """Past so many prompt tokens an answer has no more than `given` tokens."""
    world = World()

    def answer(spec: ProbeSpec) -> Observation:
        seen = world.answer(spec)
        return cut(spec, seen, given) if seen.length > most and spec.output_tokens > given else seen

    return play(bisect(QUESTION), answer)


def test_answers_that_are_cut_at_many_sums_are_cut_by_no_limit() -> None:
    finding = played(9_000, 1).finding
    assert (finding.kind, finding.last_good, finding.first_bad) == (FindingKind.TRUNCATED, 9_000, 9_001)
    assert finding.cap is not None
    assert finding.cap <= 9_000


def test_answers_that_are_cut_at_one_sum_are_clamped() -> None:
    world = World()
    limit = 9_000

    def answer(spec: ProbeSpec) -> Observation:
        seen = world.answer(spec)
        left = min(spec.output_tokens, limit - seen.length)
        return cut(spec, seen, left) if 0 < left < spec.output_tokens else seen

    finding = play(bisect(replace(QUESTION, hi=8_999)), answer).finding
    assert finding.kind is FindingKind.NONE


def test_a_server_that_never_gives_more_bounds_the_number_alone() -> None:
    assert played(0, 16).finding.kind is FindingKind.NONE

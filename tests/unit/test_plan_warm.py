"""Is a warm edge asked warm: is the prefix in the cache when a warm prompt is sent, and is it said whether it was?"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from fuzzer.finding import FindingKind
from fuzzer.model import Outcome, Role
from fuzzer.plans.bisect import BisectQuestion, bisect, next_step
from fuzzer.plans.ledger import Ledger
from fuzzer.plans.single import single
from fuzzer.plans.warmth import hit_words
from tests.unit.worlds import Played, Request, Rule, World, any_of, cold_above, play, prompt_above, warm_above

QUESTION = BisectQuestion(lo=8_000, hi=300_000, cache="warm")


def run(rule: Rule, **asked: object) -> Played:
    return play(bisect(replace(QUESTION, **asked)), World(rule).answer)  # type: ignore[arg-type]


def edge(played: Played) -> tuple[FindingKind, int | None, int | None]:
    return played.finding.kind, played.finding.last_good, played.finding.first_bad


@pytest.mark.parametrize("at", [9_001, 100_000, 262_144])
def test_an_edge_that_is_only_warm_is_found_exactly(at: int) -> None:
    played = run(warm_above(at))
    assert edge(played) == (FindingKind.DEATH, at, at + 1)
    assert played.deaths <= 6


def test_first_bad_is_confirmed_on_a_fresh_engine_that_only_read_what_is_good() -> None:
    played = run(warm_above(100_000))
    again = next(seen for seen in played.log if seen.spec.role is Role.CONFIRM_BAD)
    before = [seen for seen in played.log if seen.incarnation == again.incarnation and seen.seq < again.seq]
    assert [seen.spec.role for seen in before] == [Role.PRIME, Role.PRIME]
    assert max(seen.length for seen in before) <= 100_000
    assert not again.fresh  # by the count of requests; but what came before it were primes
    assert played.finding.confidence.first_bad_failures == 2


def test_a_lo_that_is_trusted_fills_the_cache() -> None:
    played = run(warm_above(100_000), trust_lo=True)
    assert edge(played) == (FindingKind.DEATH, 100_000, 100_001)
    assert played.log[1].spec.role is Role.PRIME
    assert played.log[1].length == 8_000


def test_a_prime_that_fails_and_leaves_the_engine_alive_spoils_it() -> None:
    """What fails after it is not the first real request of a fresh engine."""
    log = run(warm_above(100_000)).log
    again = next(at for at, seen in enumerate(log) if seen.spec.role is Role.CONFIRM_BAD)
    spoilt = [*log[: again - 1], replace(log[again - 1], outcome=Outcome.ERROR), log[again]]
    for seen, is_fresh in ((log[: again + 1], True), (spoilt, False)):
        assert Ledger(QUESTION, seen).evidence[-1].fresh is is_fresh


def test_an_edge_that_is_only_cold_is_not_claimed_warm() -> None:
    played = run(cold_above(100_000))
    assert (played.finding.kind, played.deaths) == (FindingKind.NONE, 0)


def test_the_lower_cold_edge_does_not_disturb_the_warm_one() -> None:
    played = run(any_of(cold_above(50_000), warm_above(200_000)))
    assert edge(played) == (FindingKind.DEATH, 200_000, 200_001)


def test_no_long_prompt_is_sent_into_an_empty_cache() -> None:
    played = run(prompt_above(123_456))
    longest: dict[int, int] = {}
    for seen in played.log:
        read = longest.get(seen.incarnation, 0)
        if seen.incarnation and seen.spec.role is not Role.PRIME:
            assert read >= min(seen.length, 8_000), seen.spec
        longest[seen.incarnation] = max(read, seen.length)


def test_a_prime_that_passes_was_read_cold_and_says_nothing_of_a_warm_prompt() -> None:
    played = run(prompt_above(123_456))
    primes = {seen.seq for seen in played.log if seen.spec.role is Role.PRIME}
    ledger = Ledger(QUESTION, played.log)
    assert primes
    assert not primes & {seen.seq for _, tally in ledger.line() for seen in tally.passes}
    assert played.finding.confidence.last_good_passes == 9


@pytest.mark.parametrize("lo", [5_000, 8_000])
def test_what_only_dies_when_the_cache_serves_it_is_under_no_cap(lo: int) -> None:
    """`lo` passes where it is read cold, and so does every prime: only hits kill."""

    def hits_above(request: Request) -> Outcome | None:
        return Outcome.DEATH if request.hit >= 4_900 and request.output >= 16 else None

    played = run(hits_above, lo=lo, hi=lo + 500)
    assert edge(played) == (FindingKind.DEATH, 4_912, 4_913)  # 307 blocks are served of 4,913 tokens: 4,912
    assert played.deaths <= 6


def test_a_prime_that_fails_is_not_sent_for_ever() -> None:
    """What passed warm fails cold: the cache cannot be filled with it again."""
    played = run(any_of(lambda request: Outcome.ERROR if request.prompt - request.hit > 60_000 else None))
    assert len(played.log) < 200


def test_a_prompt_that_is_counted_as_another_is_read_into_the_cache_once() -> None:
    world = World(prompt_above(6_381), limit=7_097, style="prompt", counts=lambda tokens: tokens + (tokens % 3 == 0))
    question = replace(QUESTION, lo=4_096, hi=7_096, output_tokens=8, round_to=1, resolution=16, limit=7_097)
    played = play(bisect(replace(question, companions=1)), world.answer)
    primes = Counter((seen.incarnation, seen.spec) for seen in played.log if seen.spec.role is Role.PRIME)
    assert max(primes.values()) == 1
    assert played.finding.halt is None


@pytest.mark.parametrize(
    ("world", "words"),
    [
        (World(warm_above(100_000)), "hits are proven"),
        (World(warm_above(100_000), shows_hits=False), "is not known"),
    ],
)
def test_whether_hits_were_proven_is_said(world: World, words: str) -> None:
    finding = play(bisect(QUESTION), world.answer).finding
    assert any(words in said for said in finding.assumes), finding.assumes


def test_a_cache_that_serves_nothing_is_said() -> None:
    log = [replace(seen, cached_tokens=0) for seen in run(prompt_above(100_000)).log]
    assert "served no warm prompt" in str(hit_words(Ledger(QUESTION, log)))


def test_a_last_good_of_which_the_cache_served_a_part_is_said() -> None:
    log = [replace(seen, cached_tokens=min(seen.cached_tokens or 0, 60_000)) for seen in run(prompt_above(100_000)).log]
    assert "but no more than 60000 tokens of 100000: whether" in str(hit_words(Ledger(QUESTION, log)))
    assert "no more than" not in str(hit_words(Ledger(QUESTION, run(prompt_above(100_000)).log)))


def test_cold_questions_prime_nothing_and_say_nothing_of_hits() -> None:
    played = run(prompt_above(100_000), cache="cold")
    assert Role.PRIME not in {seen.spec.role for seen in played.log}
    assert not any("cache served" in said for said in played.finding.assumes)


def test_any_beginning_of_a_warm_run_asks_the_same_next() -> None:
    log = run(warm_above(100_000)).log
    for count in range(len(log)):
        assert next_step(Ledger(QUESTION, log[:count])) == log[count].spec


@pytest.mark.parametrize("hits", [False, True])
def test_one_warm_probe_is_sent_until_the_cache_could_serve_it(hits: bool) -> None:
    """Where it fails it has failed; where it passes because it was read anew it is sent once more."""

    def dies(request: Request) -> Outcome | None:
        return Outcome.DEATH if hits and request.hit >= 4_900 else None

    played = play(single(replace(QUESTION, lo=5_000, hi=5_001)), World(dies).answer)
    assert [seen.spec.role for seen in played.log].count(Role.SINGLE) == 2
    assert played.finding.kind is (FindingKind.DEATH if hits else FindingKind.NONE)


def test_a_warm_probe_that_fails_at_once_is_not_sent_again() -> None:
    played = play(single(replace(QUESTION, lo=5_000, hi=5_001)), World(prompt_above(4_000)).answer)
    assert (played.finding.kind, played.deaths) == (FindingKind.DEATH, 1)


@pytest.mark.parametrize("outcome", [Outcome.GARBLED, Outcome.TRUNCATED, Outcome.ERROR, Outcome.HANG])
def test_what_is_no_failure_here_is_ground_and_not_asked_for_ever(outcome: Outcome) -> None:
    played = run(
        lambda request: outcome if request.prompt > 100_000 else None, fail_on=frozenset({Outcome.DEATH})
    )  # fmt: skip
    assert played.finding.kind is FindingKind.NONE
    assert len(played.log) < 80


def test_an_output_is_asked_once_however_much_of_its_prompt_is_served() -> None:
    probes = {
        cache: len(run(lambda request: Outcome.DEATH if request.output > 3_000 else None, cache=cache, axis="output",
                       lo=1_000, hi=8_000, output_tokens=64).log)
        for cache in ("cold", "warm")
    }  # fmt: skip
    assert probes["warm"] < 1.5 * probes["cold"]

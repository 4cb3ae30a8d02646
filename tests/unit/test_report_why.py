"""Does the story of a run say what was believed, why, at what cost, and what was learnt?"""

from __future__ import annotations

from dataclasses import replace

from fuzzer.model import Outcome
from fuzzer.plans.bisect import BisectQuestion, bisect
from fuzzer.report.why import why
from tests.unit.worlds import World, drafts_above, flaky_above, play, total_above

QUESTION = BisectQuestion(lo=244_689, hi=300_000)


def test_every_probe_is_told_in_its_four_parts_and_the_finding_last() -> None:
    played = play(bisect(QUESTION), World(drafts_above(262_145), k=7).answer)
    told = list(why(QUESTION, played.log, played.finding))
    heads = [line for line in told if line.startswith("#")]
    assert len(heads) == len(played.log)
    assert heads[0] == "#1 baseline: 64 prompt tokens + 32"
    for part in ("believed", "because", "cost", "learnt"):
        assert sum(line.startswith(f"  {part} ") for line in told) == len(heads)
    assert told[1:5] == [
        "  believed  nothing is known to pass, nothing is known to fail",
        "  because   what a short prompt shows",
        "  cost      1.00 s",
        "  learnt    pass; 64 passes, nothing is known to fail; k is 7",
    ]
    assert "finding: death: 262106 passes, 262107 ends in death" in "\n".join(told)
    assert "  cap       262,096" in told
    assert any("S - O - k + 1" in line for line in told)


def test_chances_costs_and_repetitions_are_said() -> None:
    played = play(bisect(QUESTION), World(drafts_above(262_145), k=7).answer)
    told = list(why(QUESTION, played.log, played.finding))
    assert any("likely to pass" in line for line in told)
    assert any("a failure being 20 times as dear as a pass" in line for line in told)
    assert any("a likely edge is S - O - k with S = 262144" in line for line in told)
    assert any("and 1 death" in line for line in told if line.startswith("  cost"))
    assert any("(9 passes, 0 failures there so far)" in line for line in told)
    assert any("262,106 passes, 262,107 does not" in line for line in told if line.startswith("  learnt"))


def test_halving_asks_the_top_and_then_the_middle() -> None:
    halving = BisectQuestion(lo=1_000, hi=1_100, strategy="halving", confidence=0.5)
    played = play(bisect(halving), World(drafts_above(1_090)).answer)
    told = list(why(halving, played.log, played.finding))
    assert "  because   the edge is in 1000 .. 1100; the top may settle it all" in told
    assert "  because   the edge is in 1000 .. 1099; this is its middle" in told


def test_noise_and_what_is_no_evidence_are_said() -> None:
    played = play(bisect(QUESTION), World(flaky_above(262_144, 0.6), seed=2).answer)
    assert any("failures are noisy" in line for line in why(QUESTION, played.log, played.finding))
    busy = replace(played.log[0], outcome=Outcome.BUSY, reason="come \x1b[2J later")
    told = list(why(QUESTION, [busy], None))
    assert told[4] == "  learnt    nothing of the length: busy: come [2J later"
    assert told[-1] == "no finding yet: the run did not end"


def test_both_stages_of_a_mixed_search_are_told() -> None:
    mixed = replace(QUESTION, cache="mixed")
    played = play(bisect(mixed), World(total_above(251_717)).answer)
    told = list(why(mixed, played.log, played.finding))
    heads = [line for line in told if line.startswith("#")]
    warm = [line.endswith(", warm") for line in heads]
    assert warm == sorted(warm, reverse=True)
    assert any("so that the prefix is in this engine's cache" in line for line in told)
    assert "  because   an end of the edge on a warm prefix: is it one of a cold prompt too?" in told
    assert "on a warm prefix it is the same" in told[len(heads) * 5]


def test_a_search_over_outputs_is_told_with_its_own_bracket() -> None:
    turned = BisectQuestion(lo=500, hi=4_000, axis="output")
    played = play(bisect(turned), World(total_above(2_048)).answer)
    told = list(why(turned, played.log, played.finding))
    assert "#2 lo: 64 prompt tokens + 500" in told
    assert any("1,984 passes, 1,985 does not" in line for line in told if line.startswith("  learnt"))

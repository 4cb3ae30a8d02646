"""What is said, and what is to be run, where something fails under longer prompts that pass, or past the limit?"""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from fuzzer.finding import Finding, FindingKind, Halt
from fuzzer.model import Outcome, ProbeSpec, Role
from fuzzer.observation import Observation
from fuzzer.report import comparable, difference
from fuzzer.report.asked import search_of
from fuzzer.report.next import next_commands
from fuzzer.report.summary import Facts, summary
from fuzzer.store import Run, RunRecord

ISLAND = (32_768, 32_768)
QUESTION: dict[str, Any] = {"lo": 20_000, "hi": 60_000, "output_tokens": 32, "round_to": 16, "resolution": 1}


def run_of(limit: int | None = 131_072, engine: str = "vllm", **question: object) -> Run:
    record = RunRecord(
        "bisect", (), "http://host:8000", "tiny", engine, "bisect", "1", limit, question={**QUESTION, **question}
    )
    return Run("1m8abc", record, "2026-11-29T17:00:00.000Z", "sre", "box", "0.1.0", "done")


def death(cap: int | None = None, *islands: tuple[int, int], **more: Any) -> Finding:
    verified = more.pop("verified_up_to", islands[0][0] - 1 if islands else 50_000)
    return Finding(
        FindingKind.DEATH,
        "",
        last_good=50_000,
        first_bad=50_001,
        islands=islands,
        cap=cap,
        verified_up_to=verified,
        **more,
    )


def first_next(finding: Finding, **question: object) -> list[str]:
    facts = Facts(run_of(**question), finding, (), 1.0, "runs.db")  # type: ignore[arg-type]
    return shlex.split(next(iter(next_commands(facts))), comments=True)[1:]


def ends(words: list[str]) -> tuple[str, str]:
    return words[words.index("--lo") + 1], words[words.index("--hi") + 1]


@pytest.mark.parametrize("halt", [None, Halt.DEATHS, Halt.TIME])
def test_what_is_to_be_run_next_lies_below_the_lowest_island(halt: Halt | None) -> None:
    words = first_next(death(None, ISLAND, (40_000, 40_003), halt=halt, verified_up_to=20_000))
    assert ends(words) == ("20000", "32768")
    assert "--trust-hi" in words
    assert "--trust-lo" not in words


def test_what_recurs_has_no_cap_below_it_to_be_bisected() -> None:
    holes = ((32_768, 32_768), (40_960, 40_960))
    assert first_next(death(None, *holes))[0] == "fuzz"
    assert first_next(death(None, *holes, halt=Halt.DEATHS))[0] == "bisect"
    assert first_next(death(32_752, *holes))[0] == "recommend"


def test_a_cap_below_the_island_is_there_to_be_set() -> None:
    assert first_next(death(32_752, ISLAND))[0] == "recommend"


def test_what_another_run_recorded_is_an_island_too() -> None:
    words = first_next(death(None, verified_up_to=64), known_bad=[32_768, 50_001])
    assert ends(words) == ("64", "32768")
    assert first_next(death(50_000), known_bad=[32_768, 50_001])[0] == "recommend"  # it passed


def test_where_only_the_short_prompt_is_known_there_is_a_start_all_the_same() -> None:
    assert ends(first_next(death(None, ISLAND, verified_up_to=None))) == ("16384", "32768")


def test_what_fails_past_the_limit_alone_has_a_next_step() -> None:
    past = Finding(FindingKind.TRUNCATED, "", last_good=999, verified_up_to=999)
    words = first_next(past, limit=1_000)
    assert words[:1] + words[-2:] == ["verify", "--cap", "1000"]


@pytest.mark.parametrize(("limit", "said"), [(800, False), (262_144, True), (None, False)])
def test_a_limit_below_the_one_that_is_advertised_refuses_what_is_between(limit: int | None, said: bool) -> None:
    found = Finding(FindingKind.CLEAN_LIMIT, "", last_good=799, first_rejected=801, verified_up_to=799, cap=800)
    rows = dict(summary(Facts(run_of(limit=limit), found, (), 1.0, "runs.db")).rows)
    assert rows["set"].startswith("nothing: ")
    assert ("the 262,144 that are advertised is refused" in rows["set"]) is said


def test_a_step_of_the_engine_itself_need_not_be_said() -> None:
    assert search_of(run_of(engine="llamacpp", round_to=256)).words == ()
    assert search_of(run_of(engine="llamacpp", round_to=512)).words == ("--round-to", "512")
    assert search_of(run_of(round_to=1)).words == ("--round-to", "1")


def seen(length: int, outcome: Outcome = Outcome.PASS) -> Observation:
    spec = ProbeSpec(length=length, output_tokens=32, role=Role.SEARCH, reason="")
    return Observation(seq=length, spec=spec, outcome=outcome, length=length, length_source="usage")


def compared(before: Finding, after: Finding, *after_saw: Observation) -> dict[str, str]:
    sides = comparable.Side(run_of(), before, ()), comparable.Side(run_of(), after, after_saw)
    found = difference.changes(*sides)
    verdicts = {change.what: change.verdict for change in found}
    return verdicts | {
        "worse": str(difference.is_worse(found)),
        "undecided": str(difference.is_undecided(*sides, found)),
    }


def test_a_new_island_makes_a_build_worse() -> None:
    told = compared(death(50_000), death(None, ISLAND))
    assert (told["boundary"], told["islands"], told["cap"], told["worse"]) == ("same", "worse", "worse", "True")
    assert compared(death(50_000), death(32_752, ISLAND))["islands"] == "worse"


def test_an_island_in_ground_that_nobody_vouched_for_is_undecided() -> None:
    before = Finding(FindingKind.NONE, "", last_good=20_000, verified_up_to=20_000)
    told = compared(before, death(None, ISLAND))
    assert (told["islands"], told["worse"], told["undecided"]) == ("unknown", "False", "True")


def test_an_island_is_gone_where_its_lengths_were_asked_and_pass() -> None:
    assert compared(death(None, ISLAND), death(50_000), seen(32_768))["islands"] == "better"
    told = compared(death(None, ISLAND), death(50_000), seen(32_767))
    assert (told["islands"], told["undecided"]) == ("unknown", "True")
    assert compared(death(None, ISLAND), death(None, (32_700, 32_800)))["islands"] == "same"
    assert "islands" not in compared(death(50_000), death(50_000))


def test_a_cap_is_not_lost_where_nothing_fails_any_more() -> None:
    nothing = Finding(FindingKind.NONE, "", last_good=60_000, verified_up_to=60_000)
    told = compared(death(50_000), nothing)
    assert (told["boundary"], told["cap"], told["worse"]) == ("better", "unknown", "False")
    halted = Finding(FindingKind.INCONCLUSIVE, "", last_good=50_000, first_bad=50_001, halt=Halt.TIME)
    assert compared(death(50_000), halted)["cap"] == "unknown"

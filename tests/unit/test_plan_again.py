"""Does a probe that told nothing, then or now, neither repeat nor fail to?"""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from fuzzer.cli.rigging import ground_of
from fuzzer.model import Outcome, ProbeSpec, Role
from fuzzer.observation import Observation
from fuzzer.plans.again import AgainQuestion, repeats
from fuzzer.report.dossier import Dossier
from fuzzer.report.junit import junit
from fuzzer.store import Run, RunRecord
from tests.unit.worlds import play

SPEC = ProbeSpec(300, 32, Role.SEARCH, "halfway")
PASSED = Observation(1, SPEC, Outcome.PASS, 300, "usage")
TOLD_NOTHING = [outcome for outcome in Outcome if not outcome.is_evidence]


def replayed(was: Outcome | None, now: Outcome) -> tuple[str, list[str]]:
    """The reason of a replay, and how its JUnit report marks the first test case."""
    asked, seen = AgainQuestion("1m8abc", 2, SPEC, was), replace(PASSED, outcome=now)
    finding = play(asked.plan(), lambda spec: replace(seen, spec=spec)).finding
    record = RunRecord("replay", (), "http://h:1", "m", "vllm", "replay", question=asked.to_json())
    run = Run("1m8abd", record, "2026-11-29T17:00:00.000Z", "sre", "box", "0.1.0", "done", finding=finding)
    case = ET.fromstring(junit(Dossier(run, [seen], [], [], [], 1.0, "runs.db"))).find("testcase")
    assert case is not None
    return finding.reason, [mark.tag for mark in case]


@pytest.mark.parametrize("was", [None, *TOLD_NOTHING])
def test_what_was_no_evidence_is_no_failure_when_it_passes_now(was: Outcome | None) -> None:
    assert repeats(was, Outcome.PASS) is None
    reason, marks = replayed(was, Outcome.PASS)
    assert "now it is: pass; whether it repeats cannot be told" in reason
    assert marks == ["error"]


@pytest.mark.parametrize("now", TOLD_NOTHING)
def test_what_is_no_evidence_now_does_not_tell_either(now: Outcome) -> None:
    assert repeats(Outcome.DEATH, now) is None
    assert replayed(Outcome.DEATH, now)[1] == ["error"]


@pytest.mark.parametrize(
    ("was", "now", "again", "marks"),
    [
        (Outcome.DEATH, Outcome.DEATH, True, []),
        (Outcome.REJECTED, Outcome.REJECTED, True, []),
        (Outcome.DEATH, Outcome.PASS, False, ["failure"]),
        (Outcome.PASS, Outcome.HANG, False, ["failure"]),
    ],
)
def test_evidence_repeats_or_does_not(was: Outcome, now: Outcome, again: bool, marks: list[str]) -> None:
    assert repeats(was, now) is again
    assert replayed(was, now)[1] == marks


@pytest.mark.parametrize("ground", [None, 100])
def test_a_replay_keeps_the_ground_of_its_run(ground: int | None) -> None:
    """By which its texts were made: another replay of it has to make the same bytes."""
    kept = AgainQuestion("1m8abc", 2, SPEC, Outcome.DEATH, ground=ground).to_json()
    assert ground_of(kept) == ground
    assert ("ground" in kept) == (ground is not None)

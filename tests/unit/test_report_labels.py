"""Do a ticket, a CI server and a terminal read what a run says without stray marks, empty labels or lost words?"""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from fuzzer.cli.simulated import list_worlds
from fuzzer.finding import Finding, FindingKind, Halt
from fuzzer.report.dossier import Dossier
from fuzzer.report.junit import junit
from fuzzer.report.markdown import inert
from fuzzer.report.verify import verify_object
from tests.unit.test_report_run import RUN, SEEN


def test_hyphens_and_parentheses_within_a_line_are_no_markup() -> None:
    assert inert("--max-model-len 262144 (all of it)") == r"\--max-model-len 262144 (all of it)"
    assert inert("- a [b](c) <d>") == r"\- a \[b\](c) \<d\>"


def test_junit_has_no_empty_label() -> None:
    finding = Finding(FindingKind.DEATH, "dies", last_good=9, first_bad=10, cap=9, assumes=("one", "two"))
    of = Dossier(replace(RUN, finding=finding), SEEN, (), (), (), 41.2, "runs.db")
    failure = ET.fromstring(junit(of)).find("testcase/failure")
    assert failure is not None
    assert "assumes: one\n  two" in (failure.text or "")
    assert "\n:" not in (failure.text or "")


@pytest.mark.parametrize(("halt", "cap", "holds"), [(Halt.BUSY, None, None), (None, None, False), (None, 9, True)])
def test_a_gate_that_is_undecided_neither_holds_nor_fails(
    halt: Halt | None, cap: int | None, holds: bool | None
) -> None:
    run = replace(RUN, record=replace(RUN.record, plan="verify", question={"cap": 9}))
    finding = Finding(FindingKind.INCONCLUSIVE, "", cap=cap, halt=halt)
    assert verify_object(run, finding, SEEN, 1.0, [])["holds"] is holds


def test_a_world_is_listed_with_all_that_it_says_of_itself(capsys: pytest.CaptureFixture[str]) -> None:
    list_worlds()
    lines = capsys.readouterr().out.splitlines()
    assert all(line.endswith((".", ")", "`")) for line in lines), [line for line in lines if not line.endswith(".")]

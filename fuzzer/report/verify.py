"""How does a verification read? PURE: one line a check, JSON, and JUnit for those who keep gates."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final
from xml.etree import ElementTree as ET

from fuzzer.plans.verify import Check
from fuzzer.report import xml
from fuzzer.report.finding import finding_object
from fuzzer.report.plain import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fuzzer.finding import Finding
    from fuzzer.observation import Observation
    from fuzzer.store import Run

SCHEMA: Final = "ctxfuzz.verify/1"
PLAN: Final = "verify"
DECIDED: Final = "the gate was decided"
JUNIT: Final = "junit"  # the setting that names the file of a run that was begun with one
SKIPPED: Final = frozenset({"open", "noted"})
MARKS = {"ok": "ok", "failed": "FAILED", "noted": "note"}


def verify_object(
    run: Run, finding: Finding, seen: Sequence[Observation], elapsed_s: float, checks: Sequence[Check]
) -> dict[str, Any]:
    """The object of `verify --json`: the finding's keys, `cap`, `holds` (null where undecided) and `checks`."""
    return {
        **finding_object(run, finding, seen, elapsed_s),
        "schema": SCHEMA,
        "cap": run.record.question["cap"],
        "holds": None if finding.halt is not None else finding.cap is not None,
        "checks": [asdict(check) for check in checks],
    }


def as_text(checks: Sequence[Check], finding: Finding) -> str:
    """One line a check that was made, and what they come to."""
    made = [check for check in checks if check.result != "open"]
    width = max(len(check.name) for check in made)
    lines = [f"{MARKS[check.result]:<6}  {check.name:<{width}}  {plain(check.words, 200)}" for check in made]
    if rest := len(checks) - len(made):
        lines.append(f"{rest} more were not sent")
    assumes = [f"assumes: {plain(words, 300)}" for words in finding.assumes]
    return "\n".join([*lines, *assumes, f"{verdict(finding)}: {plain(finding.reason, 300)}"])


def verdict(finding: Finding) -> str:
    """What a gate came to, in a word or two."""
    if finding.halt is not None:
        return "undecided"
    return "the cap holds" if finding.cap is not None else "the cap does not hold"


def junit_begun(why: str = "the verification has not come to an end") -> str:
    """What stands in the file until a verification has come to an end, or where it cannot. It is not green."""
    counts = {"tests": "1", "failures": "0", "errors": "1", "skipped": "0"}
    suites = ET.Element("testsuites", counts)
    suite = ET.SubElement(suites, "testsuite", {"name": "ctxfuzz verify", **counts})
    case = ET.SubElement(suite, "testcase", {"classname": "ctxfuzz verify", "name": DECIDED})
    ET.SubElement(case, "error", {"message": plain(why, 500)})
    return xml.written(suites)


def junit(run: Run, checks: Sequence[Check], finding: Finding) -> str:
    """The checks as a JUnit test suite. What was not sent, or is only noted, is skipped; what kept us from it is an
    error of its own, for a gate that could not be decided is not to be green.
    """
    halts = [Check(DECIDED, "failed", finding.reason)] if finding.halt is not None else []
    failed = sum(check.result == "failed" for check in checks)
    skipped = sum(check.result in SKIPPED for check in checks)
    counts = {
        "tests": str(len(checks) + len(halts)),
        "failures": str(failed),
        "errors": str(len(halts)),
        "skipped": str(skipped),
    }
    suites = ET.Element("testsuites", counts)
    name = f"ctxfuzz verify {run.record.question['cap']}"
    suite = ET.SubElement(suites, "testsuite", {"name": name, "timestamp": run.started_utc, **counts})
    for check in [*checks, *halts]:
        case = ET.SubElement(
            suite,
            "testcase",
            {
                "classname": plain(f"{run.record.model} on {run.record.url}"),
                "name": check.name,
                "time": f"{check.took_s:.3f}",
            },
        )
        words = plain(check.words, 500)
        if check in halts:
            ET.SubElement(case, "error", {"message": words})
        elif check.result == "failed":
            ET.SubElement(case, "failure", {"message": words})
        elif check.result in SKIPPED:
            ET.SubElement(case, "skipped", {"message": words})
        else:
            ET.SubElement(case, "system-out").text = words
    return xml.written(suites)

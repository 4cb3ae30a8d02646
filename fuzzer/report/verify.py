"""How does a verification read? PURE: one line a check, JSON, and JUnit for those who keep gates."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final
from xml.etree import ElementTree as ET

from fuzzer.report.finding import finding_object
from fuzzer.report.plain import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fuzzer.finding import Finding
    from fuzzer.model import Observation
    from fuzzer.plans.verify import Check
    from fuzzer.store import Run

SCHEMA: Final = "ctxfuzz.verify/1"
MARKS = {"ok": "ok", "failed": "FAILED"}


def verify_object(
    run: Run, finding: Finding, seen: Sequence[Observation], elapsed_s: float, checks: Sequence[Check]
) -> dict[str, Any]:
    """The object of `verify --json`: the finding's keys, `cap`, `holds` and `checks`."""
    return {
        **finding_object(run, finding, seen, elapsed_s),
        "schema": SCHEMA,
        "cap": run.record.question["cap"],
        "holds": finding.cap is not None,
        "checks": [asdict(check) for check in checks],
    }


def as_text(checks: Sequence[Check], finding: Finding) -> str:
    """One line a check that was made, and what they come to."""
    made = [check for check in checks if check.result != "open"]
    width = max(len(check.name) for check in made)
    lines = [f"{MARKS[check.result]:<6}  {check.name:<{width}}  {plain(check.words, 200)}" for check in made]
    if rest := len(checks) - len(made):
        lines.append(f"{rest} more were not sent")
    verdict = "the cap holds" if finding.cap is not None else "the cap does not hold"
    return "\n".join([*lines, f"{verdict}: {plain(finding.reason, 300)}"])


def junit(run: Run, checks: Sequence[Check]) -> str:
    """The checks as a JUnit test suite. What was not sent is skipped."""
    failed = sum(check.result == "failed" for check in checks)
    skipped = sum(check.result == "open" for check in checks)
    counts = {"tests": str(len(checks)), "failures": str(failed), "errors": "0", "skipped": str(skipped)}
    suites = ET.Element("testsuites", counts)
    name = f"ctxfuzz verify {run.record.question['cap']}"
    suite = ET.SubElement(suites, "testsuite", {"name": name, "timestamp": run.started_utc, **counts})
    for check in checks:
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
        if check.result == "failed":
            ET.SubElement(case, "failure", {"message": words})
        elif check.result == "open":
            ET.SubElement(case, "skipped", {"message": words})
        else:
            ET.SubElement(case, "system-out").text = words
    ET.indent(suites)
    return ET.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"

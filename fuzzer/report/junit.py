"""How does a run read to a CI server? PURE: JUnit XML, a test case a question that the run answers."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from fuzzer.finding import FindingKind
from fuzzer.measure.sameness import Verdict
from fuzzer.report.plain import plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fuzzer.report.dossier import Dossier

_WELL = frozenset({FindingKind.CLEAN_LIMIT, FindingKind.NONE})


def junit(of: Dossier) -> str:
    """One suite: the finding first (a failure where there is an edge), then what was compared, then each probe."""
    suite = ET.Element("testsuite", name=f"ctxfuzz {of.run.record.command}", timestamp=of.run.started_utc[:19])
    suite.set("time", f"{of.elapsed_s:.3f}")
    for label, value in of.environment:
        properties = suite.find("properties")
        properties = ET.SubElement(suite, "properties") if properties is None else properties
        ET.SubElement(properties, "property", name=label, value=plain(value, 4000))
    _finding(suite, of)
    _comparison(suite, of)
    for case in _probes(of):
        suite.append(case)
    suite.set("tests", str(len(suite.findall("testcase"))))
    suite.set("failures", str(len(suite.findall("testcase/failure"))))
    suite.set("errors", str(len(suite.findall("testcase/error"))))
    ET.indent(suite)
    return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _finding(suite: ET.Element, of: Dossier) -> None:
    case = ET.SubElement(suite, "testcase", classname="ctxfuzz", name="every admitted length survives")
    finding, summary = of.run.finding, of.summary
    if finding is None or summary is None:
        ET.SubElement(case, "error", message=f"the run has no finding: {of.run.status}")
    elif finding.halt is not None or finding.kind in {FindingKind.NOT_LENGTH, FindingKind.INCONCLUSIVE}:
        ET.SubElement(case, "error", message=plain(f"{summary.title}: {finding.reason}", 1000))
    elif finding.kind not in _WELL:
        failure = ET.SubElement(case, "failure", type=finding.kind, message=plain(summary.title, 1000))
        failure.text = "\n".join(f"{label}: {plain(text, 1000)}" for label, text in summary.rows)


def _comparison(suite: ET.Element, of: Dossier) -> None:
    """What is generated, of a run that compares it: a failure where it differs, an error where that cannot be told."""
    if of.told is None or "verdict" not in of.told.value:
        return
    case = ET.SubElement(suite, "testcase", classname="ctxfuzz", name="the drafter changes nothing that is generated")
    marks = {Verdict.DIFFERENT: "failure", Verdict.UNDECIDABLE: "error"}
    if (mark := marks.get(of.told.value["verdict"])) is not None:
        ET.SubElement(case, mark, message=plain(str(of.told.value["words"]), 1000)).text = of.told.text


def _probes(of: Dossier) -> Iterator[ET.Element]:
    """What was seen, for the log: the finding alone decides."""
    for seen in of.seen:
        name = f"probe {seen.seq}: {seen.length} + {seen.spec.output_tokens} tokens ({seen.spec.role})"
        case = ET.Element("testcase", classname="ctxfuzz.probes", name=name, time=f"{seen.duration_s:.3f}")
        ET.SubElement(case, "system-out").text = plain(f"{seen.outcome}: {seen.signature or seen.reason}", 1000)
        yield case

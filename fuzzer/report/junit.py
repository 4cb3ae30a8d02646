"""How does a run read to a CI server? PURE: JUnit XML, a test case a question that the run answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple
from xml.etree import ElementTree as ET

from fuzzer.finding import FindingKind
from fuzzer.measure.sameness import Verdict
from fuzzer.model import Outcome
from fuzzer.plans.again import repeats
from fuzzer.plans.verify import VerifyQuestion, checks
from fuzzer.report import verify, xml
from fuzzer.report.plain import plain
from fuzzer.report.required import UNANSWERED, decided, required_of
from fuzzer.report.words import tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fuzzer.finding import Finding
    from fuzzer.report.dossier import Dossier

_WELL = frozenset({FindingKind.CLEAN_LIMIT, FindingKind.NONE})
_REPLAY = "replay"
_SURVIVES = "every admitted length survives"
_Mark = Literal["failure", "error"]
_MARKS: dict[bool | None, _Mark | None] = {True: None, False: "failure", None: "error"}


class _Claim(NamedTuple):
    """What a run is to show, and the mark of what it showed: None where it did."""

    name: str
    mark: _Mark | None


def junit(of: Dossier) -> str:
    """One suite: the finding first, then what was compared, then each probe. Of a gate, its checks.

    Where more was asked than where the edge is (a cap that was required, an outcome that was to repeat), that decides,
    as it does for the command's exit code; else an edge is a failure. Nothing that was not decided is green.
    """
    if of.run.record.plan == verify.PLAN and of.run.finding is not None:
        told = checks(VerifyQuestion.from_json(of.run.record.question), of.seen)
        return verify.junit(of.run, told, of.run.finding)
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
    return xml.written(suite)


def _finding(suite: ET.Element, of: Dossier) -> None:
    finding, summary = of.run.finding, of.summary
    if finding is None or summary is None:
        case = ET.SubElement(suite, "testcase", classname="ctxfuzz", name=_SURVIVES)
        ET.SubElement(case, "error", message=f"the run has no finding: {of.run.status}")
        return
    claim = _claim(of, finding)
    case = ET.SubElement(suite, "testcase", classname="ctxfuzz", name=claim.name)
    if claim.mark == "error":
        ET.SubElement(case, "error", message=plain(f"{summary.title}: {finding.reason}", 1000))
    elif claim.mark == "failure":
        failure = ET.SubElement(case, "failure", type=finding.kind, message=plain(summary.title, 1000))
        failure.text = "\n".join(
            f"{label}: {plain(text, 1000)}" if label else f"  {plain(text, 1000)}" for label, text in summary.rows
        )
    elif (require := required_of(of.run)) is not None:
        ET.SubElement(case, "system-out").text = f"{summary.title}; required were {tokens(require)}"


def _claim(of: Dossier, finding: Finding) -> _Claim:
    record, require = of.run.record, required_of(of.run)
    if require is not None:
        return _Claim(f"the cap is at least {tokens(require)}", _MARKS[decided(finding, require)])
    if record.plan == _REPLAY and finding.halt is None:
        was = record.question.get("was")
        again = repeats(Outcome(str(was)), of.seen[-1].outcome) if was and of.seen else None
        return _Claim("the outcome repeats", _MARKS[again])
    return _Claim(_SURVIVES, _MARKS[_survives(finding)])


def _survives(finding: Finding) -> bool | None:
    """A failure that was sampled stands, however the run ended."""
    if finding.reproducers:
        return False
    is_open = finding.halt is not None or finding.kind in UNANSWERED
    return None if is_open else finding.kind in _WELL


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

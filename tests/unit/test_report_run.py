"""Do the renderers say what the rows say, in the promised keys, with nobody else's control characters?"""

from __future__ import annotations

import json
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from fuzzer.cli.exits import exit_of
from fuzzer.finding import Confidence, Finding, FindingKind, Flaky, Halt
from fuzzer.model import Corroboration, Outcome, ProbeSpec, Role
from fuzzer.observation import Observation
from fuzzer.report import runs as runs_report
from fuzzer.report.dossier import Dossier
from fuzzer.report.finding import finding_object
from fuzzer.report.html import html
from fuzzer.report.junit import junit
from fuzzer.report.markdown import markdown
from fuzzer.report.next import next_commands
from fuzzer.report.run import heading, show_object
from fuzzer.report.summary import Facts, as_text, summary
from fuzzer.store import Run, RunRecord, Seal
from targets.scrape import DraftCounts

KEYS = (
    "schema ctxfuzz run url model engine started ended elapsed_s finding last_good first_bad last_good_total "
    "first_bad_total axis last_good_output first_bad_output "
    "first_rejected verified_up_to flaky islands advertised_max_model_len recommended_max_model_len required "
    "window_unusable cause confidence conditions assumes probes canaries deaths death_signatures chain_head reason"
)
CONDITIONS = "output_tokens draft_tokens concurrency cache content mode stream temperature"
QUESTION = {
    "lo": 244_689,
    "hi": 300_000,
    "output_tokens": 32,
    "draft_tokens": None,
    "cache": "cold",
    "content": "words",
    "mode": "ids",
    "stream": True,
}
FINDING = Finding(
    FindingKind.DEATH,
    "262106 passes, 262107 ends in death",
    last_good=262_106,
    first_bad=262_107,
    last_good_total=262_138,
    verified_up_to=262_106,
    cap=262_096,
    cause="S - O - k + 1",
    confidence=Confidence(9, 2, 0.283),
    assumes=("failure is monotone",),
)
RUN = Run(
    run="1m8abc",
    record=RunRecord(
        "bisect", ("ctxfuzz", "bisect"), "http://host:8000", "tiny", "vllm", "bisect", "0.32.0", 1_048_576, QUESTION
    ),
    started_utc="2026-11-29T17:00:00.000Z",
    user="sre",
    host="box",
    ctxfuzz_version="0.1.0",
    status="done",
    ended_utc="2026-11-29T17:00:41.200Z",
    finding=FINDING,
    seal=Seal(99, "ab" * 32),
    probes=19,
    canaries=23,
    deaths=3,
)


def seen(seq: int, outcome: Outcome, signature: str = "", draft: DraftCounts | None = None) -> Observation:
    died = outcome is Outcome.DEATH
    return Observation(
        seq,
        ProbeSpec(262_107, 32, Role.SEARCH, "why"),
        outcome,
        262_107,
        "usage",
        deaths=int(died),
        corroboration=Corroboration.PROVEN if died else None,
        signature=signature,
        draft=draft,
    )


SEEN = [
    seen(1, Outcome.PASS, draft=DraftCounts(10, 70, 4)),
    seen(2, Outcome.DEATH, "IndexError\x1b[2J: index out of range"),
    seen(3, Outcome.DEATH, "IndexError\x1b[2J: index out of range"),
    seen(4, Outcome.DEATH, "CUDA error"),
]


def test_the_finding_object_has_the_promised_keys_in_order() -> None:
    made = finding_object(RUN, FINDING, SEEN, 41.2)
    assert list(made) == KEYS.split()
    assert list(made["conditions"]) == CONDITIONS.split()
    assert list(made["confidence"]) == ["last_good_passes", "first_bad_failures", "failure_rate_upper_95"]
    assert made["schema"] == "ctxfuzz.finding/1"
    assert made["window_unusable"] == 0.75
    assert made["conditions"]["draft_tokens"] == 7
    assert made["death_signatures"] == ["IndexError\x1b[2J: index out of range", "CUDA error"]
    assert "\x1b" not in json.dumps(made)


def test_what_is_not_known_is_null_and_no_key_goes_missing() -> None:
    bare = Finding(FindingKind.INCONCLUSIVE, "busy", halt=Halt.BUSY)
    run = replace(
        RUN, record=replace(RUN.record, limit=None, engine_version=None, question={}), seal=None, ended_utc=None
    )
    made = json.loads(json.dumps(finding_object(run, bare, [], 0.0), allow_nan=False))
    assert list(made) == KEYS.split()
    for key in (
        "last_good",
        "first_bad",
        "recommended_max_model_len",
        "window_unusable",
        "chain_head",
        "cause",
        "flaky",
    ):
        assert made[key] is None


def test_a_flaky_edge_and_islands_are_plain_json() -> None:
    flaky = replace(FINDING, flaky=Flaky(0.6, 0.4, 0.8), islands=((10, 20),))
    made = finding_object(RUN, flaky, [], 1.0)
    assert made["flaky"] == {"rate": 0.6, "low": 0.4, "high": 0.8}
    assert made["islands"] == [[10, 20]]


def text_of(finding: Finding, *, db: str = "runs.db", run: Run = RUN) -> str:
    return as_text(summary(Facts(run, finding, SEEN, 41.2, db)))


def test_the_summary_says_edge_cap_flag_evidence_assumptions_and_what_to_run_next() -> None:
    assert text_of(FINDING).splitlines() == [
        "Death from 262,107 prompt tokens on",
        "  last good   262,106 prompt tokens (262,138 with its output)",
        "  first bad   262,107 prompt tokens",
        "  cap         max_model_len 262,096; 75.0% of the advertised 1,048,576 cannot be used",
        "  set         --max-model-len 262096",
        "  why         262106 passes, 262107 ends in death",
        "  cause       S - O - k + 1",
        "  evidence    9 passes at last good, 2 failures at first bad; fails less than 28.3% of the time (95%)",
        "  cost        19 probes, 23 canaries, 3 deaths, 41.2 s",
        '  last words  "IndexError[2J: index out of range"',
        '              "CUDA error"',
        "  assumes     failure is monotone",
        "next:",
        "  ctxfuzz recommend 1m8abc --format helm",
        "  ctxfuzz verify --url http://host:8000 --from-run 1m8abc   # once the cap is set",
        "  ctxfuzz show 1m8abc",
    ]


@pytest.mark.parametrize(("engine", "flag"), [("llamacpp", "-c 261888"), ("sglang", "--context-length 262096")])
def test_the_flag_to_set_is_the_engines_own(engine: str, flag: str) -> None:
    run = replace(RUN, record=replace(RUN.record, engine=engine))
    assert f"  set         {flag}" in text_of(FINDING, run=run).splitlines()


@pytest.mark.parametrize(
    ("finding", "title", "command"),
    [
        (
            Finding(FindingKind.CLEAN_LIMIT, "fine", cap=1_048_576, verified_up_to=1_048_575),
            "Nothing fails below the limit, and above it the refusal is clean",
            "ctxfuzz show 1m8abc",
        ),
        (
            Finding(FindingKind.CLEAN_LIMIT, "a probe's", first_rejected=2_000),
            "2,000 prompt tokens are refused, and the engine is well",
            "ctxfuzz show 1m8abc",
        ),
        (
            Finding(FindingKind.NONE, "fine", verified_up_to=300_000),
            "Nothing fails up to 300,000 prompt tokens",
            "ctxfuzz bisect --url http://host:8000 --lo 300000 --hi 600000",
        ),
        (
            Finding(FindingKind.NOT_LENGTH, "wear", halt=Halt.NOT_LENGTH),
            "Something fails, but not by length",
            "ctxfuzz show 1m8abc",
        ),
        (
            Finding(FindingKind.INCONCLUSIVE, "spent", last_good=10, first_bad=90, halt=Halt.DEATHS),
            "Inconclusive",
            "ctxfuzz bisect --url http://host:8000 --lo 10 --hi 90 --trust-lo --trust-hi",
        ),
        (
            Finding(FindingKind.DEATH, "a sweep's", last_good=10, first_bad=90),
            "Death from 90 prompt tokens on",
            "ctxfuzz bisect --url http://host:8000 --lo 10 --hi 90",
        ),
        (
            Finding(FindingKind.INCONCLUSIVE, "gone", last_good=10, halt=Halt.LOST),
            "Inconclusive",
            "ctxfuzz resume 1m8abc",
        ),
    ],
)
def test_each_finding_names_the_next_command(finding: Finding, title: str, command: str) -> None:
    lines = text_of(finding).splitlines()
    assert lines[0] == title
    assert lines[lines.index("next:") + 1].strip() == command


LIMITED = Finding(FindingKind.CLEAN_LIMIT, "fine", cap=5_000, verified_up_to=4_999)


@pytest.mark.parametrize("require", [5_000, 8_000])
@pytest.mark.parametrize(
    "finding",
    [
        FINDING,
        replace(FINDING, cap=5_000),
        LIMITED,
        replace(LIMITED, halt=Halt.LOST),
        Finding(FindingKind.NONE, "fine", verified_up_to=7_000),
        Finding(FindingKind.INCONCLUSIVE, "busy", cap=9_000, halt=Halt.BUSY),
        Finding(FindingKind.NOT_LENGTH, "wear"),
    ],
)
def test_every_reporter_says_whether_the_required_cap_holds_as_the_exit_code_does(
    finding: Finding, require: int
) -> None:
    run = replace(RUN, record=replace(RUN.record, question={**QUESTION, "require": require}), finding=finding)
    of = Dossier(run, SEEN, (), (), (), 41.2, "runs.db")
    code = exit_of(finding, require)
    words = {0: "it holds", 1: "it does not hold"}.get(code, "undecided")
    line = f"a cap of {require:,} or more: {words}"
    assert line in text_of(finding, run=run)
    assert line in markdown(of).replace("\\", "")
    assert line in html(of)
    told = finding_object(run, finding, SEEN, 41.2)["required"]
    assert told == {"max_model_len": require, "holds": {0: True, 1: False}.get(code)}
    suite = ET.fromstring(junit(of))
    assert (suite.get("failures"), suite.get("errors")) == {0: ("0", "0"), 1: ("1", "0")}.get(code, ("0", "1"))
    case = suite.find("testcase")
    assert case is not None
    assert case.get("name") == f"the cap is at least {require:,}"
    assert ("; the required cap does not hold" in text_of(finding, run=run)) == (code == 1)


def test_where_nothing_is_required_nothing_is_said_of_it() -> None:
    assert finding_object(RUN, FINDING, SEEN, 41.2)["required"] is None
    assert "required" not in text_of(FINDING)


@pytest.mark.parametrize(("was", "failures"), [("death", "0"), ("pass", "1")])
def test_a_replay_fails_where_its_outcome_does_not_repeat(was: str, failures: str) -> None:
    record = replace(RUN.record, plan="replay", question={"run": "1m7", "seq": 3, "was": was})
    suite = ET.fromstring(junit(Dossier(replace(RUN, record=record), SEEN, (), (), (), 1.0, "runs.db")))
    assert (suite.get("failures"), suite.get("errors")) == (failures, "0")


def test_another_database_is_named_and_quoted_in_every_command() -> None:
    facts = Facts(RUN, FINDING, [], 1.0, "my runs.db")
    assert all(" --db 'my runs.db'" in command for command in next_commands(facts))


def test_a_run_in_the_list() -> None:
    assert list(runs_report.run_object(RUN).items()) == [
        ("run", "1m8abc"),
        ("command", "bisect"),
        ("url", "http://host:8000"),
        ("model", "tiny"),
        ("status", "done"),
        ("finding", "death"),
        ("recommended_max_model_len", 262_096),
        ("started", "2026-11-29T17:00:00.000Z"),
        ("holds", None),
    ]
    table = runs_report.as_text(
        [runs_report.run_row(RUN), runs_report.run_row(replace(RUN, finding=None, status="running"))]
    )
    assert table.splitlines() == [
        "run     started           command  model  url               status   finding  cap",
        "1m8abc  2026-11-29 17:00  bisect   tiny   http://host:8000  done     death    262,096",
        "1m8abc  2026-11-29 17:00  bisect   tiny   http://host:8000  running  -        -",
    ]


@pytest.mark.parametrize(
    ("finding", "said", "holds"),
    [
        (Finding(FindingKind.CLEAN_LIMIT, "", cap=8_192), "the cap holds", True),
        (Finding(FindingKind.INCONCLUSIVE, "the cap is not in force"), "the cap does not hold", False),
        (Finding(FindingKind.INCONCLUSIVE, "busy", halt=Halt.BUSY), "undecided", None),
    ],
)
def test_a_gate_in_the_list_says_what_it_came_to(finding: Finding, said: str, holds: bool | None) -> None:
    gate = replace(RUN, record=replace(RUN.record, plan="verify"), finding=finding)
    assert said in runs_report.run_row(gate)
    told = runs_report.run_object(gate)
    assert (told["holds"], told["finding"]) == (holds, finding.kind.value)


def test_a_run_by_itself() -> None:
    assert heading(RUN) == [
        "run 1m8abc: bisect, done, 2026-11-29T17:00:00.000Z to 2026-11-29T17:00:41.200Z",
        "tiny on http://host:8000, vllm 0.32.0, limit 1,048,576, by sre@box",
    ]
    made = json.loads(json.dumps(show_object(RUN, SEEN, 41.2, ()), allow_nan=False))
    assert made["schema"] == "ctxfuzz.run/1"
    assert made["finding"]["finding"] == "death"
    assert [probe["outcome"] for probe in made["probes"]] == ["pass", "death", "death", "death"]
    assert json.loads(json.dumps(show_object(replace(RUN, finding=None), SEEN, 1.0, ())))["finding"] is None

"""Do the table, the checks, the attribution, the recommendation and the comparison say what the runs show?"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzzer.finding import Confidence, Finding, FindingKind, Halt, Reproducer
from fuzzer.measure.reading import decode_speed
from fuzzer.model import Outcome, ProbeSpec, Role
from fuzzer.observation import Observation
from fuzzer.plans.verify import Check, VerifyQuestion, checks
from fuzzer.report import comparable, difference, recommendation, sweep
from fuzzer.report import verify as verify_report
from fuzzer.report.attribution import Attribution, Control
from fuzzer.report.dossier import Dossier
from fuzzer.report.junit import junit
from fuzzer.report.summary import Facts, summary
from fuzzer.store import Run, RunRecord
from targets.scrape import DraftCounts

REPRODUCER = Reproducer(7, 7, ProbeSpec(500, 32, Role.FUZZ, ""), Outcome.DEATH, "it died")
DEATH = Finding(FindingKind.DEATH, "it dies", last_good=262_106, first_bad=262_107, cap=262_096)
QUESTION = {"output_tokens": 32, "content": "words", "cache": "cold", "round_to": 16, "resolution": 1}
RECORD = RunRecord("bisect", (), "http://host:8000", "tiny", "vllm", "bisect", "0.32.0", 1_048_576, QUESTION)
RUN = Run("1m8abc", RECORD, "2026-11-29T17:00:00.000Z", "sre", "box", "0.1.0", "done", finding=DEATH)


def seen(
    length: int, outcome: Outcome = Outcome.PASS, *, seq: int = 1, role: Role = Role.SCAN, **more: object
) -> Observation:
    plain = Observation(seq, ProbeSpec(length, 32, role, "why"), outcome, length, "usage")
    return replace(plain, **more)  # type: ignore[arg-type]


def test_the_table_shows_speed_and_acceptance_where_they_are_known() -> None:
    rows = [
        seen(64, role=Role.BASELINE),
        seen(8_410, ttft_s=0.5, duration_s=1.5, completion_tokens=32, cached_tokens=0, draft=DraftCounts(20, 140, 9)),
        seen(300_000, Outcome.DEATH, seq=2),
    ]
    assert sweep.table(rows).splitlines() == [
        " length  content  outcome  first token  tokens/s  acceptance  cached",
        "  8,410    words     pass       0.50 s      31.0        1.45       0",
        "300,000    words    death            -         -           -       -",
    ]
    made = sweep.sweep_object(RUN, DEATH, rows, 2.0)
    assert made["schema"] == "ctxfuzz.sweep/1"
    assert [row["decode_tokens_per_s"] for row in made["rows"]] == [31.0, None]


@pytest.mark.parametrize("more", [{"ttft_s": None}, {"completion_tokens": 1}, {"duration_s": 0.5}])
def test_no_speed_is_made_up(more: dict[str, object]) -> None:
    told = seen(100, ttft_s=0.5, duration_s=1.0, completion_tokens=32)
    assert decode_speed(told) == 62.0
    assert decode_speed(replace(told, **more)) is None  # type: ignore[arg-type]


def verification(*log: Observation, another_build: str = "") -> tuple[Run, list[Check]]:
    question = VerifyQuestion(cap=1_000, limit=1_000, far=2_000, another_build=another_build)
    record = replace(RECORD, command="verify", plan="verify", question=question.to_json())
    return replace(RUN, record=record), checks(question, log)


def test_a_verification_reads_one_line_a_check_and_says_how_many_were_not_sent() -> None:
    short = seen(64, role=Role.BASELINE)
    died = seen(968, Outcome.DEATH, seq=2, role=Role.FIT, reason="it \x1b[2Jdied")
    run, told = verification(short, died)
    lines = verify_report.as_text(told, Finding(FindingKind.DEATH, "ids: it died")).splitlines()
    assert lines[0].startswith("ok      advertised limit")
    assert lines[2] == "FAILED  ids: 968 + 32, streamed  death: it [2Jdied"
    assert lines[-2:] == ["6 more were not sent", "the cap does not hold: ids: it died"]
    made = verify_report.verify_object(run, DEATH, [short, died], 1.0, told)
    assert (made["schema"], made["cap"], made["checks"][2]["seq"]) == ("ctxfuzz.verify/1", 1_000, 2)


def test_junit_counts_what_failed_and_what_was_not_sent() -> None:
    run, told = verification(seen(64, role=Role.BASELINE), seen(968, Outcome.DEATH, seq=2, role=Role.FIT))
    suites = ET.fromstring(verify_report.junit(run, told, DEATH))
    assert {name: suites.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "9", "failures": "1", "errors": "0", "skipped": "6",
    }  # fmt: skip
    cases = suites.findall("testsuite/testcase")
    assert len(cases) == 9
    assert [case.get("name") for case in cases if case.find("failure") is not None] == ["ids: 968 + 32, streamed"]


def test_a_gate_that_could_not_be_decided_is_not_green() -> None:
    run, told = verification(seen(64, role=Role.BASELINE))
    undecided = Finding(FindingKind.INCONCLUSIVE, "nginx answered HTTP 413", halt=Halt.PROXY)
    suites = ET.fromstring(verify_report.junit(run, told, undecided))
    assert (suites.get("tests"), suites.get("failures"), suites.get("errors")) == ("10", "0", "1")
    [error] = suites.findall("testsuite/testcase/error")
    assert error.get("message") == "nginx answered HTTP 413"
    assert verify_report.as_text(told, undecided).splitlines()[-1] == "undecided: nginx answered HTTP 413"


def test_that_the_cap_was_found_on_another_build_is_seen_and_decides_nothing() -> None:
    run, told = verification(seen(64, role=Role.BASELINE), another_build="version was 1 and is 2")
    name, words = "the build that the cap was found on", "is another: version was 1 and is 2"
    suites = ET.fromstring(verify_report.junit(run, told, DEATH))
    assert (suites.get("failures"), suites.get("errors"), suites.get("skipped")) == ("0", "0", "8")
    noted = suites.find(f"testsuite/testcase[@name='{name}']/skipped")
    assert noted is not None
    assert noted.get("message") == words
    lines = verify_report.as_text(told, DEATH).splitlines()
    assert f"note    {name}  {words}" in lines
    assert lines[-2] == "7 more were not sent"


@pytest.mark.parametrize(
    ("finding", "title", "tone"),
    [
        (Finding(FindingKind.CLEAN_LIMIT, "passes", cap=1_000), "The cap holds", "good"),
        (Finding(FindingKind.INCONCLUSIVE, "not in force"), "The cap does not hold", "bad"),
        (Finding(FindingKind.INCONCLUSIVE, "busy", halt=Halt.BUSY), "Undecided", "unsure"),
    ],
)
def test_a_gate_reads_in_every_report_as_it_ended(finding: Finding, title: str, tone: str) -> None:
    run, told = verification(seen(64, role=Role.BASELINE), seen(968, Outcome.DEATH, seq=2, role=Role.FIT))
    run = replace(run, finding=finding)
    log = [seen(64, role=Role.BASELINE), seen(968, Outcome.DEATH, seq=2, role=Role.FIT)]
    shown = summary(Facts(run, finding, log, 1.0, "runs.db"))
    assert (shown.title, shown.tone) == (title, tone)
    assert junit(Dossier(run, log, (), (), (), 1.0, "runs.db")) == verify_report.junit(run, told, finding)


def control(kind: FindingKind | None, name: str = "plain") -> Control:
    return Control(name, f"http://{name}:8000", "1m9", kind, "words")


@pytest.mark.parametrize(
    ("kinds", "blame"),
    [
        ([FindingKind.NONE], "drafter"),
        ([FindingKind.DEATH], "not-drafter"),
        ([FindingKind.NONE, FindingKind.DEATH], "undecided"),
        ([FindingKind.CLEAN_LIMIT], "undecided"),
        ([None, FindingKind.INCONCLUSIVE], "undecided"),
        ([None, FindingKind.NONE], "drafter"),
    ],
)
def test_only_controls_that_say_something_decide_who_is_to_blame(kinds: list[FindingKind | None], blame: str) -> None:
    told = Attribution(262_107, tuple(control(kind) for kind in kinds))
    assert told.blame == blame
    assert told.to_json()["blame"] == blame
    assert (told.passed is not None) == (FindingKind.NONE in kinds)


def recommended(kind: recommendation.Format, engine: str = "vllm", without: str | None = None) -> str:
    run = replace(RUN, record=replace(RECORD, engine=engine))
    told = recommendation.Recommendation.of(run, 262_100, without)
    assert told is not None
    return recommendation.written(told, DEATH, kind)


@pytest.mark.parametrize(
    ("engine", "kind", "line"),
    [
        ("vllm", "flags", "--max-model-len 262100"),
        ("llamacpp", "flags", "-c 261888"),
        ("llamacpp", "env", "LLAMA_ARG_CTX_SIZE=261888"),
        ("ollama", "flags", "OLLAMA_CONTEXT_LENGTH=262100"),
        ("vllm", "env", "MAX_MODEL_LEN=262100"),
        ("vllm", "helm", "        maxModelLen: 262100"),
        ("sglang", "helm", '  - "--context-length"'),
        ("vllm", "litellm", "      max_input_tokens: 262068"),
    ],
)
def test_the_cap_in_the_words_of_each_place(engine: str, kind: recommendation.Format, line: str) -> None:
    assert line in recommended(kind, engine).splitlines()


def test_the_split_names_both_endpoints_or_says_what_is_missing() -> None:
    known = recommended("litellm", without="http://plain:8001/v1")
    assert '      api_base: "http://host:8000/v1"' in known
    assert '      api_base: "http://plain:8001/v1"' in known
    assert "put the endpoint without the drafter here" in recommended("litellm")


def test_a_recommendation_for_machines() -> None:
    made = json.loads(recommended("json"))
    assert (made["schema"], made["cap"], made["flag"]) == ("ctxfuzz.recommendation/1", 262_100, "--max-model-len")
    assert made["confidence"] == {"last_good_passes": 0, "first_bad_failures": 0, "failure_rate_upper_95": None}


def side(finding: Finding, log: tuple[Observation, ...] = (), **record: object) -> comparable.Side:
    return comparable.Side(replace(RUN, record=replace(RECORD, **record)), finding, log)  # type: ignore[arg-type]


def verdict(what: str, before: comparable.Side, after: comparable.Side) -> str:
    return next(change.verdict for change in difference.changes(before, after) if change.what == what)


def edge(low: int, high: int | None, cap: int | None = None) -> Finding:
    kind = FindingKind.NONE if high is None else FindingKind.DEATH
    return Finding(kind, "", last_good=low, first_bad=high, cap=cap, verified_up_to=low)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (edge(2_000, 2_001), edge(2_000, 2_001), "same"),
        (edge(2_000, 2_001), edge(1_000, 1_001), "worse"),
        (edge(1_000, 1_001), edge(2_000, 2_001), "better"),
        (edge(1_000, 2_000), edge(1_500, 1_501), "same"),  # both may be the same edge
        (edge(3_000, None), edge(2_000, 2_001), "worse"),
        (edge(1_500, None), edge(2_000, 2_001), "same"),  # the first was never asked so far up
        (edge(2_000, 2_001), edge(3_000, None), "better"),
        (edge(2_000, 2_001), Finding(FindingKind.NOT_LENGTH, ""), "unknown"),
    ],
)
def test_a_boundary_moves_only_where_the_brackets_leave_no_common_edge(
    before: Finding, after: Finding, expected: str
) -> None:
    assert verdict("boundary", side(before), side(after)) == expected


def test_what_accepted_drafts_do_to_an_edge_is_no_change() -> None:
    drafting = (seen(64, draft=DraftCounts(10, 70, 4)),)
    assert verdict("boundary", side(edge(262_106, 262_107), drafting), side(edge(262_103, 262_104), drafting)) == "same"


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [(262_096, 262_096, "same"), (262_096, 262_088, "same"), (262_096, 131_072, "worse"), (16, 262_096, "better"),
     (None, None, "same"), (262_096, None, "worse")],
)  # fmt: skip
def test_a_cap_moves_by_more_than_it_is_rounded_to(before: int | None, after: int | None, expected: str) -> None:
    assert verdict("cap", side(edge(1, 2, before)), side(edge(1, 2, after))) == expected


def passes(*accepted: float) -> tuple[Observation, ...]:
    return tuple(seen(100, seq=seq, draft=DraftCounts(10, 70, 10 * each)) for seq, each in enumerate(accepted, 1))


def test_acceptance_that_fell_is_worse_and_scatter_is_nothing() -> None:
    steady, fallen = passes(0.45, 0.47, 0.44, 0.46), passes(0.02, 0.0, 0.03, 0.01)
    assert verdict("acceptance", side(DEATH, steady), side(DEATH, fallen)) == "worse"
    assert verdict("acceptance", side(DEATH, fallen), side(DEATH, steady)) == "better"
    assert verdict("acceptance", side(DEATH, passes(0.2, 0.7)), side(DEATH, passes(0.6, 0.1))) == "same"
    assert verdict("acceptance", side(DEATH, steady), side(DEATH)) == "unknown"


def test_limit_and_last_words_move_and_that_alone_is_not_worse() -> None:
    words = (seen(300_000, Outcome.DEATH, deaths=1, signature="CUDA error"),)
    before, after = side(DEATH), side(DEATH, words, limit=262_096)
    found = difference.changes(before, after)
    assert {change.what for change in found if change.verdict == "moved"} == {"limit", "last words"}
    assert not difference.is_worse(found)
    assert difference.is_worse(difference.changes(side(edge(2_000, 2_001)), side(edge(1_000, 1_001))))
    assert "CUDA error" in difference.as_text(before, after, found)
    assert "undecided" not in difference.as_text(before, after, found)


def fuzzed(*reproducers: Reproducer, cap: int = 1_000) -> comparable.Side:
    kind = FindingKind.DEATH if reproducers else FindingKind.NONE
    told = Finding(kind, "so many passed", first_bad=500 if reproducers else None, reproducers=reproducers)
    return side(told, plan="fuzz", question={**QUESTION, "cap": cap})


def test_of_samples_a_failure_that_was_not_there_before_is_worse_and_none_where_one_was_is_luck() -> None:
    clean, failing = fuzzed(), fuzzed(REPRODUCER)
    assert [verdict("samples", *pair) for pair in ((clean, failing), (failing, clean), (clean, clean))] == [
        "worse", "unknown", "same",
    ]  # fmt: skip
    assert verdict("samples", clean, fuzzed(REPRODUCER, cap=2_000)) == "unknown"
    assert difference.is_undecided(failing, clean, difference.changes(failing, clean))
    assert comparable.unlike(side(DEATH), clean) == ["plan was bisect and is fuzz"]


def test_what_a_run_does_not_tell_is_no_good_news() -> None:
    halted = replace(DEATH, kind=FindingKind.INCONCLUSIVE, cap=200_000, halt=Halt.DEATHS)
    for pair in ((side(DEATH), side(halted)), (side(halted), side(DEATH))):
        assert difference.is_undecided(*pair, difference.changes(*pair))
    unknown = side(Finding(FindingKind.NOT_LENGTH, "wear"))
    assert difference.is_undecided(side(DEATH), unknown, difference.changes(side(DEATH), unknown))
    assert difference.as_text(side(DEATH), unknown, difference.changes(side(DEATH), unknown)).splitlines()[-1] == (
        "undecided: the two do not tell of: boundary and cap"
    )
    worse = side(edge(1_000, 1_001)), side(replace(edge(500, 501), kind=FindingKind.INCONCLUSIVE))
    assert not difference.is_undecided(*worse, difference.changes(*worse))


def test_a_run_that_came_to_no_end_leaves_unknown_what_it_did_not_see_and_says_why() -> None:
    words = (seen(300_000, Outcome.DEATH, deaths=1, signature="CUDA error"),)
    halted = Finding(FindingKind.INCONCLUSIVE, "1 death, and --max-deaths is 1", last_good=900, halt=Halt.DEATHS)
    before, after = side(DEATH, words), side(halted)
    found = difference.changes(before, after)
    told = {change.what: change.verdict for change in found}
    assert (told["boundary"], told["last words"]) == ("unknown", "unknown")
    first, *_, last = difference.as_text(before, after, found).splitlines()
    assert f"before: {RUN.run}" in first
    assert last == f"undecided: {RUN.run} came to no end: 1 death, and --max-deaths is 1"


def test_a_limit_below_what_passed_is_worse() -> None:
    limited = Finding(FindingKind.CLEAN_LIMIT, "", last_good=8_191, cap=8_192, first_rejected=8_193)
    assert verdict("boundary", side(edge(12_000, None)), side(limited)) == "worse"
    assert verdict("boundary", side(edge(8_200, None)), side(limited)) == "same"  # by no more than a cap is rounded
    assert verdict("boundary", side(edge(8_208, 8_210, 8_192)), side(limited)) == "same"  # that cap is in force now


def test_a_gate_that_holds_no_more_is_worse() -> None:
    gate: dict[str, Any] = {"plan": "verify", "question": {**QUESTION, "cap": 8_192}}
    holds, fails = Finding(FindingKind.CLEAN_LIMIT, "", cap=8_192), Finding(FindingKind.INCONCLUSIVE, "refused")
    assert verdict("cap", side(holds, **gate), side(fails, **gate)) == "worse"
    assert verdict("cap", side(holds, **gate), side(holds, **gate)) == "same"
    undecided = side(replace(fails, halt=Halt.BUSY), **gate)
    assert difference.is_undecided(side(holds, **gate), undecided, difference.changes(side(holds, **gate), undecided))


def test_runs_of_other_commands_cannot_be_compared() -> None:
    assert comparable.unlike(side(DEATH), side(DEATH, plan="sweep")) == ["plan was bisect and is sweep"]
    assert comparable.unlike(side(DEATH), side(DEATH)) == []


def on_terms(finding: Finding = DEATH, *log: Observation, plan: str = "bisect", **asked: object) -> comparable.Side:
    return side(finding, log, plan=plan, question={**QUESTION, **asked})


@pytest.mark.parametrize(
    ("asked", "apart"),
    [
        ({"output_tokens": 1}, "output_tokens was 32 and is 1"),
        ({"content": "repeat"}, "content was words and is repeat"),
        ({"mode": "chat"}, "mode was ids and is chat"),
        ({"modes": ["ids", "chat"]}, "modes was ids and is ids,chat"),
        ({"stream": False}, "stream was True and is False"),
        ({"cache": "warm"}, "cache was cold and is warm"),
        ({"cache": "mixed", "axis": "total"}, None),
        ({"companions": 3}, "companions was 0 and is 3"),
        ({"companion_length": 64}, None),  # without companions
        ({"axis": "output"}, "axis was prompt and is output"),
        ({"prompt_tokens": 8}, None),  # of a search over prompts
        ({"confidence": 0.5}, "confidence was 0.95 and is 0.5"),
        ({"tolerate": 0.05}, "tolerate was 0.3 and is 0.05"),
        ({"attribute_axis": False}, "attribute_axis was True and is False"),
        ({"scan": 200, "timeout_s": 60.0}, None),  # no island was found, and nothing hung
        ({"lo": 1, "hi": 2, "max_deaths": 3, "max_time_s": 9.0, "strategy": "halving", "round_to": 64}, None),
        ({"require": 8_000, "suspects": [[262_144, "--suspect"]], "resolution": 4}, None),
        ({"fail_on": ["death"]}, None),  # nothing was seen but a death
    ],
)
def test_terms_keep_runs_apart_where_they_decide_what_is_claimed(asked: dict[str, object], apart: str | None) -> None:
    died = seen(262_107, Outcome.DEATH)
    usual: dict[str, Any] = {"mode": "ids", "modes": ["ids"], "stream": True}
    before, after = on_terms(DEATH, died, **usual), on_terms(DEATH, died, **{**usual, **asked})
    assert comparable.unlike(before, after) == ([] if apart is None else [apart])
    assert bool(comparable.unlike(after, before)) == (apart is not None)


def test_a_looser_fail_on_makes_nothing_better() -> None:
    """An error at 3,027 in both runs, which the second one does not count."""
    error = Finding(FindingKind.ERROR, "", last_good=3_026, first_bad=3_027)
    log = seen(3_026), seen(3_027, Outcome.ERROR)
    strict = on_terms(error, *log, fail_on=["death", "error"])
    loose = on_terms(edge(9_000, None), *log, fail_on=["death"])
    assert comparable.unlike(strict, loose) == ["fail_on was death,error and is death"]
    assert comparable.unlike(loose, strict) == ["fail_on was death and is death,error"]
    assert comparable.unlike(on_terms(error, *log), loose) == [
        "fail_on was death,error,garbled,hang,truncated and is death"
    ]
    same = on_terms(error, *log, fail_on=["death", "error", "degraded"])  # nothing was degraded
    assert comparable.unlike(strict, same) == []


@pytest.mark.parametrize(
    ("finding", "log", "asked"),
    [
        (replace(DEATH, islands=((900, 910),)), (), {"scan": 200}),
        (DEATH, (seen(500, Outcome.HANG),), {"timeout_s": 60.0}),
        (DEATH, (), {"companions": 1, "companion_length": 64}),
        (DEATH, (), {"axis": "output", "prompt_tokens": 8}),
    ],
)
def test_a_term_that_came_to_bear_in_either_run_keeps_them_apart(
    finding: Finding, log: tuple[Observation, ...], asked: dict[str, object]
) -> None:
    *others, (name, value) = asked.items()
    rest: dict[str, Any] = dict(others)
    other, usual = on_terms(DEATH, **rest), on_terms(finding, *log, **{**rest, name: value})
    assert [words.split()[0] for words in comparable.unlike(other, usual)] == [name]
    assert [words.split()[0] for words in comparable.unlike(usual, other)] == [name]


def test_without_an_edge_it_does_not_matter_how_surely_one_would_have_been_found() -> None:
    fine = edge(300_000, None)
    assert comparable.unlike(on_terms(fine), on_terms(fine, confidence=0.5, attribute_axis=False)) == []


def test_gates_of_other_caps_cannot_be_compared() -> None:
    holds, fails = Finding(FindingKind.CLEAN_LIMIT, "", cap=8_192), Finding(FindingKind.INCONCLUSIVE, "")
    gate: dict[str, Any] = {"cap": 8_192, "far": 16_384}
    before = on_terms(holds, plan="verify", **gate)
    assert comparable.unlike(before, on_terms(fails, plan="verify", **gate)) == []
    assert comparable.unlike(before, on_terms(fails, plan="verify", **{**gate, "cap": 4_096})) == [
        "cap was 8192 and is 4096"
    ]
    farther = {**gate, "first_bad": 9_000, "far": 18_000}
    assert comparable.unlike(before, on_terms(holds, plan="verify", **farther)) == []
    assert len(comparable.unlike(before, on_terms(fails, plan="verify", **farther))) == 2


@given(st.integers(1, 10**6), st.integers(0, 10**4), st.integers(0, 10**4))
def test_two_searches_for_the_same_edge_never_differ(true_edge: int, below: int, above: int) -> None:
    """Whatever brackets two runs end with around one edge, nothing is said to have moved."""
    narrow, wide = edge(true_edge, true_edge + 1), edge(max(1, true_edge - below), true_edge + 1 + above)
    assert verdict("boundary", side(narrow), side(wide)) == "same"
    assert verdict("boundary", side(wide), side(narrow)) == "same"
    halted = replace(wide, kind=FindingKind.INCONCLUSIVE, halt=Halt.DEATHS, confidence=Confidence())
    assert verdict("boundary", side(narrow), side(halted)) == "unknown"
    assert verdict("boundary", side(halted), side(narrow)) == "unknown"

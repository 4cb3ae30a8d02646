"""Does the next command ask under the very conditions of the run, as the real command line reads it?"""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from typing import Any, NamedTuple

import click
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzzer.cli import conduct, main
from fuzzer.cli.attribution import CONTROLS
from fuzzer.cli.common import RECORDED, CommonFlags
from fuzzer.cli.questions import prompts_of
from fuzzer.finding import Finding, FindingKind, Flaky, Halt
from fuzzer.model import Outcome, ProbeSpec, Role
from fuzzer.observation import Observation
from fuzzer.plans.bisect import BisectQuestion
from fuzzer.report.asked import COMMON, SEARCH
from fuzzer.report.next import next_commands
from fuzzer.report.summary import Facts
from fuzzer.search import Suspect
from fuzzer.store import Run, RunRecord
from fuzzer.store.masking import masked_json

BARE = ("bisect", "--url", "http://host:8000", "--lo", "10000", "--hi", "20000")
ELSEWHERE = {"lo", "hi", "trust_lo", "trust_hi", "draft_config", "model_config", "corpus"}  # ends, files, --content
VALUES = {
    "--health-url": st.just("http://host:9000/health"),
    "--metrics-url": st.just("http://host:9000/metrics?pod=0"),
    "--model": st.sampled_from(["tiny", "a model's name"]),
    "--engine": st.sampled_from(["vllm", "llamacpp"]),
    "--tokenizer": st.just("org/name"),
    "--mode": st.sampled_from(["ids", "text", "chat"]),
    "--content": st.sampled_from(["repeat", "code"]),
    "--corpus": st.just(__file__),
    "--output-tokens": st.integers(1, 4_096),
    "--draft-tokens": st.integers(0, 16),
    "--cache": st.sampled_from(["warm", "mixed"]),
    "--companions": st.integers(0, 8),
    "--companion-length": st.integers(1, 4_096),
    "--timeout": st.sampled_from(["20", "1.5m", "0.25"]),
    "--health-interval": st.sampled_from(["0.5", "2"]),
    "--revival-timeout": st.just("2h"),
    "--death-spacing": st.just("90s"),
    "--max-deaths": st.integers(0, 40),
    "--max-time": st.just("30m"),
    "--fail-on": st.sampled_from(["death", "death,hang,degraded"]),
    "--on-death": st.just("kubectl delete pod 'a b'; sleep 1"),
    "--engine-log": st.just("/var/log/engine.log"),
    "--engine-log-cmd": st.just("kubectl logs --previous pod"),
    "--axis": st.sampled_from(["prompt", "total", "output"]),
    "--prompt-tokens": st.integers(1, 4_096),
    "--resolution": st.integers(1, 512),
    "--suspect": st.integers(1, 30_000),
    "--strategy": st.just("halving"),
    "--confidence": st.sampled_from(["0.5", "0.99999"]),
    "--tolerate": st.sampled_from(["0.01", ".5"]),
    "--round-to": st.integers(1, 512),
    "--require": st.integers(1, 20_000),
    "--scan": st.integers(0, 400),
    "--control": st.sampled_from(["plain=http://other:8001", "old=http://older:8002"]),
}
SWITCHES = ("--no-stream", "--allow-busy", "--allow-replicas", "--no-attribute-axis")
SPENT = Finding(FindingKind.INCONCLUSIVE, "spent", halt=Halt.DEATHS)


class Told(NamedTuple):
    """What the command line hands to the one that conducts a bisect."""

    flags: CommonFlags
    asked: dict[str, Any]
    suspects: tuple[Suspect, ...]
    controls: tuple[tuple[str, str], ...]


def told(words: list[str]) -> Told:
    caught: list[Told] = []

    def catch(flags: CommonFlags, asked: dict[str, Any], suspects: Any, controls: Any) -> None:
        caught.append(Told(flags, asked, suspects, controls))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(conduct, "bisect", catch)
        outcome = CliRunner().invoke(main, words)
    assert outcome.exit_code == 0, outcome.output
    return caught[0]


def recorded(given_: Told, **settings_: object) -> tuple[Run, BisectQuestion]:
    """The run that such a bisect begins, as its record gives it back."""
    flags = given_.flags
    common = {name: getattr(flags, name) for name in ("output_tokens", "draft_tokens", "max_deaths", "max_time_s")}
    common |= {name: getattr(flags, name) for name in ("fail_on", "content", "stream", "companions")}
    question = BisectQuestion(
        **common,
        companion_length=flags.companion_length,
        cache=flags.cache,
        mode=flags.mode or "ids",
        suspects=(*given_.suspects, Suspect(4_096, "the KV capacity")),
        **prompts_of(given_.asked, flags.output_tokens),
    )
    notes = {CONTROLS: [list(one) for one in given_.controls]}
    kept: Any = masked_json(json.loads(json.dumps([question.to_json(), flags.seeded().settings() | notes | settings_])))
    record = RunRecord("bisect", (), flags.url, "tiny", "vllm", "bisect", question=kept[0], settings=kept[1])
    return Run("1m8abc", record, "2026-11-29T17:00:00.000Z", "sre", "box", "0.1.0", "done"), question


def next_of(run: Run, finding: Finding, seen: tuple[Observation, ...] = ()) -> str:
    return next(iter(next_commands(Facts(run, finding, seen, 1.0, "runs.db"))))


@st.composite
def command_lines(draw: st.DrawFn) -> list[str]:
    named = draw(st.lists(st.sampled_from(sorted(VALUES)), unique=True, max_size=12))
    words = [word for flag in named for word in (flag, str(draw(VALUES[flag])))]
    return [*BARE, *words, *draw(st.lists(st.sampled_from(SWITCHES), unique=True))]


@settings(max_examples=60, deadline=None)
@given(words=command_lines())
def test_the_printed_line_asks_the_very_same(words: list[str]) -> None:
    if "mixed" in words and "output" in words:
        return  # a search that the command refuses
    first = told(words)
    run, question = recorded(first)
    if question.is_turned:
        finding = replace(SPENT, last_good_output=question.lo, first_bad_output=question.hi)
    else:
        finding = replace(SPENT, last_good=question.lo, first_bad=question.hi)
    again = told(shlex.split(next_of(run, finding), comments=True)[1:])
    assert again.flags == replace(first.flags, max_deaths=2 * first.flags.max_deaths or 12)
    assert again.asked == first.asked | {"trust_lo": True, "trust_hi": True}
    assert (again.suspects, again.controls) == (first.suspects, first.controls)


def test_what_ended_for_want_of_deaths_is_not_asked_without_any_again() -> None:
    run, _ = recorded(told([*BARE, "--max-deaths", "0", "--timeout", "20"]))
    assert next_of(run, replace(SPENT, last_good=10, first_bad=90)) == (
        "ctxfuzz bisect --url http://host:8000 --lo 10 --hi 90 --trust-lo --trust-hi --timeout 20"
        "   # up to 12 engine deaths: without any it cannot go on"
    )
    run, _ = recorded(told([*BARE, "--max-deaths", "2"]))
    assert "--max-deaths 4   # up to 4 engine deaths: 2 did not suffice" in next_of(
        run, replace(SPENT, last_good=10, first_bad=90)
    )


@pytest.mark.parametrize("deaths", [1, 2, 5, 12, 40])
@pytest.mark.parametrize("trusted", [(), ("--trust-lo", "--trust-hi")])
def test_no_continuation_asks_again_what_spent_its_budget(deaths: int, trusted: tuple[str, ...]) -> None:
    words = ["bisect", "--url", "http://host:8000", "--lo", "90", "--hi", "91", *trusted, "--max-deaths", str(deaths)]
    run, _ = recorded(told(words))
    again = shlex.split(next_of(run, replace(SPENT, last_good=90, first_bad=91)), comments=True)[1:]
    assert told(again).flags.max_deaths == 2 * deaths


@pytest.mark.parametrize("kind", [FindingKind.DEATH, FindingKind.NOT_LENGTH, FindingKind.INCONCLUSIVE])
def test_what_ended_without_a_cap_between_the_ends_that_were_asked_is_not_asked_the_same(kind: FindingKind) -> None:
    run, _ = recorded(told(["bisect", "--url", "http://host:8000", "--lo", "90", "--hi", "91"]))
    found = Finding(kind, "a corner fails", last_good=90, first_bad=91)
    assert list(next_commands(Facts(run, found, (), 1.0, "runs.db"))) == []


def test_a_budget_as_usual_that_made_the_question_smaller_goes_on_with_as_much() -> None:
    run, _ = recorded(told(list(BARE)))
    assert "--max-deaths" not in next_of(run, replace(SPENT, last_good=10_500, first_bad=19_000))


def seen_at(length: int, *outcomes: Outcome) -> tuple[Observation, ...]:
    probe = ProbeSpec(length, 32, Role.SEARCH, "")
    return tuple(Observation(seq, probe, outcome, length, "usage") for seq, outcome in enumerate(outcomes))


@pytest.mark.parametrize(
    ("seen", "trusted"),
    [
        (seen_at(10, Outcome.PASS) + seen_at(90, Outcome.DEATH, Outcome.BUSY), {"--trust-lo", "--trust-hi"}),
        (seen_at(10, Outcome.PASS) + seen_at(90, Outcome.DEATH, Outcome.PASS), {"--trust-lo"}),
        (seen_at(10, Outcome.PASS, Outcome.ERROR) + seen_at(90, Outcome.DEATH), {"--trust-hi"}),
    ],
)
def test_only_what_never_did_otherwise_is_trusted(seen: tuple[Observation, ...], trusted: set[str]) -> None:
    run, _ = recorded(told(list(BARE)))
    spent = replace(SPENT, last_good=10, first_bad=90)
    assert {word for word in next_of(run, spent, seen).split() if word.startswith("--trust")} == trusted
    assert "--trust" not in next_of(run, replace(spent, flaky=Flaky(0.07, 0.01, 0.2)), seen)


@pytest.mark.parametrize(
    ("words", "halt", "line"),
    [
        (["--max-time", "30m"], Halt.TIME, "--lo 12000 --hi 20000 --trust-lo   # without --max-time, which was spent"),
        (
            ["--max-deaths", "0"],
            Halt.DEATHS,
            "--lo 12000 --hi 20000 --trust-lo   # up to 12 engine deaths: without any it cannot go on",
        ),
    ],
)
def test_where_nothing_failed_before_a_budget_was_spent_the_rest_is_asked(
    words: list[str], halt: Halt, line: str
) -> None:
    run, _ = recorded(told([*BARE, *words]))
    assert next_of(run, Finding(FindingKind.INCONCLUSIVE, "spent", last_good=12_000, halt=halt)) == (
        f"ctxfuzz bisect --url http://host:8000 {line}"
    )
    ended = Finding(FindingKind.INCONCLUSIVE, "spent", last_good=20_000, halt=halt)
    assert list(next_commands(Facts(run, ended, (), 1.0, "runs.db"))) == []


def test_what_was_stopped_before_its_first_answer_is_asked_again_from_its_start() -> None:
    run, _ = recorded(told([*BARE, "--max-time", "5s"]))
    line = next_of(run, Finding(FindingKind.INCONCLUSIVE, "spent", halt=Halt.TIME))
    assert "--lo 10000 --hi 20000   # without --max-time" in line


def test_no_flag_of_a_bisect_is_forgotten_and_what_is_usual_is_what_the_command_takes() -> None:
    command = main.get_command(click.Context(main), "bisect")
    assert command is not None
    of_this_call = set(CommonFlags.__dataclass_fields__) - set(RECORDED) | {"url", "seed"}
    names = {param.name for param in command.params if param.expose_value}
    assert names - of_this_call - ELSEWHERE == set(COMMON) | set(SEARCH)
    bare = told(list(BARE))
    kept = bare.flags.settings()
    assert {name: kept[name] for name in COMMON} == dict(COMMON)
    asked = {**bare.asked, "suspects": list(bare.suspects), "controls": list(bare.controls)}
    assert {name: asked[name] for name in SEARCH} == dict(SEARCH)


def test_a_secret_is_not_repeated_but_its_flag_is_named() -> None:
    run, _ = recorded(told([*BARE, "--on-death", "curl -H 'Authorization: Bearer abcdefgh123' http://ops"]))
    line = next_of(run, replace(SPENT, last_good=1, first_bad=9))
    assert line.endswith("--trust-lo --trust-hi   # add --on-death: the record keeps no secret")


def test_a_lost_run_goes_on_with_the_command_that_the_record_does_not_keep() -> None:
    lost = Finding(FindingKind.INCONCLUSIVE, "gone", halt=Halt.LOST)
    run, _ = recorded(told([*BARE, "--on-death", "restart --password abc", "--engine-log-cmd", "docker logs vllm"]))
    assert next_of(run, lost) == "ctxfuzz resume 1m8abc   # add --on-death: the record keeps no secret"
    run, _ = recorded(told([*BARE, "--on-death", "restart"]))
    assert next_of(run, lost) == "ctxfuzz resume 1m8abc"


def test_a_cap_is_verified_as_it_was_found_with_what_the_run_tells_left_to_the_run() -> None:
    run, _ = recorded(told([*BARE, "--no-stream", "--cache", "mixed", "--timeout", "20", "--scan"]))
    lines = list(next_commands(Facts(run, Finding(FindingKind.DEATH, "dies", cap=96), (), 1.0, "runs.db")))
    assert lines[1] == (
        "ctxfuzz verify --url http://host:8000 --from-run 1m8abc --no-stream --timeout 20   # once the cap is set"
    )


@pytest.mark.parametrize(
    ("words", "finding", "limit", "ends"),
    [
        (["--axis", "output"], Finding(FindingKind.NONE, "fine", last_good_output=900), None, "--lo 900 --hi 1800"),
        (["--axis", "output"], Finding(FindingKind.NONE, "fine", last_good_output=900), 1_000, "--lo 900 --hi 936"),
        (["--axis", "total"], Finding(FindingKind.NONE, "fine", verified_up_to=900), None, "--lo 932 --hi 1832"),
    ],
)
def test_what_lies_higher_is_asked_in_what_was_searched(
    words: list[str], finding: Finding, limit: int | None, ends: str
) -> None:
    run, _ = recorded(told([*BARE, *words]))
    line = next_of(replace(run, record=replace(run.record, limit=limit)), finding)
    assert line == f"ctxfuzz bisect --url http://host:8000 {ends} {' '.join(words)}"


def test_outputs_that_filled_the_window_leave_nothing_higher_to_ask() -> None:
    run, _ = recorded(told([*BARE, "--axis", "output"]))
    full = replace(run, record=replace(run.record, limit=1_000))
    finding = Finding(FindingKind.NONE, "fine", last_good_output=936)
    assert list(next_commands(Facts(full, finding, (), 1.0, "runs.db"))) == []


def test_a_row_of_a_table_that_failed_is_searched_with_its_own_content() -> None:
    run, _ = recorded(told(list(BARE)))
    sweep = replace(run, record=replace(run.record, plan="sweep", question={"contents": ["words", "repeat"]}))
    seen = tuple(
        Observation(seq, ProbeSpec(90, 32, Role.SCAN, "", content=content), outcome, 90, "usage")
        for seq, (content, outcome) in enumerate([("words", Outcome.PASS), ("repeat", Outcome.DEATH)])
    )
    line = next_of(sweep, Finding(FindingKind.DEATH, "dies", last_good=10, first_bad=90), seen)
    assert line == "ctxfuzz bisect --url http://host:8000 --lo 10 --hi 90 --content repeat"

"""Is the way to a target told so that no other engine is asked, and no secret told?"""

from __future__ import annotations

import shlex
import subprocess
from typing import Any

import click
import pytest

from fuzzer.cli.common import HEADER_NAMES, CommonFlags
from fuzzer.cli.values import UNSAID, header
from fuzzer.finding import Finding, FindingKind, Halt, Reproducer
from fuzzer.model import Outcome, ProbeSpec, Role
from fuzzer.observation import Observation
from fuzzer.report import reached
from fuzzer.report.fuzz import replay_line, script
from fuzzer.report.next import next_commands
from fuzzer.report.summary import Facts
from fuzzer.store import Run, RunRecord
from fuzzer.store.masking import masked_json

ROOT = "http://gw:8000"
ONE = Reproducer(7, 7, ProbeSpec(500, 32, Role.FUZZ, ""), Outcome.DEATH, "it died", before=(5,))
LOST = Finding(FindingKind.INCONCLUSIVE, "gone", halt=Halt.LOST)
SPENT = Finding(FindingKind.INCONCLUSIVE, "spent", halt=Halt.DEATHS, last_good=10, first_bad=90)


def run_of(url: str = ROOT, *headers: tuple[str, str]) -> Run:
    kept: Any = masked_json(CommonFlags(url=url, headers=headers).settings())
    record = RunRecord("bisect", (), ROOT, "tiny", "vllm", "bisect", question={"lo": 1}, settings=kept)
    return Run("1m8abc", record, "2026-11-29T17:00:00.000Z", "sre", "box", "0.1.0", "done")


def next_of(run: Run, finding: Finding) -> str:
    return next(iter(next_commands(Facts(run, finding, (), 1.0, "runs.db"))))


def test_what_is_recorded_and_read_goes_by_one_name() -> None:
    assert (reached.HEADER_NAMES, reached.UNSAID) == (HEADER_NAMES, UNSAID)


def test_the_next_command_takes_the_very_way() -> None:
    run = run_of(f"{ROOT}/v1?backend=canary", ("X-Canary", "s3cret"))
    way = ["--url", f"{ROOT}/v1?backend=canary", "--header", "x-canary: ..."]
    assert shlex.split(next_of(run, SPENT))[2:6] == way
    assert next_of(run, LOST) == "ctxfuzz resume 1m8abc --header 'x-canary: ...'"
    proxied = Finding(FindingKind.INCONCLUSIVE, "a limit", halt=Halt.PROXY)
    assert next_of(run, proxied).startswith("ctxfuzz resume 1m8abc --header 'x-canary: ...'   # once")


def test_a_url_that_held_a_secret_is_no_part_of_a_line() -> None:
    for url in ("http://me:s3cret12@gw:8000/v1", f"{ROOT}?api-key=s3cret12"):
        line = next_of(run_of(url), SPENT)
        assert line.startswith("ctxfuzz bisect --lo 10 --hi 90 ")
        assert line.endswith("   # add --url: the record keeps no secret")


def test_a_line_is_not_taken_before_a_headers_value_is_filled_in() -> None:
    with pytest.raises(click.BadParameter, match=r"x-canary: \.\.\. only stands for its value"):
        header("x-canary: ...")
    assert header("x-canary: 1") == ("x-canary", "1")


def test_a_script_sends_nothing_before_each_variable_is_set() -> None:
    run = run_of(f"{ROOT}/v1?backend=canary&code=s3cret12", ("X-Canary", "1"))
    before = Observation(5, ONE.spec, Outcome.PASS, 500, "usage")
    lines = script(run, ONE, [before], "runs.db").splitlines()
    bodies = [line for line in lines if line.startswith("ctxfuzz body")]
    assert len(bodies) == 2
    for line in bodies:
        assert line.endswith(""" --url "${TARGET_URL:?}" --header 'x-canary: '"${HEADER_X_CANARY:?}" || exit""")
    assert shlex.split(lines[-1])[-1] == f"{ROOT}/v1/completions?backend=canary&code=***"
    assert lines[-1].count("HEADER_X_CANARY") == 1
    assert "ctxfuzz replay 1m8abc:5 --header 'x-canary: ...'; " in replay_line(run, ONE, "runs.db")
    played = 'ctxfuzz() { echo BODY "$@"; }; curl() { echo SENT "$@"; }\n' + "\n".join(lines)
    unset = subprocess.run(["sh", "-c", played], capture_output=True, text=True, check=False, env={"TARGET_URL": "u"})
    assert (unset.returncode != 0, unset.stdout) == (True, "")
    env = {"TARGET_URL": "u", "HEADER_X_CANARY": "one 'two'"}
    sent = subprocess.run(["sh", "-c", played], capture_output=True, text=True, check=True, env=env)
    assert sent.stdout.count("x-canary: one 'two'") == 4


@pytest.mark.parametrize("name", ["x-$(id)`id`", "x-'a'", "x-&|^"])
def test_no_name_of_a_header_is_a_command(name: str) -> None:
    said = subprocess.run(
        ["sh", "-c", f"printf %s {reached.in_shell(name)}"],
        capture_output=True, text=True, check=True, env={reached.variable(name): "$(id)"},
    )  # fmt: skip
    assert said.stdout == f"{name}: $(id)"


def test_names_that_are_none_are_not_read() -> None:
    run = run_of()
    kept = {HEADER_NAMES: ["x-ok", "x y", "x\n", 5, None, {"a": 1}]}
    strange = Run(run.run, RunRecord("probe", (), ROOT, "m", "vllm", "probe", settings=kept), "", "", "", "", "done")
    assert reached.headers_of(strange) == ("x-ok",)
    assert reached.url_of(strange) == ROOT


def test_a_curl_line_names_whatever_lets_it_in() -> None:
    def line(url: str, *headers: str, key: bool = False) -> list[str]:
        return shlex.split(reached.curl(ROOT, url, "chat", "a b.json", headers, key=key))

    assert line(ROOT)[-3:] == ["--data-binary", "@a b.json", f"{ROOT}/v1/chat/completions"]
    assert "Authorization: Bearer $OPENAI_API_KEY" in line(ROOT, key=True)
    assert "Authorization: Bearer $OPENAI_API_KEY" not in line(ROOT, "authorization", key=True)
    assert "${URL_USER:?}:${URL_PASSWORD:?}" in line("http://***@gw:8000")
    assert "-u" not in line("http://***@gw:8000", key=True)
    assert "-u" not in line("http://[")


@pytest.mark.parametrize(
    ("here", "there", "is_one"),
    [
        ((ROOT, {}), (f"{ROOT}/v1", {"url": f"{ROOT}/v1"}), True),
        ((ROOT, {"url": f"{ROOT}?a=1&b=2"}), (ROOT, {"url": f"{ROOT}/v1?b=2&a=1"}), True),
        ((ROOT, {"url": f"{ROOT}?a=1"}), (ROOT, {"url": f"{ROOT}?a=2"}), False),
        ((ROOT, {"url": f"{ROOT}?a="}), (ROOT, {}), False),
        ((ROOT, {"url": f"{ROOT}?code=***"}), (ROOT, {}), True),
        ((ROOT, {"url": f"{ROOT}?sid=of-an-older-record"}), (ROOT, {"url": f"{ROOT}?sid=***"}), True),
        ((ROOT, {HEADER_NAMES: ["x-canary"]}), (ROOT, {}), False),
        ((ROOT, {HEADER_NAMES: ["authorization", "x-api-key", "cookie"]}), (ROOT, {HEADER_NAMES: []}), True),
        (("http://[", {"url": "http://["}), (ROOT, {}), False),
    ],
)
def test_who_is_asked_is_told_by_what_chooses_among_engines(
    here: tuple[str, dict[str, object]], there: tuple[str, dict[str, object]], is_one: bool
) -> None:
    assert (reached.route_of(*here) == reached.route_of(*there)) is is_one


@pytest.mark.parametrize(
    ("url", "kept", "is_it"),
    [
        (f"{ROOT}/v1/", f"{ROOT}/v1", True),
        (f"{ROOT}/v1?tokenizer=mistral&b=2", f"{ROOT}/v1?tokenizer=***&b=2", True),
        (f"{ROOT}/v1?sid=s3cret12", f"{ROOT}/v1?sid=s3cret12", True),
        ("http://me:s3cret12@gw:8000/v1", "http://***@gw:8000/v1", True),
        (f"{ROOT}/v1?tokenizer=mistral&b=3", f"{ROOT}/v1?tokenizer=***&b=2", False),
        (f"{ROOT}/v1?token=a&backend=canary", f"{ROOT}/v1?token=***", False),
        (f"{ROOT}/v1?token=a", ROOT, False),
        ("http://me:s3cret12@other:8000/v1", "http://***@gw:8000/v1", False),
        ("http://me:s3cret12@gw:8000/v1/***", "http://***@gw:8000", False),
    ],
)
def test_a_url_is_known_again_by_what_any_version_has_masked_of_it(url: str, kept: str, is_it: bool) -> None:
    assert reached.is_as_kept(url, kept) is is_it

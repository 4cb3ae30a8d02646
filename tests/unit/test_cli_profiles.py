"""Do flags come before the environment before the file, and does `config` say so without telling secrets?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from fuzzer.cli import main
from fuzzer.store import RunRecord, Store

FILE = """
[defaults]
timeout = "10m"
max-deaths = 3
resolution = 8

[targets.prod]
url = "http://user:hunter2@prod:8000"
max-deaths = 1
insecure = true
header = ["X-Team: sre", "X-Token: hunter2"]
api-key = "sk-hunter2"
lo = "8k"
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "ctxfuzz.toml").write_text(FILE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def config(*args: str, **env: str) -> dict[str, dict[str, Any]]:
    outcome = CliRunner().invoke(main, ["config", "--json", *args], env={"OPENAI_API_KEY": None, **env})
    assert outcome.exit_code == 0, outcome.output
    made = json.loads(outcome.stdout)
    assert made["schema"] == "ctxfuzz.config/1"
    assert "hunter2" not in outcome.stdout
    return {one["flag"]: one for one in made["flags"]}


def of(found: dict[str, dict[str, Any]], flag: str) -> tuple[str | None, str]:
    return found[flag]["value"], found[flag]["origin"]


def test_without_a_file_all_are_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = config()
    assert {one["origin"] for one in found.values()} == {"default"}
    assert of(found, "max-deaths") == ("12", "default")
    assert of(found, "url") == (None, "default")


def test_the_file_lies_under_the_environment_and_that_under_the_flags(here: Path) -> None:
    assert of(config(), "max-deaths") == ("3", "ctxfuzz.toml [defaults]")
    assert of(config("bisect", "--target", "prod"), "max-deaths") == ("1", "ctxfuzz.toml [targets.prod]")
    found = config("bisect", "--target", "prod", CTXFUZZ_MAX_DEATHS="2")
    assert of(found, "max-deaths") == ("2", "CTXFUZZ_MAX_DEATHS")
    found = config("bisect", "--target", "prod", "--max-deaths", "0", CTXFUZZ_MAX_DEATHS="2")
    assert of(found, "max-deaths") == ("0", "flag")
    assert of(found, "timeout") == ("10m", "ctxfuzz.toml [defaults]")
    assert of(found, "lo") == ("8k", "ctxfuzz.toml [targets.prod]")


def test_a_target_can_be_chosen_by_the_environment_and_the_file_be_elsewhere(
    here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "ctxfuzz.toml").rename(here / "other.toml")
    found = config("verify", CTXFUZZ_TARGET="prod", CTXFUZZ_CONFIG="other.toml")
    assert of(found, "target") == ("prod", "CTXFUZZ_TARGET")
    assert of(found, "insecure") == ("True", "other.toml [targets.prod]")


def test_secrets_are_masked_and_their_origin_is_told(here: Path) -> None:
    found = config("bisect", "--target", "prod")
    assert of(found, "api-key") == ("***", "ctxfuzz.toml [targets.prod]")
    assert of(found, "header") == ("***", "ctxfuzz.toml [targets.prod]")
    assert found["url"]["value"].endswith("prod:8000")
    assert of(config(OPENAI_API_KEY="sk-hunter2"), "api-key") == ("***", "OPENAI_API_KEY")


def test_what_may_be_repeated_is_one_a_line_in_the_environment(here: Path) -> None:
    found = config("bisect", CTXFUZZ_SUSPECT="262144\n131072")
    assert of(found, "suspect") == ("262144, 131072", "CTXFUZZ_SUSPECT")


def test_what_a_control_is_asked_with_is_masked_in_each_of_them(here: Path) -> None:
    url = "http://bob:hunter2@host:1/v1?token=hunter2"
    found = config("bisect", "--control", f"plain={url}", "--control", "odd=http://bob:hunter2'\"<hunter2@host")
    assert of(found, "control") == ("plain=http://***@host:1/v1?token=***, odd=http://***@host", "flag")
    assert of(config("speed", CTXFUZZ_CONTROL=f"plain={url}"), "control")[1] == "CTXFUZZ_CONTROL"
    assert of(config("same", "--control", f"plain={url}"), "control")[0] == "plain=http://***@host:1/v1?token=***"


@pytest.mark.parametrize(("flag", "other"), [("url", "http://elsewhere/v1"), ("model", "another")])
def test_only_what_is_said_here_says_which_runs_are_listed(here: Path, flag: str, other: str) -> None:
    """What a file or the environment says names the target to ask next: else the record would look empty."""
    with Store.open(here / "runs.db") as store:
        run = store.begin(RunRecord("bisect", ("ctxfuzz",), "http://host", "tiny", "vllm", "bisect"))
    (here / "ctxfuzz.toml").write_text(f'[defaults]\n{flag} = "{other}"\n')
    env = {f"CTXFUZZ_{flag.upper()}": other}
    assert [run in listed(env=one) for one in (None, env)] == [True, True]
    assert [run in listed(f"--{flag}", value, env=env) for value in ("host" if flag == "url" else "tiny", other)] == [
        True,
        False,
    ]


def listed(*args: str, env: dict[str, str] | None = None) -> str:
    ended = CliRunner().invoke(main, ["runs", "--json", *args], env=env)
    assert ended.exit_code == 0, ended.output
    return ended.stdout


def test_the_file_holds_for_commands_that_read_too(here: Path) -> None:
    (here / "ctxfuzz.toml").write_text('[defaults]\ndb = "elsewhere.db"\n')
    outcome = CliRunner().invoke(main, ["runs"])
    assert outcome.exit_code == 2
    assert "elsewhere.db is no file" in outcome.stderr


def said(*args: str) -> Result:
    return CliRunner().invoke(main, list(args))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[defaults]\nmax-death = 3\n", "max-death, which is no flag"),
        ("url = 'x'\n", "only [defaults] and [targets.NAME]"),
        ("[defaults\n", "is no TOML"),
        ("defaults = 3\n", "is not a table"),
        ("[defaults]\ntimeout = 1979-05-27\n", "neither text nor a number"),
        ("[targets.stage]\n", "has no [targets.prod]: it has stage"),
    ],
)
def test_a_file_that_cannot_be_meant_is_refused_with_what_to_mend(here: Path, text: str, words: str) -> None:
    (here / "ctxfuzz.toml").write_text(text)
    outcome = said("bisect", "--target", "prod", "--url", "http://host", "--lo", "1", "--hi", "2")
    assert outcome.exit_code == 2
    assert words in outcome.stderr


def test_a_target_without_any_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = said("bisect", "--target", "prod")
    assert outcome.exit_code == 2
    assert "There is no ctxfuzz.toml here" in outcome.stderr


def test_a_command_that_is_none_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = said("config", "bisekt")
    assert outcome.exit_code == 2
    assert "no command 'bisekt'" in outcome.stderr


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("targets = 5", "targets is not a table"),
        ("[targets]\nprod = 5", "[targets.prod] is not a table"),
        ('[defaults]\ndb = "a\\u0000b"', "db holds a NUL character"),
        ('[defaults]\nheader = ["a\\u0000b"]', "header holds a NUL character"),
        (f"[defaults]\nmax-deaths = {'9' * 5000}", "is no TOML"),
        (f"[defaults]\nmax-deaths = 0x{'f' * 5000}", "max-deaths is a number that is too long"),
        (f"x = {'[' * 5000}", "is no TOML"),
    ],
)
def test_a_file_of_any_shape_is_read_or_refused(
    file: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ctxfuzz.toml").write_text(file)
    monkeypatch.chdir(tmp_path)
    outcome = CliRunner().invoke(main, ["config", "bisect", "--target", "prod"])
    assert (outcome.exit_code, "Traceback" in outcome.stderr) == (2, False), outcome.output
    assert words in outcome.stderr


def test_a_file_that_can_have_no_such_name_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = CliRunner().invoke(main, ["config"], env={"CTXFUZZ_CONFIG": "a" * 300})
    assert (outcome.exit_code, "CTXFUZZ_CONFIG" in outcome.stderr) == (2, True)

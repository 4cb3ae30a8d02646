"""Are the flags those that were promised, and does a record bring them back?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import click
import pytest
from click.testing import CliRunner

from fuzzer.cli import ENTRIES, main
from fuzzer.cli.common import CommonFlags, withheld
from fuzzer.cli.flags import CONTENTS, probing
from fuzzer.model import Outcome
from fuzzer.prompts.recipe import Content

COMMON = (
    "--target --url --health-url --metrics-url --model --api-key --header --cacert --insecure --engine --tokenizer "
    "--mode --content --corpus --output-tokens --draft-tokens --stream --no-stream --cache --timeout --health-interval "
    "--revival-timeout --death-spacing --max-deaths --max-time --allow-busy --allow-replicas --fail-on --on-death "
    "--engine-log --engine-log-cmd "
    "--companions --companion-length --seed --db --dry-run --json -v --verbose -q --quiet"
)
OF_BISECT = "--lo --hi --resolution --trust-lo --trust-hi --suspect --confidence --tolerate --round-to --require "
OF_BISECT += "--draft-config --model-config --strategy --attribute-axis --no-attribute-axis --control"
OF_BISECT += " --axis --prompt-tokens --scan"
OF_PLAN = "--lo --hi --resolution --trust-lo --trust-hi --suspect --draft-config --model-config --strategy "
OF_PLAN += "--confidence --tolerate --attribute-axis --no-attribute-axis --limit --output-tokens --draft-tokens "
OF_PLAN += "--max-deaths --json --axis --prompt-tokens"
OF_SWEEP = "--lengths --from --to --points --spacing --keep-going"
OF_FUZZ = "--cap --budget --samples --keep-going --shrink-deaths --suspect"
OF_VERIFY = "--cap --from-run --first-bad --junit"
OF_SAME = "--control --lengths --cap --eval --eval-control"
OF_CAPACITY = "--control --target --url --health-url --metrics-url --model --api-key --header --cacert --insecure "
OF_CAPACITY += "--engine --db --json -v --verbose -q --quiet"
OF_RESUME = """
--target --url --health-url --metrics-url --api-key --header --cacert --insecure --on-death --engine-log-cmd
--db --json -v --verbose -q --quiet
"""


def options_of(name: str) -> set[str]:
    command = main.get_command(click.Context(main), name)
    assert command is not None
    return {
        option
        for param in command.params
        if isinstance(param, click.Option)
        for option in param.opts + param.secondary_opts
    }


@pytest.mark.parametrize(
    ("name", "promised"),
    [
        ("bisect", f"{COMMON} {OF_BISECT}"),
        ("sweep", f"{COMMON} {OF_SWEEP}"),
        ("verify", f"{COMMON} {OF_VERIFY}"),
        ("same", f"{COMMON} {OF_SAME}"),
        ("fuzz", f"{COMMON} {OF_FUZZ}"),
        ("capacity", OF_CAPACITY),
        ("probe", COMMON),
        ("resume", OF_RESUME),
        ("plan", OF_PLAN),
    ],
)
def test_a_command_takes_exactly_the_promised_flags(name: str, promised: str) -> None:
    assert options_of(name) == set(promised.split())


def flags_of(*args: str, env: dict[str, str] | None = None) -> CommonFlags:
    caught: list[CommonFlags] = []

    @click.command()
    @probing
    def command(flags: CommonFlags) -> None:
        caught.append(flags)

    outcome = CliRunner().invoke(command, ["--url", "http://host", *args], env=env)
    assert outcome.exit_code == 0, outcome.output
    return caught[0]


def test_without_flags_the_defaults_are_those_of_the_dataclass() -> None:
    assert flags_of(env={"OPENAI_API_KEY": None}) == CommonFlags(url="http://host")  # type: ignore[dict-item]


def test_every_flag_reaches_its_field(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("words")
    flags = flags_of(
        *("--header", "X-A: 1", "--header", "X-B: 2", "--no-stream", "--cache", "warm", "--max-time", "30m"),
        *("--output-tokens", "1k", "--fail-on", "death", "--on-death", "systemctl restart vllm", "--mode", "chat"),
        *("--timeout", "2m", "--corpus", str(corpus), "-q", "--seed", "7"),
        env={"OPENAI_API_KEY": "sk-from-env"},
    )
    assert flags == CommonFlags(
        url="http://host",
        api_key="sk-from-env",
        headers=(("X-A", "1"), ("X-B", "2")),
        stream=False,
        cache="warm",
        max_time_s=1800.0,
        output_tokens=1000,
        fail_on=frozenset({Outcome.DEATH}),
        on_death="systemctl restart vllm",
        mode="chat",
        timeout_s=120.0,
        content=f"corpus:{corpus}",
        quiet=True,
        seed=7,
    )


def test_a_tokenizer_that_is_here_is_found_from_wherever_the_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tok").mkdir()
    monkeypatch.chdir(tmp_path)
    for told in ("tok", "./tok", str(tmp_path / "tok")):
        assert flags_of("--tokenizer", told).tokenizer == str(tmp_path / "tok")
    for name in ("Qwen/Qwen3-8B", "./gone"):
        assert flags_of("--tokenizer", name).tokenizer == name


def test_a_record_keeps_what_is_asked_and_no_secret_and_gives_it_back() -> None:
    began = CommonFlags(
        url="http://host",
        api_key="sk-secret",
        headers=(("X-Token", "hunter2"),),
        content="repeat",
        fail_on=frozenset({Outcome.DEATH, Outcome.DEGRADED}),
        max_time_s=60.0,
        seed=3,
    )
    kept = json.dumps(began.settings())
    assert "sk-secret" not in kept
    assert "hunter2" not in kept
    settings: dict[str, Any] = json.loads(kept)
    said = {"api_key": "sk-new", "headers": (("x-token", "new"),)}
    again = CommonFlags(url="", db=Path("other.db"), json=True, **said).restored(settings)  # type: ignore[arg-type]
    assert again.settings() == began.settings()
    assert (again.db, again.api_key, again.json) == (Path("other.db"), "sk-new", True)


def test_a_masked_command_is_never_taken_from_a_record_and_one_that_is_said_covers_it() -> None:
    record = {"on_death": "curl -u ops:*** http://h", "engine_log_cmd": "docker logs vllm", "timeout_s": 5.0}
    again = CommonFlags(url="").restored(record)
    assert (again.on_death, again.engine_log_cmd, again.timeout_s) == (None, "docker logs vllm", 5.0)
    said = CommonFlags(url="", on_death="mend", engine_log_cmd="logs").restored(record)
    assert (said.on_death, said.engine_log_cmd) == ("mend", "logs")
    assert withheld(record) == ["on_death"]


def test_the_contents_are_those_that_prompts_can_be_made_of() -> None:
    assert get_args(Content) == (*CONTENTS, "needle")  # which is of use to `same` alone


@pytest.mark.parametrize("name", ENTRIES)
def test_every_command_explains_itself_with_examples(name: str) -> None:
    outcome = CliRunner().invoke(main, [name, "--help"])
    assert outcome.exit_code == 0
    assert "Examples:" in outcome.output
    assert outcome.stderr == ""


def test_the_help_lists_every_command_under_its_heading_with_its_own_first_words() -> None:
    shown = CliRunner().invoke(main, ["--help"], terminal_width=120).output
    assert [line for line in shown.splitlines() if line.endswith(":")] == [
        "Options:", "Find:", "Read:", "Keep:", "Play:", "Shell:", "Examples:",
    ]  # fmt: skip
    for name, entry in ENTRIES.items():
        assert f"  {name}" in shown
        assert entry.summary in shown


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_and_says_how_to_install_it(shell: str) -> None:
    outcome = CliRunner().invoke(main, ["completion", shell])
    assert outcome.exit_code == 0
    assert "_CTXFUZZ_COMPLETE" in outcome.stdout
    assert f"ctxfuzz completion {shell} >" in outcome.stderr


def test_a_shell_is_told_the_commands_and_a_flags_values() -> None:
    def completed(words: str, at: int) -> str:
        env = {"_CTXFUZZ_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(at)}
        return CliRunner().invoke(main, [], env=env, prog_name="ctxfuzz").stdout

    assert "bisect" in completed("ctxfuzz bi", 1)
    assert "llamacpp" in completed("ctxfuzz bisect --engine ll", 3)
    assert "death,degraded" in completed("ctxfuzz bisect --fail-on death,de", 3)
    assert "incident" in completed("ctxfuzz sim inc", 2)

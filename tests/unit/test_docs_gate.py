"""Does the page on release gates name only commands and flags that there are, in files that can be read?"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import yaml  # type: ignore[import-untyped]

from fuzzer.cli import main

PAGE = (Path(__file__).parents[2] / "docs" / "release-gate.md").read_text(encoding="utf-8")
YAML = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)]


def flags_of(name: str) -> set[str]:
    command = main.get_command(click.Context(main), name)
    assert command is not None, f"there is no command {name}"
    return {option for param in command.params for option in (*param.opts, *param.secondary_opts)}


def arguments(value: Any) -> Iterator[list[str]]:
    """Every `args` of a container."""
    if isinstance(value, dict):
        if "args" in value:
            yield value["args"]
        for item in value.values():
            yield from arguments(item)
    elif isinstance(value, list):
        for item in value:
            yield from arguments(item)


def command_lines() -> list[str]:
    written = [line.partition("#")[0] for line in re.findall(r"ctxfuzz ([a-z]+ [^`)\n]*)", PAGE)]
    return [line for line in written if " --" in line] + [" ".join(args) for block in YAML for args in arguments(block)]


@pytest.mark.parametrize("line", command_lines())
def test_every_command_line_names_flags_that_there_are(line: str) -> None:
    name, *words = line.removeprefix("config ").split()
    flags = {word.partition("=")[0] for word in words if word.startswith("--")}
    assert flags <= flags_of(name)


def test_the_page_has_its_command_lines() -> None:
    assert {line.split()[0] for line in command_lines()} >= {"sweep", "bisect", "verify", "recommend", "diff", "config"}


def test_the_variables_are_those_of_flags_of_verify() -> None:
    variables = set(re.findall(r"CTXFUZZ_[A-Z_]+", PAGE)) - {"CTXFUZZ_CONFIG"}
    assert variables <= {"CTXFUZZ_" + flag.lstrip("-").upper().replace("-", "_") for flag in flags_of("verify")}


def test_the_profile_is_toml_with_flags_that_there_are() -> None:
    (block,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    told = tomllib.loads(block)
    keys = {*told["defaults"], *told["targets"]["candidate"]}
    assert {f"--{key}" for key in keys} <= flags_of("verify")


def test_the_jobs_run_once_and_only_the_gates_own_code_decides() -> None:
    actions, gitlab, job, cron = YAML
    assert all("continue-on-error" not in step for step in actions["jobs"]["gate"]["steps"])
    assert "allow_failure" not in gitlab["context-length-gate"]
    for spec in (job["spec"], cron["spec"]["jobTemplate"]["spec"]):
        assert spec["backoffLimit"] == 0
        assert spec["template"]["spec"]["restartPolicy"] == "Never"

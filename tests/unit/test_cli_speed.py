"""Do `ctxfuzz speed` and its like refuse what cannot be compared, and say what they would do?"""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner, Result

from fuzzer.cli import main
from fuzzer.cli.exits import Exit


def speed(*args: str) -> Result:
    asked = ("speed", "--url", "http://127.0.0.1:1", "--lengths", "8k", *args)
    return CliRunner().invoke(main, asked, env={"OPENAI_API_KEY": None})


@pytest.mark.parametrize(
    ("controls", "said"),
    [
        (("target=http://127.0.0.1:2",), "a name of its own"),
        (("a=http://127.0.0.1:2", "a=http://127.0.0.1:3"), "a name of its own"),
        (("a=http://127.0.0.1:1/v1",), "an engine of its own"),
        (("a=http://127.0.0.1:2", "b=http://127.0.0.1:2/"), "an engine of its own"),
    ],
)
def test_arms_that_cannot_be_told_apart_are_refused(controls: tuple[str, ...], said: str) -> None:
    done = speed(*(word for control in controls for word in ("--control", control)))
    assert done.exit_code == Exit.USAGE
    assert said in done.output


@pytest.mark.parametrize("command", ["capacity", "same", "speed", "bisect"])
def test_nothing_is_its_own_control(command: str) -> None:
    asked = {"speed": ("--lengths", "8k"), "bisect": ("--lo", "8", "--hi", "9")}.get(command, ())
    arms = ("--url", "http://127.0.0.1:1", "--control", "plain=http://127.0.0.1:1/v1/")
    done = CliRunner().invoke(main, [command, *arms, *asked], env={"OPENAI_API_KEY": None})
    assert done.exit_code == Exit.USAGE
    assert "an engine of its own" in done.output


@pytest.mark.parametrize("command", [("capacity",), ("speed", "--lengths", "8k")])
def test_what_cannot_be_reached_is_told_as_json_too(command: tuple[str, ...]) -> None:
    done = CliRunner().invoke(main, [*command, "--url", "http://127.0.0.1:1", "--json"], env={"OPENAI_API_KEY": None})
    assert done.exit_code == Exit.UNUSABLE
    assert json.loads(done.stdout)["exit_code"] == Exit.UNUSABLE


def test_it_generates_128_tokens_unless_told_otherwise() -> None:
    shown = CliRunner().invoke(main, ["speed", "--help"], terminal_width=200, env={"OPENAI_API_KEY": None})
    (line,) = [line for line in shown.output.splitlines() if "--output-tokens" in line]
    assert "[default: 128]" in line

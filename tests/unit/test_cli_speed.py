"""Does `ctxfuzz speed` refuse what cannot be compared, and say what it would do?"""

from __future__ import annotations

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


def test_it_generates_128_tokens_unless_told_otherwise() -> None:
    shown = CliRunner().invoke(main, ["speed", "--help"], terminal_width=200, env={"OPENAI_API_KEY": None})
    (line,) = [line for line in shown.output.splitlines() if "--output-tokens" in line]
    assert "[default: 128]" in line

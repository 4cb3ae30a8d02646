"""What does a fuzzer that is led by coverage find in what reads a server's text? The properties are the tests' own.

Run: pip install atheris, then python -m tests.guided SECONDS for each property, one after the other. A finding is
printed with its traceback and ends the run with 77; it belongs beside its property as an `@example`.
"""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOMS = ("targets", "fuzzer")
MODULES = ("tests.unit.test_server_text", "tests.unit.test_targets_answer", "tests.unit.test_targets_sse")


def properties() -> Iterator[str]:
    """Every property, as module:name."""
    for name in MODULES:
        for attribute, value in vars(import_module(name)).items():
            if hasattr(value, "hypothesis"):
                yield f"{name}:{attribute}"


def lead(where: str, seconds: int) -> None:
    """Fuzz one property in this process. Does not return."""
    atheris: Any = import_module("atheris")
    module, _, name = where.partition(":")
    with atheris.instrument_imports(include=list(ROOMS)):
        tests: Any = import_module(module)
    one = getattr(tests, name).hypothesis.fuzz_one_input
    atheris.Setup([sys.argv[0], f"-max_total_time={seconds}", "-max_len=4096", "-timeout=10"], one)
    atheris.Fuzz()


def main() -> int:
    """Each property in a process of its own: 0 where none of them fails, else the first exit code."""
    match sys.argv[1:]:
        case [where, seconds]:
            lead(where, int(seconds))
            return 0
        case [seconds]:
            for where in properties():
                sys.stdout.write(f"{where}\n")
                sys.stdout.flush()
                done = subprocess.run([sys.executable, "-m", "tests.guided", where, seconds], check=False)
                if done.returncode:
                    return done.returncode
            return 0
        case _:
            sys.exit(str(__doc__))


if __name__ == "__main__":
    sys.exit(main())

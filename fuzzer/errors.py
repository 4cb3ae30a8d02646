"""What stops us, and what can the reader do about it? Each message is a sentence with a next step.

What the engine does is data and never one of these. They are caught once, in the CLI, which prints the message and
leaves with `exit_code`. Bugs are no part of this tree and propagate.
"""

from __future__ import annotations

from typing import ClassVar


class CtxfuzzError(Exception):
    """Something stops us. `exit_code` is what the command leaves with."""

    exit_code: ClassVar[int] = 3


class UsageFault(CtxfuzzError):
    """What was asked cannot be done as it was asked: a flag, a file, a run that does not exist."""

    exit_code = 2


class RunStopped(CtxfuzzError):
    """The run cannot go on as an honest measurement: busy, replicas, another model behind the URL."""

    exit_code = 3


class AnotherEngine(RunStopped):
    """What stands behind the URL is no longer what was observed. `changed`: (name, what it was, what it is)."""

    def __init__(self, url: str, *changed: tuple[str, object, object]) -> None:
        told = ", ".join(f"{name} was {old} and is {new}" for name, old, new in changed if old != new)
        super().__init__(
            f"Another engine is behind {url}: {told}. What was observed does not speak for it; begin a new run."
        )


class TargetLost(CtxfuzzError):
    """Nobody serves behind the URL any more."""

    exit_code = 4


class Interrupted(CtxfuzzError):
    """A signal ended the run after its row was finished; `run`, where it is known, can be resumed."""

    exit_code = 130

    def __init__(self, run: str = "") -> None:
        super().__init__(f"Interrupted; every probe so far is kept. Go on with: ctxfuzz resume {run}" if run else "")
        self.run = run

"""Which exceptions stop us for a reason that the user can mend, and with which exit code do we leave then?

The one place where they are caught. Everything else is a bug: it comes as far as this, and ends the program.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

from fuzzer.cli import bugs
from fuzzer.cli.exits import Exit
from fuzzer.cli.streams import say
from fuzzer.errors import CtxfuzzError
from fuzzer.report.plain import plain
from targets.errors import TargetBusy, TargetUnusable, UnreadableEnvironment

OF_CLICK = (click.ClickException, click.exceptions.Exit, click.Abort)  # it tells them itself
LONGEST = 2_000  # characters of a message: it may quote a server


@contextmanager
def faults_told() -> Iterator[None]:
    """A fault becomes one sentence on stderr and an exit code; anyio's groups around a single one are taken off.

    A bug becomes a traceback without secrets, and an exit code that is no answer.
    """
    try:
        yield
    except OF_CLICK:
        raise
    except Exception as error:  # noqa: BLE001  (each is told)
        fault = sole(error)
        code = exit_of_fault(fault)
        if code is None:
            bugs.tell(error)
            raise click.exceptions.Exit(bugs.CODE) from None
        if str(fault):
            say(f"Error: {plain(str(fault), LONGEST)}")
        raise click.exceptions.Exit(code) from None


def warn(why: Exception) -> None:
    """A fault that ends nothing becomes one sentence on stderr."""
    say(f"warning: {plain(str(why), LONGEST)}")


def exit_of_fault(fault: BaseException) -> int | None:
    """The exit code of a fault; None for a bug."""
    from fuzzer.prompts.errors import PromptError, TokenizerLost  # noqa: PLC0415  (heavy, like the store)
    from fuzzer.store.errors import StoreError, TargetLocked  # noqa: PLC0415

    match fault:
        case CtxfuzzError():
            return fault.exit_code
        case TargetLocked() | TargetBusy():
            return Exit.INCONCLUSIVE
        case UnreadableEnvironment():
            return Exit.USAGE
        case TargetUnusable() | TokenizerLost():
            return Exit.UNUSABLE
        case StoreError() | PromptError():
            return Exit.USAGE
        case _:
            return None


def told(fault: BaseException) -> tuple[str, int]:
    """What is said of a fault or of a bug to a program, and the exit code."""
    code = exit_of_fault(fault)
    words, code = (bugs.sentence(fault), bugs.CODE) if code is None else (str(fault), code)
    return plain(words, LONGEST), code


def sole(error: BaseException) -> BaseException:
    """The one exception that anyio's groups are around, or the group."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error

"""Which exceptions stop us for a reason that the user can mend, and with which exit code do we leave then?

The one place where they are caught. Everything else is a bug and propagates.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

from fuzzer.cli.exits import Exit
from fuzzer.cli.streams import say
from fuzzer.errors import CtxfuzzError
from fuzzer.report.plain import plain
from targets.errors import TargetBusy, TargetUnusable

LONGEST = 2_000  # characters of a message: it may quote a server


@contextmanager
def faults_told() -> Iterator[None]:
    """A fault becomes one sentence on stderr and an exit code; anyio's groups around a single one are taken off."""
    try:
        yield
    except (click.ClickException, click.exceptions.Exit, click.Abort):
        raise
    except Exception as error:
        fault = sole(error)
        code = exit_of_fault(fault)
        if code is None:
            raise
        if str(fault):
            say(f"Error: {plain(str(fault), LONGEST)}")
        raise click.exceptions.Exit(code) from None


def exit_of_fault(fault: BaseException) -> int | None:
    """The exit code of a fault; None for a bug."""
    from fuzzer.prompts.errors import PromptError, TokenizerLost  # noqa: PLC0415  (heavy, like the store)
    from fuzzer.store.errors import StoreError, TargetLocked  # noqa: PLC0415

    match fault:
        case CtxfuzzError():
            return fault.exit_code
        case TargetLocked() | TargetBusy():
            return Exit.INCONCLUSIVE
        case TargetUnusable() | TokenizerLost():
            return Exit.UNUSABLE
        case StoreError() | PromptError():
            return Exit.USAGE
        case _:
            return None


def sole(error: BaseException) -> BaseException:
    """The one exception that anyio's groups are around, or the group."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error

"""How are two results of lm-evaluation-harness compared from the command line? Reads files; sends nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, Never

import click

from fuzzer.cli import results
from fuzzer.cli.conduct import faults_for_programs
from fuzzer.cli.exits import BY_VERDICT
from fuzzer.cli.streams import emit
from fuzzer.errors import UsageFault
from fuzzer.measure import evals
from fuzzer.report.same import evals_object, evals_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from fuzzer.cli.common import CommonFlags

UNREADABLE: Final = (OSError, ValueError, RecursionError)  # the last: nested too deeply


def weigh(flags: CommonFlags, target: Path, control: Path) -> Never:
    """Compare, print, and leave. Raises UsageFault where a file is not what it should be."""
    with faults_for_programs(flags):
        told = _compared(target, control)
    if flags.json:
        results.emit_json(evals_object(told))
    else:
        emit(evals_text(told))
    raise click.exceptions.Exit(BY_VERDICT[told.verdict])


def _compared(target: Path, control: Path) -> evals.Evals:
    one, other = _read(target), _read(control)
    for path, read in ((target, one), (control, other)):
        try:
            evals.scores(read)
        except ValueError as error:
            raise UsageFault(f"{path} is no results file: {error}.") from None
    return evals.compare(one, other, _samples(target, one), _samples(control, other))


def _read(path: Path) -> Mapping[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except UNREADABLE as error:
        raise UsageFault(f"{path} cannot be read as JSON ({error}). Name a results_*.json.") from None
    return value if isinstance(value, dict) else {}


def _samples(path: Path, read: Mapping[str, Any]) -> dict[str, Sequence[Mapping[str, Any]]]:
    """The samples that were logged beside a results file: of the same moment, by the stamp in the names."""
    stamp = path.stem.removeprefix("results")
    beside = {log.name: log for log in path.parent.glob("samples_*.jsonl")}  # a task's name need not be a file's
    logs = {task: beside.get(f"samples_{task}{stamp}.jsonl") for task in map(str, read["results"])}
    return {task: _lines(log) for task, log in logs.items() if log is not None}


def _lines(path: Path) -> list[Mapping[str, Any]]:
    try:
        with path.open(encoding="utf-8") as lines:
            return [value for line in lines if isinstance(value := json.loads(line), dict)]
    except UNREADABLE as error:
        raise UsageFault(f"{path} cannot be read as JSON lines ({error}). Move it away, or log it anew.") from None

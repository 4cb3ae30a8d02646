"""What does the result of each kind of run print, and with which exit code does it leave?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fuzzer.cli import attribution, comparing, measuring, results, values
from fuzzer.cli.exits import BY_HALT, BY_VERDICT, Exit, exit_of
from fuzzer.cli.streams import emit
from fuzzer.errors import UsageFault
from fuzzer.plans.verify import VerifyQuestion, checks
from fuzzer.report import fuzz as fuzz_report
from fuzzer.report import same as same_report
from fuzzer.report import speed as speed_report
from fuzzer.report import sweep as sweep_report
from fuzzer.report import verify as verify_report
from fuzzer.report.finding import finding_object
from fuzzer.report.summary import Facts, summary
from fuzzer.store import History

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fuzzer.cli.common import CommonFlags
    from fuzzer.cli.session import Result
    from fuzzer.store import Run


def conclude(
    flags: CommonFlags, result: Result, require: int | None, *, next_: Sequence[str], junit: Path | None
) -> Exit:
    """Print a run that ended. Raises UsageFault where the JUnit file cannot be written."""
    match result.run_row.record.plan:
        case "fuzz":
            return _fuzz(flags, result)
        case "speed":
            return _speed(flags, result)
        case "same":
            return _same(flags, result)
        case "sweep":
            return _sweep(flags, result)
        case "verify":
            return _verify(flags, result, junit)
        case _:
            return _finding(flags, result, require, next_)


def _finding(flags: CommonFlags, result: Result, require: int | None, next_: Sequence[str]) -> Exit:
    run, finding, seen, elapsed_s = result.run_row, result.finding, result.observations, result.elapsed_s
    attributed = attribution.recorded(flags.db, run)
    if flags.json:
        extra = {} if attributed is None else {"attribution": attributed.to_json()}
        results.emit_json(finding_object(run, finding, seen, elapsed_s) | extra)
    else:
        shown = summary(Facts(run, finding, seen, elapsed_s, str(flags.db), attributed))
        results.emit_summary(replace(shown, commands=tuple(next_) or shown.commands), whole=flags.verbose)
    return exit_of(finding, require)


def _sweep(flags: CommonFlags, result: Result) -> Exit:
    run, finding, seen = result.run_row, result.finding, result.observations
    if flags.json:
        results.emit_json(sweep_report.sweep_object(run, finding, seen, result.elapsed_s))
    else:
        emit(sweep_report.table(seen))
        shown = summary(Facts(run, finding, seen, result.elapsed_s, str(flags.db)))
        results.emit_summary(shown, whole=flags.verbose)
    return exit_of(finding)


def _fuzz(flags: CommonFlags, result: Result) -> Exit:
    """What was found is bad news, however the run ended."""
    run, finding, seen, elapsed_s = result.run_row, result.finding, result.observations, result.elapsed_s
    if flags.json:
        results.emit_json(fuzz_report.fuzz_object(run, finding, seen, elapsed_s, str(flags.db)))
    else:
        results.emit_summary(summary(Facts(run, finding, seen, elapsed_s, str(flags.db))), whole=flags.verbose)
        for one in finding.reproducers:
            emit(fuzz_report.script(run, one, seen, str(flags.db)))
    return Exit.BAD_NEWS if finding.reproducers else exit_of(finding)


def _speed(flags: CommonFlags, result: Result) -> Exit:
    run, finding, seen = result.run_row, result.finding, result.observations
    with History.open(flags.db) as history:
        arms = measuring.recorded(history, run)
    if flags.json:
        results.emit_json(speed_report.speed_object(run, finding, seen, result.elapsed_s, arms))
    else:
        emit(speed_report.as_text(arms))
        results.emit_summary(summary(Facts(run, finding, seen, result.elapsed_s, str(flags.db))), whole=flags.verbose)
    return exit_of(finding)


def _same(flags: CommonFlags, result: Result) -> Exit:
    run, finding, seen = result.run_row, result.finding, result.observations
    with History.open(flags.db) as history:
        recorded = comparing.recorded(history, run)
    if recorded is None:  # the run of a control, whose target's was left behind in another database
        return _finding(flags, result, None, ())
    told, control = recorded
    if flags.json:
        results.emit_json(
            {**finding_object(run, finding, seen, result.elapsed_s), **same_report.same_object(told, control)}
        )
    else:
        emit(same_report.same_text(told))
        results.emit_summary(summary(Facts(run, finding, seen, result.elapsed_s, str(flags.db))), whole=flags.verbose)
    if finding.halt is not None:
        return BY_HALT[finding.halt]
    if finding.first_bad is not None and attribution.CONTROL_OF not in run.record.settings:
        return Exit.BAD_NEWS
    return BY_VERDICT[told.verdict]


def write_junit(file: Path, text: str) -> None:
    """Write it to a file, but over no database. Raises UsageFault where that cannot be written."""
    if values.is_database(file):  # the name may be of a record, and from another host
        raise UsageFault(f"{file} is a database, and would be lost: choose another --junit FILE.")
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageFault(
            f"{file} cannot be written: {error.strerror}. Choose another --junit FILE, or write it once the run has "
            "ended: ctxfuzz report RUN -o FILE."
        ) from None


def _begun_with(run: Run) -> Path | None:
    """The JUnit file that a run, gone on with now, was begun with."""
    file = run.record.settings.get(verify_report.JUNIT)
    return Path(file) if isinstance(file, str) else None


def _verify(flags: CommonFlags, result: Result, junit: Path | None) -> Exit:
    run, finding, seen = result.run_row, result.finding, result.observations
    told = checks(VerifyQuestion.from_json(run.record.question), seen)
    try:
        if (file := junit or _begun_with(run)) is not None:
            write_junit(file, verify_report.junit(run, told, finding))
    finally:  # what the gate came to is said also where the file cannot be written
        if flags.json:
            results.emit_json(verify_report.verify_object(run, finding, seen, result.elapsed_s, told))
        else:
            emit(verify_report.as_text(told, finding))
    if finding.halt is not None:
        return BY_HALT[finding.halt]
    return Exit.ANSWERED if finding.cap is not None else Exit.BAD_NEWS

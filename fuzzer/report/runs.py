"""How does a list of runs read? PURE: to a machine and to a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fuzzer.report.plain import plain
from fuzzer.report.tables import aligned
from fuzzer.report.verify import PLAN as GATE
from fuzzer.report.verify import verdict
from fuzzer.report.words import tokens

if TYPE_CHECKING:
    from fuzzer.store import Run

FIELDS = ("run", "command", "url", "model", "status", "finding", "recommended_max_model_len", "started", "holds")
COLUMNS = ("run", "started", "command", "model", "url", "status", "finding", "cap")


def run_object(run: Run) -> dict[str, Any]:
    """One run of `runs --json`."""
    finding = run.finding
    return {
        "run": run.run,
        "command": run.record.command,
        "url": run.record.url,
        "model": run.record.model,
        "status": run.status,
        "finding": None if finding is None else finding.kind.value,
        "recommended_max_model_len": None if finding is None else finding.cap,
        "started": run.started_utc,
        "holds": _holds(run),
    }


def _holds(run: Run) -> bool | None:
    """Does the cap hold that a gate was asked for? None where it is undecided, and of every other run."""
    finding = run.finding
    if run.record.plan != GATE or finding is None or finding.halt is not None:
        return None
    return finding.cap is not None


def _found(run: Run) -> str:
    """What a run came to, in a word or two: of a gate its verdict."""
    if run.finding is None:
        return "-"
    return verdict(run.finding) if run.record.plan == GATE else run.finding.kind.value


def run_row(run: Run) -> tuple[str, ...]:
    """One run, a text a column."""
    finding = run.finding
    return (
        plain(run.run),
        plain(run.started_utc[:16].replace("T", " ")),
        plain(run.record.command, 40),
        plain(run.record.model, 40),
        plain(run.record.url, 60),
        plain(run.status),
        _found(run),
        "-" if finding is None else tokens(finding.cap),
    )


def as_text(rows: list[tuple[str, ...]]) -> str:
    """The table as plain lines, its columns aligned."""
    return aligned([COLUMNS, *rows], left=range(len(COLUMNS)))

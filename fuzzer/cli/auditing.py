"""What do audit, export and merge do and say?"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Final

import click

from fuzzer.cli import results
from fuzzer.cli.exits import Exit
from fuzzer.cli.faults import warn
from fuzzer.cli.streams import emit, say
from fuzzer.errors import UsageFault
from fuzzer.report import tables
from fuzzer.report.plain import plain
from fuzzer.report.words import plural
from fuzzer.store import History, Store, connect
from fuzzer.store import audit as check

if TYPE_CHECKING:
    from pathlib import Path

    from fuzzer.store import Audit, AuditProblem

SCHEMA: Final = "ctxfuzz.audit/1"
BLIND = (
    "Not seen without a copy of the head that was kept elsewhere: an end that was cut off, a record written anew. "
    "With one: ctxfuzz audit --expect HASH"
)


def audit(db: Path, name: str | None, expect: str | None, *, as_json: bool) -> None:
    """Check the record, say what was found, and leave with 1 where it is not as it was written."""
    found = check(db, expect)
    problems, unsealed = found.problems, found.unsealed
    if name is not None and all(problem.run for problem in problems):  # else the whole file is in doubt
        with closing(connect.auditable(db)) as opened:
            run = History(db, opened).named(name)
        problems = [problem for problem in problems if problem.run == run]
        unsealed = [one for one in unsealed if one == run]
    if as_json:
        results.emit_json(_object(found, problems, unsealed, expect))
    else:
        emit("\n".join(_lines(db, found, problems, unsealed, expect)))
    if problems:
        raise click.exceptions.Exit(Exit.BAD_NEWS)


def _object(found: Audit, problems: list[AuditProblem], unsealed: list[str], expect: str | None) -> dict[str, object]:
    return {
        "schema": SCHEMA,
        "sound": not problems,
        "runs": found.runs,
        "rows": found.rows,
        "problems": [{"run": one.run, "position": one.position, "what": one.what} for one in problems],
        "unsealed": unsealed,
        "heads": sorted(found.unnamed),
        "expected": None if expect is None else _expected(found, expect),
    }


def _expected(found: Audit, expect: str) -> dict[str, object]:
    """Whose the expected head is, and whether it is still the last word of that run. Without a run, it is nobody's."""
    head = found.head(expect)
    run = found.heads.get(head)
    standing = None if run is None else found.standing.get(run)
    return {"head": head, "run": run, "stands": head == standing, "standing_head": standing}


def _of_expected(found: Audit, expect: str) -> str:
    told = _expected(found, expect)
    if told["stands"]:
        whose = f"the standing seal of run {told['run']}"
        return f"The expected head is there, {whose}: nothing that it covers was changed or is gone."
    now = "is not sealed again" if told["standing_head"] is None else f"its standing seal is {told['standing_head']}"
    return (
        f"The expected head is there, and nothing that it covers was changed or is gone; but it is no standing seal: "
        f"run {told['run']} was resumed after it, and {now}."
    )


def _lines(
    db: Path, found: Audit, problems: list[AuditProblem], unsealed: list[str], expect: str | None
) -> Iterator[str]:
    counted = f"{plural(found.runs, 'run')}, {plural(found.rows, 'row')}"
    if problems:
        yield f"{db} is not as it was written ({counted} checked):"
        yield from (f"  {plain(str(one))}" for one in problems)
    else:
        yield f"{db} is as it was written: {counted}."
    for run in unsealed:
        yield f"  run {plain(run)} is not sealed: it was killed, or is still at work; its rows so far check"
    for head in sorted(found.unnamed):
        yield f"  head {head}"
    if problems:
        return
    yield BLIND if expect is None else _of_expected(found, expect)


def export(db: Path, name: str, form: str, into: Path | None) -> None:
    """Write a run out, to stdout or to a file."""
    with History.open(db) as history:
        run = history.named(name)
        if form == "csv":
            write(into, [tables.csv(tables.PROBES, map(tables.probe_row, history.observations(run)))])
        else:
            write(into, map(_line, history.links(run, unreadable=warn)))


def _line(link: tuple[int, str, dict[str, str | int | float | None], str]) -> str:
    position, kind, row, head = link
    return json.dumps({"position": position, "kind": kind, "hash": head, "row": row}) + "\n"


def write(into: Path | None, parts: Iterable[str]) -> None:
    """Text to a file, or to stdout. Raises UsageFault where the file cannot be written."""
    if into is None:
        emit("".join(parts))
        return
    try:
        with into.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
            file.writelines(parts)
    except OSError as error:
        raise UsageFault(f"{into} cannot be written ({error.strerror}). Choose another file with -o.") from None
    say(f"written to {into}")


def _are_one_file(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:  # one of them is not there, or can have no such name: whoever opens it says so
        return False


def merge(db: Path, other: Path) -> None:
    """Take in the runs of another database, and say which."""
    if _are_one_file(db, other):
        raise UsageFault(f"{other} is the database itself: name another one.")
    with Store.open(db) as store:
        merged = store.merge(other, tuple(sys.argv))
    known = f"; {plural(len(merged.known), 'run')} had been here already" if merged.known else ""
    emit(f"{plural(len(merged.added), 'run')} came from {other}{known}.")
    for run in merged.added:
        emit(f"  {run}")

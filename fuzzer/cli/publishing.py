"""How is a run gathered and written as a report?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from fuzzer.cli.auditing import write
from fuzzer.report.dossier import Dossier
from fuzzer.report.run import show_object
from fuzzer.store import History

if TYPE_CHECKING:
    from pathlib import Path


def report(db: Path, name: str, form: str, into: Path | None) -> None:
    """Write the report of a run to a file, or to stdout."""
    with History.open(db) as history:
        write(into, [_written(gathered(history, name, str(db)), form)])


def gathered(history: History, name: str, db: str) -> Dossier:
    """All that was recorded of a run. Raises NoSuchRun."""
    run = history.get(name)
    return Dossier(
        run=run,
        seen=history.observations(run.run),
        intents=history.intents(run.run),
        deaths=history.deaths(run.run),
        timeline=history.timeline(run.run),
        elapsed_s=history.active_s(run.run),
        db=db,
    )


def _written(of: Dossier, form: str) -> str:
    match form:
        case "html":
            from fuzzer.report.html import html  # noqa: PLC0415  (jinja2 only where it is needed)

            return html(of)
        case "md":
            from fuzzer.report.markdown import markdown  # noqa: PLC0415

            return markdown(of)
        case "junit":
            from fuzzer.report.junit import junit  # noqa: PLC0415

            return junit(of)
        case _:
            return json.dumps(show_object(of.run, of.seen, of.elapsed_s, of.deaths)) + "\n"

"""How is a run gathered and written as a report?"""

from __future__ import annotations

import json
import sys
from functools import partial
from typing import TYPE_CHECKING

from fuzzer.cli import attribution, measuring, telling
from fuzzer.cli.auditing import write
from fuzzer.cli.deadly import is_one_place
from fuzzer.cli.past import drafts
from fuzzer.cli.sparing import last_that_holds
from fuzzer.errors import UsageFault
from fuzzer.plans.drafting import drafts_more
from fuzzer.report.dossier import Dossier
from fuzzer.report.run import show_object
from fuzzer.report.speed import PLAN
from fuzzer.store import History

if TYPE_CHECKING:
    from pathlib import Path

    from fuzzer.store import Run


def report(db: Path, name: str, form: str, into: Path | None) -> None:
    """Write the report of a run to a file, or to stdout."""
    if into is None and form == "html" and sys.stdout.isatty():
        raise UsageFault(f"A page is nothing for a terminal. Write it: ctxfuzz report {name} -o report.html")
    with History.open(db) as history:
        write(into, [_written(gathered(history, name, db), form)])


def gathered(history: History, name: str, db: Path) -> Dossier:
    """All that was recorded of a run. Raises NoSuchRun."""
    run = history.get(name)
    return Dossier(
        run=run,
        seen=history.observations(run.run),
        intents=history.intents(run.run),
        deaths=history.deaths(run.run),
        timeline=history.timeline(run.run),
        elapsed_s=history.active_s(run.run),
        db=str(db),
        attribution=attribution.recorded(db, run),
        told=telling.told(history, run),
        arms=measuring.recorded(history, run) if run.record.plan == PLAN else (),
        cap=_last_cap(history, run),
    )


def _last_cap(history: History, run: Run) -> int | None:
    """The cap last recommended for the very build that this run was made against: nothing speaks against it, and its
    engine drafted no less.
    """
    of_build = (one for one in history.runs() if _build(one) == _build(run) and is_one_place(one, run))
    capped = (one for one in of_build if one.finding is not None and one.finding.cap is not None)
    drafted = drafts(history, run)
    drafting = (one for one in capped if not drafts_more(drafted, drafts(history, one)))
    last = last_that_holds(history, drafting)
    return None if last is None or last.finding is None else last.finding.cap


def _build(run: Run) -> tuple[str, str, str | None]:
    return run.record.url, run.record.model, run.record.engine_version


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
            told = partial(show_object, notes=of.notes, attribution=of.attribution, told=of.told)
            shown = told(of.run, of.seen, of.elapsed_s, of.deaths)
            return json.dumps(shown) + "\n"

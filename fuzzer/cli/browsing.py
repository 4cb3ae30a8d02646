"""How does Datasette show runs.db: under which titles, in which units, with which facets?"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from fuzzer.cli.streams import say
from fuzzer.errors import UsageFault
from fuzzer.store import History

if TYPE_CHECKING:
    from collections.abc import Mapping

PLUGINS: Final = Path(__file__).parent / "datasette"
RUN: Final = """
SELECT position, at_utc, at_s, kind, what FROM timeline WHERE run = :run ORDER BY position
"""
# name: (what it answers, the columns to facet by, the column to sort by)
TABLES: Final[Mapping[str, tuple[str, tuple[str, ...], str]]] = {
    "run_states": ("How did each run go?", ("command", "model", "status", "finding"), "started_utc"),
    "boundaries": ("Where are the edges?", ("model", "engine_version", "finding"), "ended_utc"),
    "recommendations": ("Which caps were recommended, on which evidence?", ("model", "finding"), "at_utc"),
    "latest_cap_per_model": ("What is safe, as far as we know?", ("model",), "ended_utc"),
    "decisions": ("Why was each length asked, and what came of it?", ("run", "role", "outcome"), "at_utc"),
    "deaths_by_run": ("What did each run kill, and how?", ("model", "engine_version"), "deaths"),
    "deaths": ("Every death, with the engine's last words.", ("corroboration", "signature"), "at_utc"),
    "runs": ("Who asked what of which build, and when?", ("command", "model", "user"), "at_utc"),
    "probes": ("What was sent: committed before the request left.", ("role", "content", "mode"), "at_utc"),
    "outcomes": ("What each probe showed.", ("outcome", "corroboration", "length_source"), "at_utc"),
    "canaries": ("Did the engine really work?", ("purpose", "ok"), "at_utc"),
    "health_events": ("When did health change?", ("status", "fault"), "at_utc"),
    "revivals": ("How long was the engine away?", ("came_back",), "at_utc"),
    "seals": ("How did each run end? A seal's hash covers all rows before it.", ("status", "finding"), "at_utc"),
    "timeline": ("What happened, row by row?", ("run", "kind"), "at_utc"),
}
UNITS: Final = {"_s": "s", "_bytes": "B"}


def browse(db: Path, host: str, port: int) -> None:
    """Serve until Ctrl-C, and leave as Datasette does. Raises UsageFault where it is not installed."""
    if find_spec("datasette") is None:
        raise UsageFault("Datasette is not installed. Install it with: pip install 'ctxfuzz[browse]'")
    with History.open(db) as history:
        shown = metadata(db.stem, history.columns())
    with tempfile.TemporaryDirectory() as folder:
        about = Path(folder, "metadata.json")
        about.write_text(json.dumps(shown), encoding="utf-8")
        serve = ["serve", str(db), "--metadata", str(about), "--plugins-dir", str(PLUGINS)]
        try:
            ended = subprocess.run(  # noqa: S603  (our own words)
                [sys.executable, "-m", "datasette", *serve, "--host", host, "--port", str(port)], check=False
            )
        except KeyboardInterrupt:
            say("")
            return
    raise click.exceptions.Exit(ended.returncode)


def metadata(database: str, columns: Mapping[str, list[str]]) -> dict[str, Any]:
    """What Datasette is told of the database."""
    tables = {name: _table(name, columns[name]) for name in TABLES}
    chain = {"description": "The hash chain: one link a row, in the order in which a run's rows were written."}
    run = {"sql": RUN, "title": "One run, row by row", "description": "Everything that was recorded, in its order."}
    return {
        "title": "ctxfuzz",
        "description": "Which prompt lengths an engine survived. Rows are never changed; `ctxfuzz audit` checks that.",
        "databases": {database: {"tables": {**tables, "chain": chain}, "queries": {"run": run}}},
    }


def _table(name: str, columns: list[str]) -> dict[str, Any]:
    description, facets, sort = TABLES[name]
    units = {column: unit for column in columns for end, unit in UNITS.items() if column.endswith(end)}
    return {"description": description, "facets": list(facets), "sort_desc": sort, "units": units}
